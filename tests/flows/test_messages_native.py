"""Upstreams that speak /v1/messages themselves: what goes on as it came, whole, streamed and counted."""

import itertools
from typing import Any

import anthropic
import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.messages_route import ADD, HELLO, MODEL, raw_stream
from tests.support.rich_bodies import rich
from tests.support.upstream import Exchange, Upstream

NATIVE = "messages = 'native'"
MASKED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\nprofile = "reversible"\n'
MAIL = "jane.doe@posthaus.org"
FULL, ANSWER = rich("native_message"), rich("native_answer")
SIGNED, HIDDEN, _, CALL = ANSWER["content"]
USAGE = ANSWER["usage"]


def good_stream(text: str = "Hello", signature: str = SIGNED["signature"], size: int = 6) -> list[bytes]:
    """Thoughts, a text and a call, as Anthropic's server sends them."""
    content = [{**SIGNED, "signature": signature}, {"type": "text", "text": text}, CALL]
    first, second, *rest = up.message_stream({**ANSWER, "content": content}, size)
    return [first, second, up.event("ping"), *rest]


def gateway_of(upstream: Upstream, **settings: Any) -> str:
    return toml(upstream, messages="'native'", **settings)


@pytest.fixture
async def native(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(gateway_of(upstream, api_key="{ credential = 'anthropic' }"), **KEY)


@pytest.fixture
async def masking(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(gateway_of(upstream) + MASKED)


KEY: dict[str, Any] = {"GATEWAY_CREDENTIAL_ANTHROPIC": "sk-test-of-the-upstream"}
TOKEN = "sk-test-of-the-upstream"


async def test_a_request_goes_on_value_for_value(native: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(ANSWER))
    headers = {"anthropic_version": "2024-01-01", "anthropic_beta": "context-1m-2025-08-07, new-beta"}
    body = {"model": "SvcLLM", **FULL, "metadata": {"user_id": "jane", "other": MAIL}}
    status, data, _ = await send(native, "/v1/messages", body, **headers)
    assert status == 200, data
    seen = upstream.last
    user = seen.body.pop("metadata")
    assert seen.body == {**FULL, "model": "up-model"} and seen.path == "/v1/messages"
    assert user.keys() == {"user_id"} and user["user_id"].startswith("user_")
    assert seen.headers["anthropic-version"] == "2024-01-01"
    assert seen.headers["anthropic-beta"] == headers["anthropic_beta"]
    assert seen.headers["x-api-key"] == TOKEN and "authorization" not in seen.headers
    fields = data.pop("provider_specific_fields")
    assert fields["model"] == "up-model" and fields["provider"] == "upstream-1"
    assert data == {**{k: v for k, v in ANSWER.items() if v is not None}, "stop_sequence": None, "model": "SvcLLM"}


@pytest.mark.parametrize(
    ("headers", "version", "beta"),
    [({}, "2023-06-01", None), ({"anthropic_beta": "a b; drop"}, "2023-06-01", None),
     ({"anthropic_version": "x" * 80}, None, None)],
)  # fmt: skip
async def test_headers_that_are_no_names_stay_here(
    native: Gateway, upstream: Upstream, headers: dict[str, str], version: str | None, beta: str | None
) -> None:
    upstream.will(up.answer(ANSWER))
    _, data, _ = await send(native, "/v1/messages", {**MODEL, "messages": HELLO}, **headers)
    assert upstream.last.headers.get("anthropic-version") == version
    assert upstream.last.headers.get("anthropic-beta") == beta
    assert bool(data["provider_specific_fields"].get("warnings")) == bool(headers)


async def test_the_key_goes_as_a_bearer_where_the_operator_says_so(serve: Serve, upstream: Upstream) -> None:
    settings = {"api_key": "{ credential = 'anthropic' }", "messages_credential": "'bearer'"}
    server = await serve(gateway_of(upstream, **settings), **KEY)
    upstream.will(up.answer(ANSWER))
    assert (await ask(server, "/v1/messages", **MODEL))[0] == 200
    assert upstream.last.headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-api-key" not in upstream.last.headers


@pytest.mark.slow  # through the official client
async def test_a_stream_goes_on_event_for_event(native: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*good_stream()))
    events = await raw_stream(native, tools=[ADD])
    theirs = [orjson.loads(each.split(b"data: ")[1]) for each in good_stream()]
    theirs[0]["message"] = {k: v for k, v in theirs[0]["message"].items() if v is not None} | {
        "model": "SvcLLM", "stop_reason": None, "stop_sequence": None}  # fmt: skip
    fields = events[-2].pop("provider_specific_fields")
    assert events == theirs and fields["model"] == "up-model"
    async with (
        anthropic.AsyncAnthropic(base_url=native.url, api_key=native.key, max_retries=0) as client,
        client.messages.stream(**MODEL, messages=HELLO) as stream,
    ):
        message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[2].type == "tool_use" and message.content[2].input == {"a": 1}
    assert (message.usage.output_tokens, message.usage.cache_read_input_tokens) == (2, 20)


async def test_blocks_that_only_the_gateway_understands_stay_here(native: Gateway, upstream: Upstream) -> None:
    """Thoughts that it signed over chat, and its own searches: a conversation may change its model."""
    own = "srvtoolu_" + "0a" * 16
    cited = {"type": "web_search_result_location", "url": "https://a.org", "encrypted_index": ""}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "gws1.abc"},
        {"type": "thinking", "thinking": "hm", "signature": "sig_" + "0b" * 16},
        {"type": "server_tool_use", "id": own, "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": own, "content": []},
        {"type": "text", "text": "so", "citations": [cited]},
        {"type": "thinking", "thinking": "unsigned", "signature": ""},
    ]
    alone = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": blocks[:1]}]
    upstream.will(up.answer(ANSWER))
    for messages in ([*HELLO, {"role": "assistant", "content": blocks}, *HELLO], [*alone, *HELLO]):
        assert (await ask(native, "/v1/messages", **{**MODEL, "messages": messages}))[0] == 200
    first, second = (each.body["messages"] for each in upstream.seen)
    assert first[1]["content"] == [{"type": "text", "text": "so", "citations": None}, blocks[-1]]
    assert [each["role"] for each in second] == ["user", "user"]


