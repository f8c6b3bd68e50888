"""What a messages request becomes at the chat upstream: systems, tools, results, images, documents, limits."""

from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ask
from tests.support.gateways import InProcessGateway
from tests.support.messages_route import ADD, HELLO, IMAGE, MODEL, PIXEL
from tests.support.upstream import Upstream

USE: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "c1", "content": "2"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
URL = f"data:image/png;base64,{PIXEL}"


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def chat(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


WITH_CALL = [user(text("add")), assistant(USE)]
CHAT_WITH_CALL = [chat("user", "add"), chat("assistant", None, tool_calls=[CALL])]

MESSAGES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "system blocks, a billing header first": (
        {"system": [text("x-anthropic-billing-header: v=1;"), text("Be brief", cache_control={"type": "ephemeral"}),
                    text("and kind")], "messages": HELLO},
        [chat("system", "Be brief\n\nand kind"), chat("user", "hello")]),
    "system messages inside": (
        {"system": "a", "messages": [*HELLO, chat("system", [text("b")]), user(text("c"))]},
        [chat("system", "a\n\nb"), chat("user", "hello\n\nc")]),
    "a system message that is over": (
        {"messages": [*HELLO, {**chat("system", "b"), "clear_at": "next_user_message"}, user(text("c"))]},
        [chat("user", "hello\n\nc")]),
    "two user messages in a row": (
        {"messages": [user(text("a")), user(text("b"), IMAGE)]},
        [chat("user", [text("a\n\nb"), {"type": "image_url", "image_url": {"url": URL}}])]),
    "a result with text behind it": (
        {"messages": [*WITH_CALL, user(RESULT, text("and now?"))]},
        [*CHAT_WITH_CALL, chat("tool", "2", tool_call_id="c1"), chat("user", "and now?")]),
    "a text before its result": (
        {"messages": [*WITH_CALL, user(text("and now?"), RESULT)]},
        [*CHAT_WITH_CALL, chat("tool", "2", tool_call_id="c1"), chat("user", "and now?")]),
    "parallel results in two messages": (
        {"messages": [user(text("add")), assistant(text("I add"), USE, {**USE, "id": "c2"}),
                      user(text("first"), RESULT), user({**RESULT, "tool_use_id": "c2", "is_error": True})]},
        [chat("user", "add"), chat("assistant", "I add", tool_calls=[CALL, {**CALL, "id": "c2"}]),
         chat("tool", "2", tool_call_id="c1"), chat("tool", "[error]\n2", tool_call_id="c2"), chat("user", "first")]),
    "a result with an image": (
        {"messages": [*WITH_CALL, user({**RESULT, "content": [text("see"), IMAGE]}, text("what is it?"))]},
        [*CHAT_WITH_CALL, chat("tool", "see\n[1 image(s) of this result: in the next message]", tool_call_id="c1"),
         chat("user", [text("[image(s) of the result c1]"), {"type": "image_url", "image_url": {"url": URL}},
                       text("what is it?")])]),
    "an empty result": (
        {"messages": [*WITH_CALL, user({"type": "tool_result", "tool_use_id": "c1"})]},
        [*CHAT_WITH_CALL, chat("tool", "", tool_call_id="c1")]),
    "thoughts and hosted searches of an earlier answer": (
        {"messages": [*HELLO, assistant(
            {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "redacted_thinking", "data": "x"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, text("It is "), text("so")),
            user(text("thanks"))]},
        [chat("user", "hello"), chat("assistant", "It is so"), chat("user", "thanks")]),
    "documents and search results": (
        {"messages": [user(
            {"type": "document", "title": "T", "context": "C", "source": {"type": "text", "media_type": "text/plain",
                                                                          "data": "words"}},
            {"type": "document", "source": {"type": "content", "content": [text("inner")]}},
            {"type": "search_result", "title": "S", "source": "https://example.org", "content": [text("found")]})]},
        [chat("user", "T\n\nC\n\nwords\n\ninner\n\nS\nhttps://example.org\n\nfound")]),
    "a beginning of the answer": (
        {"messages": [*HELLO, chat("assistant", "It is (")]}, [chat("user", "hello"), chat("assistant", "It is (")]),
}  # fmt: skip


async def sent(server: InProcessGateway, upstream: Upstream, **body: Any) -> dict[str, Any]:
    upstream.will(up.answer())
    status, answer, _ = await ask(server, "/v1/messages?beta=true", **{**MODEL, "messages": HELLO, **body})
    assert status == 200, answer
    found: dict[str, Any] = upstream.last.body
    return found


@pytest.mark.parametrize("case", MESSAGES)
async def test_messages_become_chat_messages(server: InProcessGateway, upstream: Upstream, case: str) -> None:
    body, wanted = MESSAGES[case]
    assert (await sent(server, upstream, **body))["messages"] == wanted


async def test_nothing_of_the_request_goes_on_but_what_chat_has(server: InProcessGateway, upstream: Upstream) -> None:
    extra = {
        "context_management": {"edits": []},
        "service_tier": "auto",
        "base_url": "http://10.0.0.1",
        "speed": "fast",
    }
    body = await sent(server, upstream, metadata={"user_id": "device 7"}, thinking={"type": "enabled"}, **extra)
    assert body.keys() == {"model", "messages", "max_tokens", "user", "service_tier"}
    assert body["user"].startswith("user_") and "device" not in str(body)


CHOICES = {
    "auto": ({"type": "auto"}, "auto", None),
    "any": ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
    "tool": ({"type": "tool", "name": "add"}, {"type": "function", "function": {"name": "add"}}, None),
    "none": ({"type": "none"}, "none", None),
}


@pytest.mark.parametrize("case", CHOICES)
async def test_tools_and_their_choice_have_chats_form(server: InProcessGateway, upstream: Upstream, case: str) -> None:
    choice, wanted, parallel = CHOICES[case]
    body = await sent(server, upstream, tools=[{**ADD, "cache_control": {"type": "ephemeral"}}], tool_choice=choice)
    function = {"name": "add", "description": "adds", "parameters": ADD["input_schema"]}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == wanted and body.get("parallel_tool_calls") is parallel


async def test_a_deferred_tool_is_offered_once_a_result_has_named_it(
    server: InProcessGateway, upstream: Upstream
) -> None:
    tools = [ADD, {**ADD, "name": "later", "defer_loading": True}, {**ADD, "name": "never", "defer_loading": True}]
    before = await sent(server, upstream, tools=tools)
    reference = {**RESULT, "content": [{"type": "tool_reference", "tool_name": "later"}]}
    after = await sent(server, upstream, tools=tools, messages=[*WITH_CALL, user(reference)])
    assert [tool["function"]["name"] for tool in before["tools"]] == ["add"]
    assert [tool["function"]["name"] for tool in after["tools"]] == ["add", "later"]


async def test_system_messages_add_and_remove_tools(server: InProcessGateway, upstream: Upstream) -> None:
    changes = [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "add"}},
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {**ADD, "name": "new"}}},
    ]
    body = await sent(server, upstream, tools=[ADD], messages=[*HELLO, chat("system", changes)])
    assert [tool["function"]["name"] for tool in body["tools"]] == ["new"]


