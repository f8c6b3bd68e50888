"""The loop of hosted tools with web search, without sockets: rounds, limits, what is told to the model."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.services.hosted_tools.loop import LoopLimits, LoopRequest
from gateway.services.hosted_tools.model_round import Round, RoundReader
from gateway.services.hosted_tools.search_options import SearchOptions
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import AnswerEnd, ReasoningPiece, TextPiece
from tests.support.scripted_loop import ScriptedModel, ScriptedWeb, call, play, text_of

QUESTION: list[Json] = [{"role": "user", "content": "capital of France?"}]
ADD: Json = {"type": "function", "function": {"name": "add", "parameters": {}}}


def request_of(**more: Any) -> LoopRequest:
    return LoopRequest({"model": "SvcLLM", "messages": QUESTION, **more})


def ending(events: Any) -> AnswerEnd:
    assert isinstance(events[-1], AnswerEnd)
    return events[-1]


@pytest.mark.parametrize("theirs", [[], [ADD]], ids=["ours alone", "the caller's too"])
async def test_when_the_calls_are_used_up_the_model_must_answer(theirs: list[Json]) -> None:
    web, sources = ScriptedWeb(), Sources()
    rounds = [[call("web_search", query=str(n)), call("web_search", "c2", query="b")] for n in range(2)]
    model = ScriptedModel(*rounds, ["Enough."])
    asked = request_of(tools=theirs) if theirs else request_of()
    events = await play(model, [web.tool(sources)], sources, asked, LoopLimits(max_calls=3))
    assert [request.query for request in web.asked] == ["0", "b", "1"] and text_of(events) == "Enough."
    last = model.asked[-1]
    if theirs:
        assert [tool["function"]["name"] for tool in last["tools"]] == ["add"] and "tool_choice" not in last
    else:
        assert last["tool_choice"] == "none"
    assert "was not run" in model.asked[-1]["messages"][-1]["content"]


async def test_the_callers_limits_of_calls_and_tokens_hold_over_all_rounds() -> None:
    web, sources = ScriptedWeb(), Sources()
    body = {"model": "SvcLLM", "messages": QUESTION, "max_completion_tokens": 50, "max_tokens": 70}
    model = ScriptedModel([call("web_search", query="a")], ["Paris."], tokens=20)
    await play(model, [web.tool(sources)], sources, LoopRequest(body, max_calls=1))
    assert [asked["max_tokens"] for asked in model.asked] == [50, 30] and model.asked[1]["tool_choice"] == "none"
    model = ScriptedModel([call("web_search", query="a")], tokens=50)
    assert ending(await play(model, [web.tool(sources)], sources, LoopRequest(body))).finish_reason == "length"


def test_text_that_waits_comes_before_what_follows_it() -> None:
    sources = Sources()
    sources.add("https://a.example.com/paris", "Paris")
    reader = RoundReader(Round(lambda name: False), sources)
    held, shown = "[1", ReasoningPiece("hm")
    assert reader.take_delta({"content": f"See {held}"}) == [TextPiece("See ")]
    assert reader.take_delta({"reasoning_content": "hm"}) == [TextPiece(held), shown]
    assert reader.take_delta({"content": held, "refusal": "no"}) == [TextPiece(held), TextPiece("no", is_refusal=True)]


async def test_calls_of_an_answer_that_was_cut_are_not_run() -> None:
    web, sources = ScriptedWeb(), Sources()
    events = await play(ScriptedModel([call("web_search", query="a")], finish="length"), [web.tool(sources)], sources)
    assert web.asked == [] and ending(events).finish_reason == "length"


async def test_a_forced_call_is_forced_once_and_names_give_way_to_the_callers() -> None:
    web, sources = ScriptedWeb(), Sources()
    theirs = {"type": "function", "function": {"name": "web_search", "parameters": {}}}
    body = {"model": "SvcLLM", "messages": QUESTION, "tools": [theirs]}
    model = ScriptedModel([call("gateway_web_search", query="a")], ["Paris."])
    await play(model, [web.tool(sources)], sources, LoopRequest(body, forced="web_search"))
    assert model.asked[0]["tool_choice"]["function"]["name"] == "gateway_web_search"
    assert "tool_choice" not in model.asked[1]


async def test_pages_are_opened_and_texts_found_where_the_address_was_shown() -> None:
    web, sources = ScriptedWeb(), Sources()
    tool = web.tool(sources, texts=["see https://c.example.com/x"])
    tool.functions(())
    for name, arguments, words in (
        ("open_page", '{"url": "https://c.example.com/x"}', "two million"),
        ("find_in_page", '{"url": "https://c.example.com/x", "pattern": "SEINE"}', "Seine"),
        ("find_in_page", '{"url": "https://c.example.com/x", "pattern": "Rhine"}', ""),
    ):
        made = tool.start(name, arguments)
        await tool.run(made)
        assert made.status == "completed" and words in made.output
    for name, arguments in (("open_page", '{"url": "https://never.example.com"}'), ("open_page", "no json")):
        made = tool.start(name, arguments)
        await tool.run(made)
        assert made.status == "failed" and made.output.startswith("This call failed")


async def test_a_search_provider_is_told_whole_domains_and_the_country() -> None:
    web, sources = ScriptedWeb(), Sources()
    within, without = ("a.example.com/blog",), ("b.example.org", "a.example.com/no")
    place = {"city": "Rome", "country": "IT"}
    tool = web.tool(sources, SearchOptions(domains=within, excluded=without, location=place))
    tool.functions(())
    await tool.run(tool.start("web_search", '{"query": "x"}'))
    [asked] = web.asked
    assert asked.include_domains == ("a.example.com",) and asked.exclude_domains == ("b.example.org",)
    assert asked.country == "italy"