async def test_hosted_tools_go_by_chat_and_a_warning_says_so(native: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    status, data, _ = await ask(native, "/v1/messages", **MODEL, tools=tools)
    assert status == 200 and upstream.last.path == "/v1/chat/completions"
    assert "asked through chat" in str(data["provider_specific_fields"]["warnings"])


async def test_a_fallback_over_chat_gets_no_signed_blocks(serve: Serve, upstream: Upstream) -> None:
    other = toml(upstream).replace("SvcLLM", "plain").replace("aliases = ['assistant']", "").replace(
        "[server]\nbase_path = ''\n", "").split("\n[local_llm]")[0]  # fmt: skip
    config = gateway_of(upstream).replace("aliases", "fallback = ['plain']\naliases") + "\n" + other
    server = await serve(config)
    messages = [*HELLO, {"role": "assistant", "content": [SIGNED, {"type": "text", "text": "so"}]}, *HELLO]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for body in ({}, {"stream": True}):
        answers = [up.text_stream()] if body else []
        upstream.will(up.answer(error, status=529), up.answer(error, status=529),
                      up.stream(*answers[0]) if answers else up.answer())  # fmt: skip
        status, data, _ = await ask(server, "/v1/messages", **{**MODEL, "messages": messages, **body})
        assert status == 200, data
        assert upstream.last.path == "/v1/chat/completions" and SIGNED["thinking"] not in str(upstream.last.body)
        assert "Hello there" in str(data) or "there" in str(data)


@pytest.mark.parametrize(
    ("kind", "status", "told"),
    [("invalid_request_error", 400, "invalid_request_error"), ("rate_limit_error", 429, "rate_limit_error"),
     ("overloaded_error", 529, "overloaded_error"), ("authentication_error", 401, "api_error"),
     ("api_error", 500, "api_error")],
)  # fmt: skip
async def test_errors_come_in_the_interfaces_form(native: Gateway, kind: str, status: int, told: str) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "words of it"}, "request_id": "req_up"}
    native.upstream.will(up.answer(body, status=status))
    code, data, _ = await ask(native, "/v1/messages", **MODEL)
    assert code >= 400 and data["type"] == "error" and data["error"]["type"] == told
    native.upstream.will(up.stream(*good_stream()[:9], up.event("error", **body)))
    events = await raw_stream(native)
    assert events[-1]["type"] == "error" and events[-1]["error"]["type"] == told
    native.upstream.will(up.stream(*good_stream()[:-1]))
    assert (await raw_stream(native))[-1]["error"]["type"] == "api_error"


async def test_tokens_are_counted_by_the_upstream(native: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer({"input_tokens": 417}))
    body = {name: value for name, value in FULL.items() if name != "max_tokens"}
    status, data, _ = await send(native, "/v1/messages/count_tokens", {"model": "SvcLLM", **body})
    assert status == 200 and data == {"input_tokens": 417}
    assert upstream.last.path == "/v1/messages/count_tokens" and upstream.last.body == {**body, "model": "up-model"}
    assert upstream.last.headers["x-api-key"] == TOKEN
    upstream.will(up.answer({}, status=500))
    _, data, _ = await send(native, "/v1/messages/count_tokens", {**MODEL, "messages": HELLO})
    assert data["provider_specific_fields"]["usage_estimated"] and data["input_tokens"] >= 1


async def test_images_by_address_are_fetched_here(native: Gateway, upstream: Upstream) -> None:
    source = {"type": "url", "url": "data:image/png;base64,iVBO"}
    upstream.will(up.answer(ANSWER))
    content = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": source}]}]
    await ask(native, "/v1/messages", **{**MODEL, "messages": [{"role": "user", "content": content}]})
    sent = upstream.last.body["messages"][0]["content"][0]["content"][0]["source"]
    assert sent == {"type": "base64", "media_type": "image/png", "data": "iVBO"}


