"""Turns of agents that mix what other files test one by one: searches, own calls, failures, limits, old items."""

from typing import Any

from aiohttp import web

from tests.support import upstream as up
from tests.support.hosted_checks import check_events
from tests.support.hosted_search import (
    RESULTS,
    SEARCH,
    Scene,
    call,
    message_of,
    post,
    respond,
    round_of,
    search,
    visible,
)
from tests.support.messages_route import PIXEL

ADD = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}
PARIS = "https://a.example.com/paris"


async def test_two_searches_beside_two_calls_of_the_caller_are_all_answered_in_the_next_turn(stage: Scene) -> None:
    asked = (search("one"), call("add", "c2", 1, a=1), search("two", "c3", 2), call("add", "c4", 3, a=2))
    stage.model.will(round_of("First.", *asked), round_of("Paris [1]."))
    first = await respond(stage, tools=[SEARCH, ADD])
    check_events(stage.extra)
    assert sorted(stage.provider.asked) == ["one", "two"]
    calls = [item for item in first["output"] if item["type"] == "function_call"]
    assert [item["type"] for item in first["output"]].count("web_search_call") == 2 and len(calls) == 2
    ids = [each["call_id"] for each in calls]
    outputs = [{"type": "function_call_output", "call_id": each, "output": each} for each in ids]
    second = await respond(stage, input=outputs[::-1], previous_response_id=first["id"], tools=[SEARCH, ADD])
    messages = stage.sent[-1]["messages"]
    made = [each["id"] for message in messages for each in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(made) == 4 and sorted(made) == sorted(answered) and {each["call_id"] for each in calls} <= set(made)
    assert visible(message_of(second)) == [("[1]", PARIS)]


async def test_a_search_that_fails_in_the_second_round_keeps_what_the_first_one_found(stage: Scene) -> None:
    async def by_query(request: web.Request) -> web.StreamResponse:
        is_first = request.query["q"] == "first"
        return web.json_response({"results": RESULTS}) if is_first else await stage.provider.broken(request)

    stage.provider.answer = by_query
    rounds = (round_of(search("first")), round_of(search("second", "c2")), round_of("Paris [1–2], Lyon【2】."))
    stage.model.will(*rounds)
    response = await respond(stage)
    check_events(stage.extra)
    found, failed, _ = response["output"]
    assert (found["status"], failed["status"]) == ("completed", "failed")
    links = visible(message_of(response))
    assert [link for link, _ in links] == ["[1–2]", "[1–2]", "【2】"]
    assert [url for _, url in links] == [PARIS, "https://b.example.org/lyon", "https://b.example.org/lyon"]


async def test_reasoning_before_each_search_is_an_item_of_its_own(stage: Scene) -> None:
    def thinking(text: str, *chunks: bytes, finish: str) -> Any:
        return up.stream(up.chunk({"reasoning_content": text}), *chunks, up.chunk({}, finish), up.DONE)

    asked = up.chunk({"tool_calls": [search()]})
    said = up.chunk({"content": "Paris."})
    stage.model.will(thinking("a", asked, finish="tool_calls"), thinking("b", said, finish="stop"))
    response = await respond(stage)
    check_events(stage.extra)
    kinds = [item["type"] for item in response["output"]]
    assert kinds == ["reasoning", "web_search_call", "reasoning", "message"]
    assert [item["summary"][0]["text"] for item in response["output"] if item["type"] == "reasoning"] == ["a", "b"]


async def test_a_search_without_results_goes_on_without_sources(stage: Scene) -> None:
    stage.provider.results = []
    stage.model.will(round_of(search()), round_of("Nothing found [1]."))
    response = await respond(stage, include=["web_search_call.action.sources", "web_search_call.results"])
    found = response["output"][0]
    assert (found["status"], found["action"]["sources"], found["results"]) == ("completed", [], [])
    assert message_of(response)["annotations"] == []


async def test_items_of_every_kind_in_a_history_keep_their_order(stage: Scene) -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "function_call", "call_id": "f1", "name": "add", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "f2", "name": "patch", "input": "*** x"},
        {"type": "function_call_output", "call_id": "f1", "output": [{"type": "input_text", "text": "3"}, image]},
        {"type": "custom_tool_call_output", "call_id": "f2", "output": "ok"},
        {"type": "mcp_list_tools", "id": "ml", "server_label": "words", "tools": []},
        {"type": "mcp_call", "id": "mc", "server_label": "words", "name": "look", "arguments": "{}", "output": "w"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        {"role": "developer", "content": "c"},
        {"role": "user", "content": [{"type": "input_text", "text": "d"}, image]},
    ]
    stage.model.will(round_of("Ok."))
    await respond(stage, input=history, tools=[SEARCH, ADD], store=False)
    messages = stage.sent[0]["messages"]
    open_calls: list[str] = []
    for message in messages:
        if open_calls:
            assert message["role"] == "tool"
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        open_calls += [each["id"] for each in message.get("tool_calls") or ()]
    later = [*history[:9], {"type": "compaction", "id": "cmp", "encrypted_content": "x"}]
    status, answer = await post(stage, "/v1/responses", {"model": "SvcLLM", "input": later, "tools": [SEARCH]})
    assert (status, answer["error"]["param"]) == (400, "input[9]")
    assert not open_calls and messages[-1]["content"][1]["type"] == "image_url"
    assert [message["content"] for message in messages if message["role"] == "assistant"][-1] == "b"
