"""Hosted web search over several requests: stored answers, replayed items, and models that search another way."""

from typing import Any

import pytest

from tests.support.asking import send
from tests.support.gateways import Serve
from tests.support.hosted_checks import check_events, kinds_of, plain
from tests.support.hosted_search import (
    RESULTS,
    SEARCH,
    Scene,
    call,
    chat,
    message_of,
    post,
    respond,
    round_of,
    scene,
    search,
    visible,
)  # fmt: skip

PARIS = "https://a.example.com/paris"
ADD = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}
WITH_RESULTS = ["web_search_call.results"]


def output_of(response: Any) -> dict[str, Any]:
    """The caller's answer to the only function call of a response."""
    made = next(item for item in response["output"] if item["type"] == "function_call")
    return {"type": "function_call_output", "call_id": made["call_id"], "output": "3"}


async def test_a_stored_answer_has_its_items_and_citations(stage: Scene) -> None:
    for is_stream in (True, False):
        stage.model.will(round_of(search(), is_stream=is_stream), round_of("Paris [1].", is_stream=is_stream))
        response = await respond(stage, stream=is_stream, include=WITH_RESULTS)
        _, stored, _ = await send(stage.server, f"/v1/responses/{response['id']}", method="GET")
        assert plain(stored) == plain(response)


async def test_another_key_does_not_get_what_a_search_told(stage: Scene) -> None:
    other = stage.server.make_key("responses", "web-search")
    stage.model.will(round_of(search(), call("add", "c2", 1)))
    first = await respond(stage, tools=[SEARCH, ADD])
    stage.model.will(round_of("x", is_stream=False))
    items = [{"type": "message", "role": "user", "content": "x"}, *first["output"], output_of(first)]
    body = {"model": "SvcLLM", "input": items, "tools": [SEARCH, ADD]}
    assert (await post(stage, "/v1/responses", body, other))[0] == 200
    assert "[1] Paris" not in str(stage.sent[1]["messages"])


async def test_a_searched_item_from_elsewhere_is_taken_and_not_forwarded(stage: Scene) -> None:
    action = {"type": "search", "query": "q"}
    foreign = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    stage.model.will(round_of("x"))
    said = [{"type": "message", "role": "user", "content": text} for text in "ab"]
    await respond(stage, input=[said[0], foreign, said[1]])
    assert [message["role"] for message in stage.sent[0]["messages"]][1:] == ["user", "user"]


# --- the chat route --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_chat_route_cites_in_annotations(stage: Scene, is_stream: bool) -> None:
    rounds: list[list[Any]] = [["I look 🙂.", search()], ["里昂 [2] and ", f"([a]({PARIS}))."]]
    stage.model.will(*[round_of(*parts, is_stream=is_stream) for parts in rounds])
    message = await chat(stage, stream=is_stream)
    assert message["content"] == f"I look 🙂.\n\n里昂 [2] and ([a]({PARIS}))." and message["finish_reason"] == "stop"
    cited = [each["url_citation"] for each in message["annotations"]]
    links = [message["content"][each["start_index"] : each["end_index"]] for each in cited]
    assert links == ["[2]", f"([a]({PARIS}))"] and [each["url"] for each in cited] == [RESULTS[1]["url"], PARIS]
    assert message["usage"]["total_tokens"] == 10 and not message.get("tool_calls") and not message.get("refusal")


@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_chat_route_returns_the_callers_own_calls_alone(stage: Scene, is_stream: bool) -> None:
    stage.model.will(round_of(search(), call("add", "c2", 1, a=1), is_stream=is_stream))
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
    message = await chat(stage, stream=is_stream, tools=[tool])
    assert message["finish_reason"] == "tool_calls" and [made["id"] for made in message["tool_calls"]] == ["c2"]
    assert stage.provider.asked == ["capital of France"]


async def test_chunks_have_one_id_and_the_role_once(stage: Scene) -> None:
    stage.model.will(round_of(search()), round_of("x [1]"))
    await chat(stage)
    chunks = stage.extra
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    roles = [choice["delta"].get("role") for chunk in chunks for choice in chunk["choices"]]
    assert roles.count("assistant") == 1 and roles[0] == "assistant" and chunks[-1]["usage"]


# --- models that search another way ----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_model_without_tools_gets_results_in_its_prompt(serve: Serve, is_stream: bool) -> None:
    async with scene(serve, embedded=True) as stage:
        stage.model.will(round_of("Paris [1].", is_stream=is_stream))
        response = await respond(stage, stream=is_stream, input="Which city is the capital?", include=WITH_RESULTS)
        if is_stream:
            check_events(stage.extra)
        assert stage.provider.asked == ["Which city is the capital?"] and len(stage.sent) == 1
        prompt = stage.sent[0]["messages"][-1]
        assert prompt["role"] == "user" and "[1]" in prompt["content"] and "tools" not in stage.sent[0]
        assert prompt["content"].rstrip().endswith("Which city is the capital?")
        assert kinds_of(response["output"]) == ["search", "message"]
        assert visible(message_of(response)) == [("[1]", PARIS)]
        assert any("searched once" in each for each in response["provider_specific_fields"]["warnings"])


async def test_a_model_without_tools_is_told_of_a_failed_search(serve: Serve) -> None:
    async with scene(serve, embedded=True) as stage:
        stage.provider.answer = stage.provider.broken
        stage.model.will(round_of("I do not know."))
        response = await respond(stage)
        assert kinds_of(response["output"]) == ["search!", "message"]
        assert (await chat(stage))["content"] == "I do not know."


async def test_a_model_without_tools_does_not_search_where_it_may_not(serve: Serve) -> None:
    async with scene(serve, embedded=True) as stage:
        stage.model.will(round_of("x"))
        assert kinds_of((await respond(stage, tool_choice="none"))["output"]) == ["message"]
        assert stage.provider.asked == []


async def test_a_model_that_speaks_responses_searches_itself_only_where_that_is_configured(serve: Serve) -> None:
    async with scene(serve, responses="'native'") as stage:
        stage.model.will(round_of(search()), round_of("x [1]"))
        assert kinds_of((await respond(stage))["output"]) == ["search", "message"]
        assert {seen.path for seen in stage.model.seen} == {"/v1/chat/completions"}
    async with scene(serve, "[hosted_search]\nnative = 'upstream'\n", responses="'native'") as stage:
        key = stage.server.make_key("responses")
        stage.model.will(round_of("x", is_stream=False))
        await post(stage, "/v1/responses", {"model": "SvcLLM", "input": "x", "tools": [SEARCH]})
        assert stage.model.last.path == "/v1/responses" and stage.model.last.body["tools"] == [SEARCH]
        status, _ = await post(stage, "/v1/responses", {"model": "SvcLLM", "input": "x", "tools": [SEARCH]}, key)
        assert status == 403