# --- with the sanitizer on ---


async def test_signed_blocks_pass_both_ways_untouched(masking: Gateway, upstream: Upstream) -> None:
    ask_mail = [{"role": "user", "content": f"write to {MAIL}"}]
    upstream.will(up.answer({**ANSWER, "content": [*ANSWER["content"][:2], {"type": "text", "text": "to [EMAIL_1]"}]}))
    _, data, _ = await ask(masking, "/v1/messages", **{**MODEL, "messages": ask_mail})
    assert data["content"] == [SIGNED, HIDDEN, {"type": "text", "text": f"to {MAIL}"}]
    turn = [*ask_mail, {"role": "assistant", "content": data["content"]}, *HELLO]
    upstream.will(up.stream(*good_stream("to [EMAIL_1]")))
    events = await raw_stream(masking, messages=turn)
    sent = upstream.last.body["messages"]
    assert sent[1]["content"][:2] == [SIGNED, HIDDEN] and sent[1]["content"][2]["text"] == "to [EMAIL_1]"
    thoughts = "".join(each["delta"].get("thinking", "") for each in events if "delta" in each)
    texts = "".join(each["delta"].get("text", "") for each in events if "delta" in each)
    assert thoughts == SIGNED["thinking"] and texts == f"to {MAIL}"
    assert [e["delta"]["signature"] for e in events if e.get("delta", {}).get("signature")] == [SIGNED["signature"]]


async def test_unsigned_thoughts_are_masked_as_any_text(masking: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*good_stream(signature="")))
    events = await raw_stream(masking, messages=[{"role": "user", "content": f"write to {MAIL}"}])
    thoughts = "".join(each["delta"].get("thinking", "") for each in events if "delta" in each)
    assert thoughts == f"They are {MAIL}, or not."
    assert [each["type"] for each in events].count("content_block_stop") == 3


async def test_signed_thoughts_with_a_value_are_left_out(masking: Gateway, upstream: Upstream) -> None:
    """They come from elsewhere: what the upstream wrote here has placeholders."""
    upstream.will(up.answer(ANSWER))
    blocks = [{**SIGNED, "thinking": f"it is {MAIL}"}, {"type": "text", "text": "so"}]
    await ask(masking, "/v1/messages", **{**MODEL, "messages": [*HELLO, {"role": "assistant", "content": blocks}]})
    assert upstream.last.body["messages"][1]["content"] == [{"type": "text", "text": "so"}]


async def test_each_turn_begins_with_what_the_one_before_sent(masking: Gateway, upstream: Upstream) -> None:
    """Else no prompt cache of the upstream would hit: 20 turns, with a value of its own in each."""
    history: list[Any] = []
    sent: list[list[Any]] = []
    for number in range(20):
        said = f"mail {number}: user{number}@posthaus.org and {MAIL}"
        history.append({"role": "user", "content": [{"type": "text", "text": said}]})
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "add", "input": {"to": f"[EMAIL_{number + 1}]"}}
        upstream.will(up.answer({**ANSWER, "content": [SIGNED, call]}))
        _, data, _ = await ask(masking, "/v1/messages", **{**MODEL, "messages": history, "tools": [ADD]})
        sent.append(upstream.last.body["messages"])
        history.append({"role": "assistant", "content": data["content"]})
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": f"sent to user{number}@posthaus.org",
        }
        history.append({"role": "user", "content": [result]})
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    assert "posthaus" not in str(sent) and "[EMAIL_20]" in str(sent[-1])


# --- budgets ---


@pytest.fixture
async def bounded(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(gateway_of(upstream) + "\n[limits]\ntokens_per_day = 3000\n")


async def test_what_was_read_from_a_cache_and_written_to_one_counts(bounded: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer({**ANSWER, "usage": {**USAGE, "cache_read_input_tokens": 2900}}))
    _, _, headers = await ask(bounded, "/v1/messages", **MODEL)
    assert int(headers["x-ratelimit-limit-tokens-day"]) == 3000 if "x-ratelimit-limit-tokens-day" in headers else True
    status, data, _ = await ask(bounded, "/v1/messages", **MODEL)
    assert status == 429 and data["error"]["type"] == "rate_limit_error"


async def test_a_stream_ends_where_the_budget_does(bounded: Gateway, upstream: Upstream) -> None:
    async def endless(exchange: Exchange) -> None:
        await up.stream(*good_stream("many words of it " * 4000, size=340))(exchange)

    upstream.will(endless)
    events = await raw_stream(bounded, max_tokens=2500)
    assert [each["type"] for each in events[-3:]] == ["content_block_stop", "message_delta", "message_stop"]
    assert events[-2]["delta"]["stop_reason"] == "max_tokens" and events[-2]["usage"]["output_tokens"] > 100


async def test_other_routes_ask_the_same_upstream_through_chat(native: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    assert (await ask(native))[0] == 200 and upstream.last.path == "/v1/chat/completions"
    assert upstream.last.headers["authorization"] == f"Bearer {TOKEN}"