async def test_a_long_session_keeps_its_newest_images(server: InProcessGateway, upstream: Upstream) -> None:
    turns = [each for number in range(12) for each in (user(text(str(number)), IMAGE), assistant(text("seen")))]
    body = await sent(server, upstream, messages=[*turns, *HELLO])
    parts = [part for message in body["messages"][:-1:2] for part in message["content"]]
    assert [part["type"] for part in parts[1::2]] == ["text"] * 4 + ["image_url"] * 8


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no max_tokens": ({"max_tokens": None}, "max_tokens"),
    "a role that does not exist": ({"messages": [chat("tool", "x")]}, "messages[0].role"),
    "a text block without text": ({"messages": [user({"type": "text"})]}, "messages[0].content"),
    "a call without input": ({"messages": [assistant({"type": "tool_use", "id": "x", "name": "y"})]}, "messages[0]"),
    "a result without its call": ({"messages": [user(RESULT)]}, "messages[0].content[0].tool_use_id"),
    "a call without its result": ({"messages": [*WITH_CALL, user(text("?"))]}, "messages[1].content[0]"),
    "a damaged PDF": (
        {"messages": [user({"type": "document", "source": {"type": "base64", "data": "JVBERi0=", "media_type": "x"}})]},
        "PDF is damaged"),
    "a PDF by URL": (
        {"messages": [user({"type": "document", "source": {"type": "url", "url": "http://example.org/a.pdf"}})]},
        "documents by URL are not read"),
    "a stored file": (
        {"messages": [user({"type": "image", "source": {"type": "file", "file_id": "f"}})]}, "files are not stored"),
    "a block nobody knows": ({"messages": [user({"type": "strange"})]}, "'strange' is not supported"),
    "an assistant's image": ({"messages": [*HELLO, assistant(IMAGE)]}, "'image' is not an assistant's"),
    "a tool without a name": ({"tools": [{"input_schema": {}}]}, "tools[0].name"),
    "a choice that is no tool": ({"tools": [ADD], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name"),
    "a choice without tools": ({"tool_choice": {"type": "any"}}, "there are no tools"),
    "servers of the caller": ({"mcp_servers": [{"type": "url", "url": "http://10.0.0.1"}]}, "mcp_servers"),
    "a container": ({"container": {"id": "x"}}, "there are no containers"),
    "an unknown effort": ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    "too warm": ({"temperature": 1.5}, "temperature"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_done_is_refused_by_name(server: InProcessGateway, upstream: Upstream, case: str) -> None:
    body, words = REFUSED[case]
    status, answer, headers = await ask(server, "/v1/messages", **{**MODEL, "messages": HELLO, **body})
    assert (status, answer["type"], answer["error"]["type"]) == (400, "error", "invalid_request_error")
    assert words in answer["error"]["message"] and not upstream.seen
    assert answer["request_id"] == headers["request-id"] == headers["x-request-id"]
