"""Budgets and usage over real sockets: exact in parallel, settled by what the upstream counted, told in headers."""

import asyncio
from pathlib import Path
from typing import Any

from gateway.access.usage import read_usage
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support.asking import CHAT, MCP, RESPONSES, posting, send
from tests.support.gateways import Gateway, Serve, start_in_process, upstream_toml
from tests.support.upstream import Upstream, answer, chunk, completion, silent, stream, text_stream
from tests.support.waiting import until
from tests.support.web_tools import tool_call

PRICES = '[[prices]]\nmodel = "SvcLLM"\ninput_per_million = 1000\noutput_per_million = 10000\n'
BODY = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 6}
"""9 tokens of input by the first count, 6 of output; the scripted upstream counts 3 and 2."""
RESERVED, USED = 15, 5


async def ask(gateway: Gateway, key: str, **more: Any) -> tuple[int, Any, Any]:
    """Status, headers and answer."""
    status, answer, headers = await send(gateway, CHAT, {**BODY, **more}, key=key)
    return status, headers, answer


async def left(gateway: Gateway, key: str) -> int:
    """Tokens of the day that are left, after one more request."""
    status, told, _ = await ask(gateway, key)
    assert status == 200
    return int(dict(part.split(";r=") for part in told["RateLimit"].split(", "))['"tokens-day"'].split(";")[0])


async def test_headers_tell_what_is_left(serve: Serve, upstream: Upstream) -> None:
    upstream.will(answer())
    gateway = await serve(upstream_toml(upstream.url))
    key = gateway.make_key(per_minute=10, tokens_per_minute=100, tokens_per_day=1000)
    _, told, _ = await ask(gateway, key)
    assert told["RateLimit-Policy"] == '"requests";q=10;w=60, "tokens-minute";q=100;w=60, "tokens-day";q=1000;w=86400'
    assert told["RateLimit"].startswith('"requests";r=9;t=60, "tokens-minute";r=95;t=')
    assert (told["x-ratelimit-limit-requests"], told["x-ratelimit-remaining-requests"]) == ("10", "9")
    assert (told["x-ratelimit-limit-tokens"], told["x-ratelimit-remaining-tokens"]) == ("100", "95")
    assert told["x-ratelimit-reset-requests"] == "60s" and told["x-ratelimit-reset-tokens"].endswith("s")
    _, told, _ = await ask(gateway, gateway.key)
    assert "RateLimit" not in told and "x-ratelimit-limit-requests" not in told


async def test_a_stream_is_settled_by_its_usage_and_an_aborted_one_by_what_was_sent(serve: Serve) -> None:
    serve.upstream.will(stream(*text_stream()), answer())
    gateway = await serve(upstream_toml(serve.upstream.url))
    key = gateway.make_key(tokens_per_day=10_000)
    status, told, text = await ask(gateway, key, stream=True, max_tokens=4000)
    assert status == 200 and "stop" in str(text) and '"tokens-day";r=8967' in told["RateLimit"]
    assert await left(gateway, key) == 10_000 - 2 * USED
    serve.upstream.will(silent(serve.upstream, chunk({"content": "w" * 4000})), answer())
    async with posting(gateway, CHAT, {**BODY, "stream": True, "max_tokens": 4000}, key) as reply:
        await reply.content.readany()
        reply.close()
    await asyncio.wait_for(serve.upstream.released.wait(), 10)
    await until(lambda: not len(gateway.in_flight), 10)
    assert 10_000 - 2100 < await left(gateway, key) < 10_000 - 900


async def test_failures_give_back_what_was_reserved(serve: Serve, upstream: Upstream) -> None:
    upstream.will(answer({"error": {"message": "no"}}, status=400), answer())
    gateway = await serve(upstream_toml(upstream.url))
    key = gateway.make_key(tokens_per_day=1000)
    assert (await ask(gateway, key))[0] == 400
    assert (await ask(gateway, key, model="unknown"))[0] == 404
    assert (await ask(gateway, key, temperature="hot"))[0] == 400
    assert await left(gateway, key) == 1000 - USED


async def test_a_spend_limit_needs_prices_and_holds_for_a_month(serve: Serve, upstream: Upstream) -> None:
    upstream.will(answer())
    unpriced = await serve(upstream_toml(upstream.url))
    status, _, text = await ask(unpriced, unpriced.make_key(spend_per_month=1))
    error = text["error"]
    assert (status, error["code"]) == (403, "no_price") and "[[prices]]" in error["message"]
    gateway = await serve(PRICES + upstream_toml(upstream.url))
    key = gateway.make_key(spend_per_month=0.1)  # a request reserves 0.064 and uses 0.023
    statuses = [(await ask(gateway, key))[0] for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    status, told, text = await ask(gateway, key)
    assert text["error"]["code"] == "insufficient_quota" and told["X-Should-Retry"] == "false"
    assert int(told["Retry-After"]) <= 31 * 86_400


async def test_budgets_hold_on_the_responses_route_and_over_a_restart(tmp_path: Path, upstream: Upstream) -> None:
    upstream.will(answer())
    toml = "[limits]\ntokens_per_day = 29\n" + upstream_toml(upstream.url)
    statuses, key = list[int](), ""
    for _ in range(2):
        async with start_in_process(tmp_path, toml) as gateway:
            key = key or gateway.make_key()
            body = {"model": "SvcLLM", "input": "hi", "max_output_tokens": 16}
            statuses += [(await send(gateway, RESPONSES, body, key=key))[0] for _ in range(2)]
    assert statuses == [200, 429, 429, 429]


async def test_tool_calls_are_counted_for_each_call_of_a_batch(serve: Serve) -> None:
    gateway = await serve('[search]\nprovider = "local"\n')
    key = gateway.make_key(tool_calls_per_day=3)
    batch = [tool_call("search_status", call_id=number) for number in (1, 2)]
    status, told, _ = await send(gateway, MCP, batch, key=key, Mcp_Protocol_Version="2025-03-26")
    assert status == 200 and not any(each["result"]["isError"] for each in told)
    status, _, headers = await send(gateway, MCP, tool_call("search_status"), key=key)
    assert status == 200 and '"tool-calls-day";r=0' in headers["RateLimit"]
    status, _, headers = await send(gateway, MCP, tool_call("search_status"), key=key)
    assert status == 429 and headers["X-Should-Retry"] == "false"


async def test_usage_is_written_by_key_model_and_tool(serve: Serve, upstream: Upstream) -> None:
    counted = completion()
    counted["usage"] = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42,
                        "prompt_tokens_details": {"cached_tokens": 30}}  # fmt: skip
    upstream.will(answer(counted))
    gateway = await serve(PRICES + upstream_toml(upstream.url))
    for _ in range(3):
        assert (await ask(gateway, gateway.key))[0] == 200
    await gateway.listener.close()
    rows = read_usage(gateway.config.state_dir / STATE_FILE, "2000-01-01", ["model", "tool"])
    names = ("model", "requests", "input_tokens", "cached_tokens")
    assert [[row[name] for name in names] for row in rows] == [["SvcLLM", 3, 120, 90]]
    assert abs(rows[0]["spend"] - 3 * (40 * 0.001 + 2 * 0.01)) < 1e-9
