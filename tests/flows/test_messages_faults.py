"""The messages route where something is wrong: keys, models, upstreams that fail, text that must not pass, counts."""

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from tests.flows.test_messages import answered, client, streamed
from tests.support import upstream as up
from tests.support.asking import MESSAGES, ask, send
from tests.support.gateways import Gateway
from tests.support.messages_route import ADD, HELLO, MODEL, raw_stream
from tests.support.upstream import Upstream

__all__ = ["client"]  # a fixture


async def posted(server: Gateway, **headers: Any) -> tuple[int, Any]:
    status, answer, _ = await send(server, MESSAGES, {**MODEL, "messages": HELLO}, **headers)
    return status, answer


async def test_the_key_may_stand_in_either_header_or_the_same_in_both(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    apart: dict[str, str | None] = {"x_api_key": server.key}
    for headers in ({}, apart, apart | {"Authorization": None}):
        assert (await posted(server, **headers))[0] == 200


async def test_two_keys_that_differ_are_refused(server: Gateway) -> None:
    for header in ("Bearer other", "Basic other", "Bearer "):
        status, answer = await posted(server, Authorization=header, x_api_key=server.key)
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


async def test_wrong_keys_in_either_header_count_as_guesses(server: Gateway, upstream: Upstream) -> None:
    for number in range(server.config.access.bad_keys_per_minute):
        apart, bearer = {"x_api_key": f"k{number}", "Authorization": None}, {"Authorization": f"Bearer k{number}"}
        assert (await posted(server, **(apart if number % 2 else bearer)))[0] == 401
    status, answer = await posted(server, x_api_key="another", Authorization=None)
    assert (status, answer["error"]["type"]) == (429, "rate_limit_error")
    upstream.will(up.answer())
    assert (await posted(server))[0] == 200, "a valid key is heard although its neighbours guess"


async def test_an_unknown_model_is_told_what_there_is_and_an_alias_works(
    client: AsyncAnthropic, upstream: Upstream
) -> None:
    with pytest.raises(anthropic.NotFoundError, match="available: SvcLLM"):
        await answered(client, model="claude-nothing")
    upstream.will(up.answer())
    assert (await answered(client, model="assistant")).model == "SvcLLM"


@pytest.mark.parametrize("fault", ["cut", "error", "silent"])
async def test_an_upstream_that_dies_in_mid_stream_ends_with_an_error_and_no_clean_end(
    hasty_server: Gateway, upstream: Upstream, fault: str
) -> None:
    first = up.chunk({"content": "Hel"})
    upstream.will({
        "cut": up.stream(first, end=False),
        "error": up.stream(first, up.frame({"error": {"message": "broken"}})),
        "silent": up.silent(upstream, first),
    }[fault])  # fmt: skip
    events = await raw_stream(hasty_server)
    kinds = [event["type"] for event in events]
    assert kinds == ["message_start", "ping", "content_block_start", "content_block_delta", "error"]
    assert events[-1]["error"]["type"] in ("api_error", "timeout_error") and events[-1]["request_id"]


async def test_the_sdk_raises_the_error_of_a_stream_that_died(client: AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.stream(up.chunk({"content": "Hel"}), end=False))
    with pytest.raises(anthropic.APIStatusError, match="broke off"):
        await streamed(client)


# --- counts ---------------------------------------------------------------------------------------------------------


async def test_tokens_are_counted_by_the_upstream_that_can(client: AsyncAnthropic, upstream: Upstream) -> None:
    upstream.will(up.answer({"input_tokens": 17}))
    counted = await client.messages.count_tokens(model="SvcLLM", messages=HELLO, system="x", tools=[ADD])  # type: ignore[list-item]
    assert counted.input_tokens == 17 and upstream.last.path == "/v1/messages/count_tokens"
    assert upstream.last.body.keys() == {"model", "messages", "system", "tools"}


async def test_another_upstream_is_asked_once_and_the_estimate_says_so(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer({"error": "no such route"}, status=404))
    body = {"messages": [{"role": "user", "content": "one word " * 50}]}
    answers = [await ask(server, "/v1/messages/count_tokens", **body) for _ in range(2)]
    for status, answer, _ in answers:
        assert status == 200 and 85 <= answer["input_tokens"] <= 115
        assert answer["provider_specific_fields"] == {"usage_estimated": True}
    assert len(upstream.seen) == 1


async def test_an_image_is_sent_to_no_counting_upstream(server: Gateway, upstream: Upstream) -> None:
    inner = {"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/x.png"}}
    status, answer, _ = await ask(server, "/v1/messages/count_tokens", messages=[{"role": "user", "content": [inner]}])
    assert status == 200 and answer["input_tokens"] >= 1 and not upstream.seen


STATUSES = {
    429: (anthropic.RateLimitError, "rate_limit_error"),
    400: (anthropic.BadRequestError, "invalid_request_error"),
    413: (anthropic.RequestTooLargeError, "request_too_large"),
    500: (anthropic.InternalServerError, "api_error"),
    503: (anthropic.InternalServerError, "overloaded_error"),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_an_upstreams_error_is_one_of_this_api(client: AsyncAnthropic, upstream: Upstream, status: int) -> None:
    kind, name = STATUSES[status]
    upstream.will(up.answer({"error": {"message": "no", "code": "x"}}, status=status))
    with pytest.raises(kind) as caught:
        await answered(client)
    body: Any = caught.value.body
    assert body["error"]["type"] == name and body["request_id"] == caught.value.request_id
