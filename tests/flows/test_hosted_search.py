"""Hosted web search on `/v1/responses`: what a caller gets for what the model does, streamed and whole.

Every scenario runs both ways over real sockets and must come out the same; `hosted_checks` holds what is true of all.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import RESPONSES, posting
from tests.support.gateways import Serve
from tests.support.hosted_checks import check_events, check_response, kinds_of, plain
from tests.support.hosted_search import SEARCH, Scene, call, message_of, respond, round_of, scene, search, visible
from tests.support.paths import GOLDEN

PARIS, LYON, NICE = "https://a.example.com/paris", "https://b.example.org/lyon", "https://a.example.com/nice"
RESULTS = ["web_search_call.results"]
SMILE = "👩‍👩‍👧 里昂 "


@pytest.fixture
async def stage(serve: Serve) -> AsyncIterator[Scene]:
    async with scene(serve, more="[hosted_search]\nmax_calls = 3\n") as made:
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
    finish: dict[str, str] = field(default_factory=dict)
    asked: list[str] | None = None
    status: str = "completed"


CASES = [Case(**row) for row in json.loads((GOLDEN / "hosted_search.json").read_text())]


def part_of(recorded: Any) -> Any:
    """A text, a whole call, or one that is recorded as its name, id, index and arguments."""
    if not isinstance(recorded, list):
        return recorded
    name, call_id, index, arguments = recorded
    return call(name, call_id, index, **arguments)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.slow  # all cases
async def test_an_answer_is_the_same_streamed_and_whole(stage: Scene, case: Case) -> None:
    made = []
    for is_stream in (True, False):
        stage.provider.asked.clear()
        stage.model.seen.clear()
        stage.model.will(*[
            round_of(*map(part_of, parts), finish=case.finish.get(str(number)), is_stream=is_stream)
            for number, parts in enumerate(case.rounds)
        ])  # fmt: skip
        response = await respond(stage, stream=is_stream, **{"include": RESULTS, **case.body})
        if is_stream:
            check_events(stage.extra)
        check_response(response)
        assert sorted(kinds_of(response["output"])) == sorted(case.items) and response["status"] == case.status
        if "message" in case.items:
            assert message_of(response)["text"] == case.text and visible(message_of(response)) == list(
                map(tuple, case.links)
            )
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
    begun = (up.chunk({"role": "assistant"}), up.chunk({"content": "Par"}))
    stage.model.will(round_of(search()), up.silent(stage.model, *begun))
    body = {"model": "SvcLLM", "input": "x", "tools": [SEARCH], "stream": True}
    async with asyncio.timeout(5), posting(stage.server, RESPONSES, body) as answer:
        async for line in answer.content:
            if b'"delta":"Par"' in line:
                break
        assert not stage.model.released.is_set()
