"""What must hold however requests are spread: over workers of one gateway, or over machines behind a load balancer.

Every request has a connection of its own, so that any process may get it.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from gateway.access.usage import SharedUsage, UsageReader, read_usage
from gateway.shared_state.redis_state import RedisConnection
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support.asking import MCP
from tests.support.upstream import Exchange, Gate, Upstream, answer
from tests.support.waiting import until
from tests.support.web_tools import tool_call

LIMIT_S = 30
CHAT: dict[str, Any] = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 6}
RESERVED, USED = 15, 5
"""Tokens of CHAT: by the estimate, and as the scripted upstream counts them."""


@dataclass(frozen=True)
class Site:
    """`urls`: addresses that take turns; one that is balanced elsewhere is enough."""

    urls: Sequence[str]
    upstream: Upstream

    async def send(self, method: str, path: str, key: str, body: Any = None, number: int = 0) -> tuple[int, Any]:
        """Status and JSON of one request on a connection of its own."""
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        url, timeout = self.urls[number % len(self.urls)], aiohttp.ClientTimeout(total=LIMIT_S)
        async with (
            aiohttp.ClientSession(headers=headers, timeout=timeout) as session,
            session.request(method, url + path, json=body) as reply,
        ):
            text = await reply.read()
            return reply.status, await reply.json() if text else None

    async def statuses(self, count: int, method: str, path: str, key: str, body: Any = None) -> list[int]:
        """The statuses of `count` requests, one after the other."""
        return [(await self.send(method, path, key, body, number))[0] for number in range(count)]


async def stored_responses_are_found_everywhere(site: Site, key: str, count: int = 8) -> str:
    """Also a conversation that goes on. Returns the id of a response that is still stored."""
    status, first = await site.send("POST", "/v1/responses", key, {"model": "SvcLLM", "input": "one"})
    assert status == 200
    path = f"/v1/responses/{first['id']}"
    assert await site.statuses(count, "GET", path, key) == [200] * count
    following = {"model": "SvcLLM", "input": "two", "previous_response_id": first["id"]}
    assert await site.statuses(count, "POST", "/v1/responses", key, following) == [200] * count
    assert [message["content"] for message in site.upstream.last.body["messages"]] == ["one", "Hello there", "two"]
    assert (await site.send("DELETE", path, key, number=1))[0] == 200
    assert await site.statuses(count, "GET", path, key) == [404] * count
    _, kept = await site.send("POST", "/v1/responses", key, {"model": "SvcLLM", "input": "kept"})
    return str(kept["id"])


async def the_minute_is_counted_together(site: Site, key: str, per_minute: int) -> None:
    statuses = await site.statuses(2 * per_minute, "GET", "/v1/models", key)
    assert statuses == [200] * per_minute + [429] * per_minute


async def requests_at_once_are_counted_together(site: Site, key: str, concurrent: int) -> None:
    seen, gate = len(site.upstream.seen), Gate(answer())
    site.upstream.will(gate)
    calls = [
        asyncio.create_task(site.send("POST", "/v1/chat/completions", key, CHAT, number))
        for number in range(3 * concurrent)
    ]
    await until(lambda: sum(call.done() for call in calls) == 2 * concurrent, LIMIT_S)
    # The refusals may be back before the slower of the others have reached the upstream.
    await until(lambda: len(site.upstream.seen) - seen == concurrent, LIMIT_S)
    gate.go_on.set()
    statuses = sorted(status for status, _ in await asyncio.gather(*calls))
    assert statuses == [200] * concurrent + [429] * 2 * concurrent, statuses
    site.upstream.will(answer())


async def a_budget_is_exact_in_parallel(site: Site, key: str, tokens_per_day: int) -> None:
    """The upstream answers only when all others were refused, so nothing was settled before."""
    gate = Gate(answer())
    site.upstream.will(gate)
    fitting = tokens_per_day // RESERVED
    calls = [asyncio.create_task(site.send("POST", "/v1/chat/completions", key, CHAT, number)) for number in range(50)]
    await until(lambda: sum(call.done() for call in calls) == 50 - fitting, LIMIT_S)
    gate.go_on.set()
    outcomes = await asyncio.gather(*calls)
    assert sorted(status for status, _ in outcomes) == [200] * fitting + [429] * (50 - fitting)
    site.upstream.will(answer())
    left = tokens_per_day - fitting * USED
    more = await site.statuses(left // USED + 2, "POST", "/v1/chat/completions", key, CHAT)
    while left >= RESERVED:
        assert more.pop(0) == 200
        left -= USED
    assert set(more) == {429}


async def wrong_keys_are_counted_together(site: Site, allowed: int) -> None:
    statuses = await site.statuses(2 * allowed, "GET", "/v1/models", "gw_wrong")
    refused = statuses.count(401)
    assert statuses == [401] * refused + [429] * (2 * allowed - refused)
    assert 1 <= refused <= allowed, "a key that was asked for before a machine knew it counts too"


async def a_user_has_one_hash(site: Site, key: str) -> None:
    for number in range(4):
        assert (await site.send("POST", "/v1/chat/completions", key, {**CHAT, "user": "jane"}, number))[0] == 200
    hashes = {seen.body["user"] for seen in site.upstream.seen if (seen.body or {}).get("user")}
    assert len(hashes) == 1 and "jane" not in hashes


async def a_search_is_asked_once(site: Site, searches: Upstream, key: str) -> None:
    searches.will(answer({"results": [{"url": "https://example.org/", "title": "Found", "content": "text"}]}))
    before = len(searches.seen)
    for number in range(6):
        status, reply = await site.send("POST", MCP, key, tool_call("search", {"query": "the same"}), number)
        assert status == 200 and "Found" in reply["result"]["content"][0]["text"]
    asked = [seen.path for seen in searches.seen[before:]]
    assert asked and len(set(asked)) == len(asked), "the provider was asked again"


async def a_call_is_cancelled_wherever_it_runs(site: Site, searches: Upstream, key: str) -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.gone(LIMIT_S)

    searches.will(hang)
    for number in range(4):
        seen = len(searches.seen)
        body = tool_call("search", {"query": f"slow {number}"}, call_id=100 + number)
        call = asyncio.create_task(site.send("POST", MCP, key, body, number))
        await until(lambda: len(searches.seen) > seen, LIMIT_S)  # noqa: B023 - awaited at once
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 100 + number}}
        assert (await site.send("POST", MCP, key, note, number + 1))[0] == 202
        status, reply = await asyncio.wait_for(call, 5)
        assert (status, reply["error"]["code"]) == (200, -32800)


async def a_machine_goes_on_by_itself(alone: Site, searches: Upstream, key: str, limited: str, at_once: int) -> None:
    """What needs no other machine, while they cannot be asked. `limited`: a key of which this one has `at_once`."""
    await requests_at_once_are_counted_together(alone, limited, at_once)
    await a_user_has_one_hash(alone, key)
    searches.will(answer({"results": [{"url": "https://example.org/", "title": "Found", "content": "text"}]}))
    status, reply = await alone.send("POST", MCP, key, tool_call("search", {"query": "alone"}))
    assert status == 200 and "Found" in reply["result"]["content"][0]["text"]
    await a_call_is_cancelled_wherever_it_runs(alone, searches, key)


async def usage_is_summed(redis_url: str, state_dirs: Sequence[Path], keys: int) -> bool:
    """Whether Redis has what the files of all machines have, of so many keys."""
    redis, today = RedisConnection(redis_url), time.strftime("%Y-%m-%d", time.gmtime())
    together, _ = await UsageReader(state_dirs[0], SharedUsage(redis, 400)).read(today, ["key"])
    await redis.close()
    own = [row for folder in state_dirs for row in read_usage(folder / STATE_FILE, today, ["key"])]
    sums = {key: sum(row["requests"] for row in own if row["key"] == key) for key in {row["key"] for row in own}}
    return len(sums) == keys and sums == {row["key"]: row["requests"] for row in together}
