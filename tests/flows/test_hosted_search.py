"""Hosted web search on `/v1/responses`: what a caller gets for what the model does, streamed and whole.

Every scenario runs both ways over real sockets and must come out the same; `hosted_checks` holds what is true of all.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from tests.support import upstream as up
from tests.support.gateways import StartGateway
from tests.support.hosted_checks import check_events, check_response, kinds_of, plain
from tests.support.hosted_search import SEARCH, Scene, call, message_of, respond, round_of, scene, search, visible

PARIS, LYON, NICE = "https://a.example.com/paris", "https://b.example.org/lyon", "https://a.example.com/nice"
ADD = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}
RESULTS = ["web_search_call.results"]
SMILE = "👩‍👩‍👧 里昂 "


@pytest.fixture
async def stage(start_gateway: StartGateway) -> AsyncIterator[Scene]:
    async with scene(start_gateway, more="[hosted_search]\nmax_calls = 3\n") as made:
        yield made


@dataclass
class Case:
    """`rounds`: the parts of each round of the model, `finish` by its number. `items`, `text` and `links` are expected;
    `asked`: the queries."""

    name: str
    rounds: list[list[Any]]
    items: list[str]
    text: str = ""
    links: list[tuple[str, str]] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)
    finish: dict[int, str] = field(default_factory=dict)
    asked: list[str] | None = None
    status: str = "completed"


ONE = [search()]
CASES = [
    Case("no search at all", [["Hello."]], ["message"], "Hello.", asked=[]),
    Case("one search and a number", [ONE, ["Paris [1]."]], ["search", "message"], "Paris [1].", [("[1]", PARIS)]),
    Case("a number in pieces", [ONE, ["Paris ", "[", "1", "]", "."]], ["search", "message"], "Paris [1].",
         [("[1]", PARIS)]),
    Case("two numbers beside each other", [ONE, ["Paris[1]", "[2] y"]], ["search", "message"], "Paris[1][2] y",
         [("[1]", PARIS), ("[2]", LYON)]),
    Case("two numbers in one bracket", [ONE, ["x [1,", " 3]"]], ["search", "message"], "x [1, 3]",
         [("[1, 3]", PARIS), ("[1, 3]", NICE)]),
    Case("a number that no result has", [ONE, ["x [7] [2024]"]], ["search", "message"], "x [7] [2024]"),
    Case("wide brackets", [ONE, ["x【2†", "L1-L4】"]], ["search", "message"], "x【2†L1-L4】", [("【2†L1-L4】", LYON)]),
    Case("a link in round brackets", [ONE, ["x ([a.example.com](", PARIS, "))."]], ["search", "message"],
         f"x ([a.example.com]({PARIS})).", [(f"([a.example.com]({PARIS}))", PARIS)]),
    Case("a link", [ONE, [f"[Lyon]({LYON[:14]}", f"{LYON[14:]}) is"]], ["search", "message"], f"[Lyon]({LYON}) is",
         [(f"[Lyon]({LYON})", LYON)]),
    Case("a bare address", [ONE, [f"see {NICE[:9]}", f"{NICE[9:]}, ok"]], ["search", "message"], f"see {NICE}, ok",
         [(NICE, NICE)]),
    Case("an address at the end", [ONE, [f"see {NICE}"]], ["search", "message"], f"see {NICE}", [(NICE, NICE)]),
    Case("addresses that nobody has seen", [ONE, ["[x](https://evil.example/) https://evil.example/ ", PARIS + "x"]],
         ["search", "message"], f"[x](https://evil.example/) https://evil.example/ {PARIS}x"),
    Case("no citation", [ONE, ["It is Paris."]], ["search", "message"], "It is Paris."),
    Case("citations after letters of several bytes", [ONE, [SMILE, "[1]", SMILE, f"{LYON}。", "[2]"]],
         ["search", "message"], f"{SMILE}[1]{SMILE}{LYON}。[2]", [("[1]", PARIS), (LYON, LYON), ("[2]", LYON)]),
    Case("citations in code", [ONE, ["`a[1]` and\n```\nb[2]\n```\n[3] [1]"]], ["search", "message"],
         "`a[1]` and\n```\nb[2]\n```\n[3] [1]", [("[3]", NICE), ("[1]", PARIS)]),
    Case("citations in a table", [ONE, ["|👩‍👩‍👧 `x[2]`|b|\n|-|-|\n|巴黎[1]|", "y [2]|\n"]], ["search", "message"],
         "|👩‍👩‍👧 `x[2]`|b|\n|-|-|\n|巴黎[1]|y [2]|\n", [("[1]", PARIS), ("[2]", LYON)]),
    Case("JSON is not prose", [ONE, ['{"a": [1]}']], ["search", "message"], '{"a": [1]}',
         body={"text": {"format": {"type": "json_object"}}}),
    Case("text before a call", [["I look.", search()], ["Paris [1]."]], ["message", "search", "message"], "Paris [1].",
         [("[1]", PARIS)]),
    Case("no text after a call", [ONE, []], ["search", "message"], ""),
    Case("two calls in one round", [[search("a"), search("b", "c2", 1)], ["x [2]"]], ["search", "search", "message"],
         "x [2]", [("[2]", LYON)], asked=["a", "b"]),
    Case("two rounds of calls", [[search("a")], ["So far.", search("b")], ["x [1]"]],
         ["search", "message", "search", "message"], "x [1]", [("[1]", PARIS)], asked=["a", "b"]),
    Case("text between the rounds cites", [ONE, ["First [1].", search("b")], ["Then."]],
         ["search", "message", "search", "message"], "Then.", asked=["capital of France", "b"]),
    Case("the cap within a round", [[search("a"), search("b", "c2", 1), search("c", "c3", 2), search("d", "c4", 3)],
         ["x"]], ["search", "search", "search", "message"], "x", asked=["a", "b", "c"]),
    Case("the cap over rounds", [[search("a")], [search("b")], [search("c")], ["x"]],
         ["search", "search", "search", "message"], "x", asked=["a", "b", "c"]),
    Case("the caller's own cap", [[search("a"), search("b", "c2", 1)], ["x"]], ["search", "message"], "x",
         body={"max_tool_calls": 1}, asked=["a"]),
    Case("calls beyond the cap are ignored", [ONE, [search("b")]], ["search", "message"], "",
         body={"max_tool_calls": 1}, asked=["capital of France"]),
    Case("a call of the caller's", [[call("add", a=1)]], ["function_call"], body={"tools": [SEARCH, ADD]}, asked=[]),
    Case("both kinds of calls", [[search(), call("add", "c2", 1)]], ["function_call", "search"],
         body={"tools": [SEARCH, ADD]}),
    Case("first ours, then the caller's", [ONE, ["Now.", call("add")]], ["search", "message", "function_call"], "Now.",
         body={"tools": [SEARCH, ADD]}),
    Case("text and both kinds", [["Hm.", search(), call("add", "c2", 1), call("add", "c3", 2)]],
         ["message", "function_call", "function_call", "search"], "Hm.", body={"tools": [SEARCH, ADD]}),
    Case("arguments that are no JSON", [[{**search(), "function": {"name": "web_search", "arguments": "{no"}}], ["x"]],
         ["search!", "message"], "x", asked=[]),
    Case("a call without a query", [[call("web_search", q="x")], ["x"]], ["search!", "message"], "x", asked=[]),
    Case("a page that nobody named", [[call("open_page", url="https://evil.example/?q=secret")], ["x"]],
         ["open_page!", "message"], "x", asked=[]),
    Case("cut by length", [ONE, ["Paris [1"]], ["search", "message"], "Paris [1", finish={1: "length"},
         status="incomplete"),
    Case("a call that is cut by length", [["I", search()]], ["message"], "I", finish={0: "length"}, asked=[],
         status="incomplete"),
    Case("stopped by a filter", [ONE, ["Paris"]], ["search", "message"], "Paris", finish={1: "content_filter"},
         status="incomplete"),
    Case("search must be called", [ONE, ["x"]], ["search", "message"], "x",
         body={"tools": [{"type": "web_search_preview"}], "tool_choice": {"type": "web_search_preview"}}),
    Case("any tool must be called", [ONE, ["x"]], ["search", "message"], "x", body={"tool_choice": "required"}),
    Case("search is allowed", [ONE, ["x"]], ["search", "message"], "x",
         body={"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]}}),
    Case("search is not allowed", [["x"]], ["message"], "x", asked=[],
         body={"tools": [SEARCH, ADD], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [ADD]}}),
    Case("no tool may be called", [["x"]], ["message"], "x", body={"tool_choice": "none"}, asked=[]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_an_answer_is_the_same_streamed_and_whole(stage: Scene, case: Case) -> None:
    made = []
    for is_stream in (True, False):
        stage.provider.asked.clear()
        stage.model.seen.clear()
        stage.model.will(*[
            round_of(*parts, finish=case.finish.get(number), is_stream=is_stream)
            for number, parts in enumerate(case.rounds)
        ])  # fmt: skip
        response = await respond(stage, stream=is_stream, **{"include": RESULTS, **case.body})
        if is_stream:
            check_events(stage.extra)
        check_response(response)
        assert sorted(kinds_of(response["output"])) == sorted(case.items) and response["status"] == case.status
        if "message" in case.items:
            assert message_of(response)["text"] == case.text and visible(message_of(response)) == case.links
        assert response["usage"]["total_tokens"] == 5 * len(case.rounds) == 5 * len(stage.sent)
        asked = ["capital of France"] if case.asked is None else case.asked
        assert sorted(stage.provider.asked) == sorted(asked)
        made.append(plain(response))
    assert made[0] == made[1]
    if not any(each.startswith("function") for each in case.items):
        assert kinds_of(made[0]["output"]) == case.items


@pytest.mark.slow
async def test_every_place_of_a_cut_gives_the_same_answer(stage: Scene) -> None:
    text = f"{SMILE}x [1], ([b]({LYON})) 【3】 {NICE}."
    expected = None
    for cut in range(1, len(text), 2):
        stage.model.will(round_of(search()), round_of(text[:cut], text[cut:]))
        response = await respond(stage, include=RESULTS)
        check_events(stage.extra)
        part = message_of(response)
        assert visible(part) == [("[1]", PARIS), (f"([b]({LYON}))", LYON), ("【3】", NICE), (NICE, NICE)]
        expected = expected or plain(part)
        assert plain(part) == expected, f"cut at {cut}"


async def test_sources_and_results_are_told_where_they_are_asked_for(stage: Scene) -> None:
    rounds = (round_of(search()), round_of("x"))
    stage.model.will(*rounds)
    bare = (await respond(stage))["output"][0]
    assert bare["action"] == {"type": "search", "query": "capital of France", "queries": ["capital of France"]}
    assert "results" not in bare
    stage.model.will(*rounds)
    full = (await respond(stage, include=["web_search_call.action.sources", *RESULTS]))["output"][0]
    assert full["action"]["sources"] == [{"type": "url", "url": url} for url in (PARIS, LYON, NICE)]
    assert [result["url"] for result in full["results"]] == [PARIS, LYON, NICE]


async def test_the_tool_is_repeated_with_its_defaults(stage: Scene) -> None:
    nowhere = {"type": "approximate", "city": None, "country": None, "region": None, "timezone": None}
    plain_tool = {"filters": None, "search_context_size": "medium", "user_location": nowhere}
    for name in ("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"):
        stage.model.will(round_of("x"))
        assert (await respond(stage, tools=[{"type": name}]))["tools"] == [{"type": name, **plain_tool}]
    tool = {"type": "web_search", "search_context_size": "low", "filters": {"allowed_domains": ["example.com"]}}
    stage.model.will(round_of("x"))
    place = {"user_location": {"type": "approximate", "country": "DE"}}
    repeated = (await respond(stage, tools=[{**tool, **place, "external_web_access": False}]))["tools"][0]
    assert repeated == {**tool, "user_location": {**nowhere, "country": "DE"}, "external_web_access": False}


async def test_the_first_text_of_the_last_round_comes_before_the_model_has_ended(stage: Scene) -> None:
    stage.model.will(
        round_of(search()), up.silent(stage.model, up.chunk({"role": "assistant"}), up.chunk({"content": "Par"}))
    )
    body = {"model": "SvcLLM", "input": "x", "tools": [SEARCH], "stream": True}
    async with (
        asyncio.timeout(5),
        aiohttp.ClientSession(stage.server.url, headers=stage.server.headers) as session,
        session.post("/v1/responses", json=body) as answer,
    ):
        async for line in answer.content:
            if b'"delta":"Par"' in line:
                break
        assert not stage.model.released.is_set()
