"""`web_search_20250305` on `/v1/messages`, read by the official SDK: blocks, citations, mixed turns, failures."""

import asyncio
from typing import Any

import anthropic
import pytest

from tests.support.hosted_search import Scene, call, round_of, search
from tests.support.messages_route import ADD, LIMIT_S, MODEL

TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
QUESTION: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]


async def message(stage: Scene, *, streamed: bool = True, key: str = "", **body: Any) -> Any:
    asked: dict[str, Any] = {**MODEL, "messages": QUESTION, "tools": [TOOL], **body}
    key = key or stage.server.key
    async with (
        asyncio.timeout(LIMIT_S),
        anthropic.AsyncAnthropic(base_url=stage.server.url, api_key=key, max_retries=0) as client,
    ):
        if not streamed:
            return await client.messages.create(**asked)
        async with client.messages.stream(**asked) as stream:
            stage.extra = [event async for event in stream]
            return await stream.get_final_message()


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
async def test_a_search_is_two_blocks_and_its_citations_name_what_they_cite(stage: Scene, streamed: bool) -> None:
    rounds = (["Let me look.", search()], ["It is Paris [", "1]. 🎉 Ask on."])
    stage.model.will(*(round_of(*parts, is_stream=streamed) for parts in rounds))
    answer = await message(stage, streamed=streamed)
    kinds = [block.type for block in answer.content]
    assert kinds == ["text", "server_tool_use", "web_search_tool_result", "text", "text", "text"]
    _, made, found, before, cited, after = answer.content
    assert (made.name, made.input) == ("web_search", {"query": "capital of France"}) and found.tool_use_id == made.id
    assert found.content[0].url == "https://a.example.com/paris"
    assert (before.text, cited.text, after.text) == ("It is Paris ", "[1]", ". 🎉 Ask on.")
    [citation] = cited.citations
    assert (citation.type, citation.url, citation.title) == (
        "web_search_result_location", "https://a.example.com/paris", "Paris")  # fmt: skip
    assert citation.cited_text == "Paris is the capital of France." and not before.citations and not after.citations
    assert answer.stop_reason == "end_turn" and answer.usage.server_tool_use.web_search_requests == 1
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (6, 4)
    assert set(stage.provider.asked) == {"capital of France"}


async def test_the_callers_tools_and_the_next_turn_know_what_was_found(stage: Scene) -> None:
    stage.model.will(round_of(search(), call("add", "c2", 1, a=1)), round_of("Done."))
    tools = [TOOL, ADD]
    first = await message(stage, tools=tools)
    assert [block.type for block in first.content] == ["tool_use", "server_tool_use", "web_search_tool_result"]
    assert first.stop_reason == "tool_use" and first.content[0].input == {"a": 1}
    result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "2"}
    history = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = await message(stage, tools=tools, messages=history)
    assert [block.text for block in second.content] == ["Done."]
    sent = stage.sent[-1]["messages"]
    roles = [each["role"] for each in sent if each["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    outputs = [each["content"] for each in sent if each["role"] == "tool"]
    assert "Paris is the capital of France." in outputs[0] and outputs[1] == "2"


async def test_a_search_that_fails_is_told_and_the_answer_goes_on(stage: Scene) -> None:
    stage.provider.answer = stage.provider.broken
    stage.model.will(round_of(search()), round_of("I could not look."))
    answer = await message(stage)
    assert answer.content[1].content.error_code == "unavailable" and answer.content[2].text == "I could not look."


async def test_a_choice_forces_the_search_and_none_forbids_it(stage: Scene) -> None:
    stage.model.will(round_of(search()), round_of("Paris."))
    await message(stage, tool_choice={"type": "tool", "name": "web_search"})
    assert stage.sent[0]["tool_choice"] == {"type": "function", "function": {"name": "web_search"}}
    stage.model.will(round_of("Paris."))
    await message(stage, tool_choice={"type": "none"})
    assert "tools" not in stage.sent[-1] and len(stage.sent) == 3


@pytest.mark.slow
async def test_a_page_of_the_conversation_is_fetched_and_cited(stage: Scene) -> None:
    stage.site.pages["/a"] = "<title>Old town</title><p>" + "The old town has a wall. " * 40
    url = f"{stage.site.url}/a"
    asked = [{"role": "user", "content": f"What does {url} say?"}]
    stage.model.will(round_of(call("open_page", url=url)), round_of("It has a wall [1]."))
    tool = {"type": "web_fetch_20250910", "name": "web_fetch", "max_content_tokens": 50, "citations": {"enabled": True}}
    choice = {"type": "tool", "name": "web_fetch"}
    answer = await message(stage, messages=asked, tools=[tool], tool_choice=choice)
    made, page, *texts = answer.content
    assert (made.name, made.input, page.type) == ("web_fetch", {"url": url}, "web_fetch_tool_result")
    assert page.content.url == url and "old town has a wall" in page.content.content.source.data
    assert len(page.content.content.source.data) < 400 and texts[1].citations[0].url == url
    assert answer.usage.server_tool_use.web_fetch_requests == 1
    names = [each["function"]["name"] for each in stage.sent[0]["tools"]]
    assert names == ["open_page", "find_in_page"] and "search the web" not in str(stage.sent[0]["messages"])
    assert stage.sent[0]["tool_choice"]["function"]["name"] == "open_page"


async def test_a_page_that_nobody_named_is_not_fetched(stage: Scene) -> None:
    stage.model.will(round_of(call("open_page", url=f"{stage.site.url}/secret")), round_of("I cannot."))
    answer = await message(stage, tools=[{"type": "web_fetch_20250910", "name": "web_fetch"}])
    assert answer.content[1].content.type == "web_fetch_tool_result_error" and not stage.site.asked


async def test_a_key_without_the_scope_is_refused_before_anything_streams(stage: Scene) -> None:
    with pytest.raises(anthropic.PermissionDeniedError, match="web-search"):
        await message(stage, key=stage.server.make_key("chat"))
    assert not stage.model.seen


async def test_domains_are_honoured(stage: Scene) -> None:
    stage.model.will(round_of(search()), round_of("Paris."))
    answer = await message(stage, tools=[{**TOOL, "blocked_domains": ["a.example.com"]}])
    found = next(block for block in answer.content if block.type == "web_search_tool_result")
    assert [each.url for each in found.content] == ["https://b.example.org/lyon"]
