"""Upstream faults and clients that leave, in every phase, through the whole gateway."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, ask_stream, said, send, toml
from tests.support.gateways import Gateway, Serve, upstream_toml
from tests.support.upstream import Exchange, Upstream, scripted_upstream

# --- faults -----------------------------------------------------------------------------------------------------------

HTML = b"<html><body>sk-secretsecret Bad gateway</body></html>"
HUGE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{"
EARLY: dict[str, tuple[up.Script, int]] = {
    "reset": (up.reset(), 502),
    "empty answer": (up.answer(b""), 502),
    "html": (up.answer(HTML, kind="text/html"), 502),
    "html with 500": (up.answer(HTML, status=500, kind="text/html"), 502),
    "not json": (up.answer(b"{'a'"), 502),
    "a list": (up.answer([]), 502),
    "no choices": (up.answer({"id": "x", "choices": []}), 502),
    "204": (up.raw(b"HTTP/1.1 204 No Content\r\n\r\n"), 502),
    "not http": (up.raw(b"SSH-2.0-OpenSSH\r\n\r\n"), 502),
    "redirect": (up.answer(b"", status=302, Location="http://127.0.0.1:1/"), 502),
    "error under 200": (up.answer({"error": {"message": "boom", "code": 500}}), 502),
    "401": (up.answer({"error": {"message": "bad key sk-abcdefghijkl"}}, status=401), 502),
    "403": (up.answer({"error": "no"}, status=403), 502),
    "404": (up.answer({"error": {"message": "model not loaded"}}, status=404), 502),
    "400": (up.answer({"error": {"message": "bad temperature", "code": 400}}, status=400), 400),
    "422": (up.answer({"detail": [{"msg": "x"}]}, status=422), 400),
    "413": (up.answer({"error": {"message": "too long"}}, status=413), 413),
    "429": (up.answer({"error": {"message": "slow down"}}, status=429, Retry_After="30"), 429),
    "500": (up.answer({"error": {"message": "CUDA"}}, status=500), 502),
    "503": (up.answer({"error": {"message": "loading"}}, status=503, Retry_After="7"), 503),
    "too large": (up.raw(HUGE), 502),
}  # fmt: skip


@pytest.mark.parametrize(("script", "status"), EARLY.values(), ids=EARLY)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_fault_before_the_first_byte_is_a_true_status(
    server: Gateway, upstream: Upstream, script: up.Script, status: int, streamed: bool
) -> None:
    upstream.will(script)
    got, data, headers = await ask(server, stream=streamed)
    assert got == status, data
    error = data["error"]
    assert isinstance(error["message"], str) and isinstance(error["code"], str) and set(error) >= {"type", "param"}
    assert not any(word in orjson.dumps(data).decode() for word in ("secret", "sk-abc", "html"))
    assert ("Retry-After" in headers) == (status in (429, 503))
    if status in (400, 413):
        assert len(upstream.seen) == 1 and error["type"] == "invalid_request_error"


async def test_silence_before_the_headers_is_504(hasty_server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.silent(upstream))
    status, events = await ask_stream(hasty_server)
    assert status == 504 and events[0]["error"]["code"] == "upstream_timeout"
    async with asyncio.timeout(10):
        await upstream.released.wait()


BEGUN = [up.chunk({"role": "assistant", "content": ""}), up.chunk({"content": "Hel"}), up.chunk({"content": "lo"})]


def late(end: Callable[[Exchange], Awaitable[None]]) -> up.Script:
    """A stream that begins well and ends so, once its beginning was read."""

    async def script(exchange: Exchange) -> None:
        await exchange.stream_head()
        for piece in BEGUN:
            await exchange.piece(piece)
        await asyncio.sleep(0.1)
        await end(exchange)

    return script


async def resets(exchange: Exchange) -> None:
    exchange.reset()


async def breaks_a_chunk(exchange: Exchange) -> None:
    await exchange.raw(b"ZZZ not a chunk\r\n")
    await exchange.gone()


async def one_endless_event(exchange: Exchange) -> None:
    for _ in range(100):
        await exchange.piece(b"x" * 60_000)


LATE: dict[str, up.Script] = {
    "reset": late(resets),
    "a broken chunk": late(breaks_a_chunk),
    "an endless event": late(one_endless_event),
    "cut": up.stream(*BEGUN, end=False),
    "ended without a finish": up.stream(*BEGUN),
    "[DONE] without a finish": up.stream(*BEGUN, up.DONE),
    "half an event": up.stream(*BEGUN, b'data: {"id": "x", "cho'),
    "an error event": up.stream(*BEGUN, up.frame({"error": {"message": "boom", "code": 500}})),
    "nonsense": up.stream(*BEGUN, b"data: <html>\n\n"),
}


@pytest.mark.parametrize("script", LATE.values(), ids=LATE)
async def test_a_fault_in_mid_stream_is_an_error_event_never_a_clean_end(server: Gateway, script: up.Script) -> None:
    server.upstream.will(script)
    status, events = await ask_stream(server)
    assert status == 200 and said(events) == "Hello"
    assert None not in events and not any(c["finish_reason"] for e in events[:-1] for c in e["choices"])
    assert isinstance(events[-1]["error"]["message"], str) and isinstance(events[-1]["error"]["code"], str)


async def test_a_stream_that_stalls_is_ended_with_an_error_and_let_go(hasty_server: Gateway) -> None:
    hasty_server.upstream.will(up.silent(hasty_server.upstream, *BEGUN))
    status, events = await ask_stream(hasty_server)
    assert status == 200 and events[-1]["error"]["code"] == "upstream_timeout" and None not in events
    async with asyncio.timeout(10):
        await hasty_server.upstream.released.wait()


async def test_an_upstream_that_gives_fewer_choices_than_asked_is_no_fault(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*BEGUN, up.chunk({}, "stop"), up.DONE))
    status, events = await ask_stream(server, n=2)
    assert status == 200 and events[-1] is None


async def test_what_comes_after_the_finish_is_not_waited_for_long(hasty_server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.silent(upstream, *BEGUN, up.chunk({}, "stop")))
    status, events = await ask_stream(hasty_server)
    assert status == 200 and events[-1] is None and events[-2]["choices"][0]["finish_reason"] == "stop"


# --- retries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_empty_reset_is_tried_once_more(server: Gateway, upstream: Upstream, streamed: bool) -> None:
    good = up.stream(*up.text_stream()) if streamed else up.answer()
    upstream.will(up.reset(), good)
    if streamed:
        status, events = await ask_stream(server)
        fields = events[-2]["choices"][0]["provider_specific_fields"]
    else:
        status, data, _ = await ask(server)
        fields = data["choices"][0]["provider_specific_fields"]
    assert status == 200 and fields["attempts"] == 2 and len(upstream.seen) == 2
    _, metrics, _ = await send(server, server.ops_url + "/metrics", method="GET")
    counted = re.findall(r'gateway_tokens_total\{kind="(\w+)",model="SvcLLM"\} (\S+)', metrics)
    assert dict(counted) == {"input": "3.0", "output": "2.0"}, "of the attempt that was answered alone"


async def test_a_dead_upstream_is_passed_over_and_then_left_alone(serve: Serve, upstream: Upstream) -> None:
    async with scripted_upstream() as dead:
        server = await serve(toml(dead, upstream))
        dead.will(up.answer(status=500))
        upstream.will(up.answer())
        for _ in range(30):
            status, _, _ = await ask(server)
            assert status == 200
        assert 1 <= len(dead.seen) <= 10


async def test_a_fallback_model_answers_under_its_own_name(serve: Serve, upstream: Upstream) -> None:
    async with scripted_upstream() as dead:
        second = upstream_toml(upstream.url).replace("SvcLLM", "Second")
        server = await serve(toml(dead, more="fallback = ['Second']\n") + second)
        dead.will(up.answer(status=502))
        upstream.will(up.answer())
        status, data, _ = await ask(server)
        assert status == 200 and data["model"] == "Second" and upstream.last.body["model"] == "scripted"


async def test_the_breaker_of_an_upstream_that_is_away_answers_at_once_and_says_when_to_come_back(serve: Serve) -> None:
    async with scripted_upstream() as away:
        url = away.url
    server = await serve(upstream_toml(url))
    statuses = {(await ask(server))[0] for _ in range(5)}
    status, data, headers = await ask(server)
    assert statuses <= {502, 503} and status == 503 and int(headers["Retry-After"]) >= 1
    assert "keeps failing" in data["error"]["message"]


@pytest.mark.parametrize("status", [500, 503])
async def test_a_poisoned_prompt_shuts_the_model_for_nobody(server: Gateway, upstream: Upstream, status: int) -> None:
    other = replace(server, key=server.make_key("chat"))

    async def script(exchange: Exchange) -> None:
        poisoned = "poison" in str(exchange.seen.body)
        await (up.answer(status=status) if poisoned else up.answer())(exchange)

    upstream.will(script)
    poison = [{"role": "user", "content": "poison"}]
    for _ in range(20):
        assert (await ask(server, messages=poison))[0] in (502, 503)
        assert (await ask(other))[0] == 200
    assert (await ask(server))[0] == 200, "the other prompts of the same caller are answered too"


async def test_choices_that_come_one_after_the_other_are_all_waited_for(server: Gateway, upstream: Upstream) -> None:
    first = [*BEGUN, up.chunk({}, "stop")]
    second = [up.chunk({"content": "x"}, index=1) for _ in range(100)]
    upstream.will(up.stream(*first, *second, up.chunk({}, "stop", index=1), up.DONE))
    status, events = await ask_stream(server, n=2)
    assert status == 200 and events[-1] is None and said(events).count("x") == 100
