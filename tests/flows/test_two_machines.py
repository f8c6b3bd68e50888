"""Two gateways behind nginx that share one Redis: all state holds on both, also while Redis is away, and after it."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.access.keys import KeyRequest
from gateway.access.redis_keys import RedisKeys
from tests.support import shared_checks as checks
from tests.support.asking import MCP
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.paths import ROOT
from tests.support.ports import free_port, is_listening
from tests.support.redis_server import RedisServer, running_redis
from tests.support.shared_checks import Site
from tests.support.upstream import Upstream, answer, scripted_upstream
from tests.support.waiting import eventually, until

pytestmark = [pytest.mark.slow, pytest.mark.system]

SCOPES = ("web-search", "chat", "responses")
PASSWORD = "not-a-real-password"


class SlowLink:
    """A proxy before Redis whose bytes can be delayed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.delay_s = 0.0
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
        writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        for pair in ((reader, back[1]), (back[0], writer)):
            task = asyncio.create_task(self._pipe(*pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["SlowLink"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        yield self
        server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


NGINX = (ROOT / "tests/support/two_machines.nginx").read_text()


@asynccontextmanager
async def running_nginx(folder: Path, one: int, two: int) -> AsyncIterator[str]:
    """Its address. It deals requests out in turn."""
    folder.mkdir()  # noqa: ASYNC240
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, one=one, two=two, port=port))
    process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
        ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")], stderr=subprocess.DEVNULL
    )
    try:
        await until(lambda: is_listening(port), 10)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 10)


@dataclass
class Machines:
    """`site`: both behind nginx; `direct`: each by itself."""

    redis: RedisServer
    link: SlowLink
    site: Site
    direct: Site
    gateways: list[GatewayProcess]
    searches: Upstream
    folder: Path

    async def make_key(self, **limits: Any) -> str:
        keys = RedisKeys(self.redis.url, self.folder)
        key, _ = await asyncio.to_thread(keys.create, KeyRequest("test", SCOPES, **limits))
        await until_accepted(self, key)
        return key

    async def notes(self) -> list[bool]:
        """Of each machine, whether its readiness says that Redis is away."""
        return ["Redis cannot be reached" in (await each.get("/readyz", ops=True))[1] for each in self.gateways]

    async def is_well(self) -> bool:
        return not any(await self.notes())


async def until_accepted(machines: Machines, key: str) -> None:
    """A ping is not counted in any limit."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    await eventually(lambda: holds(machines.direct.statuses(2, "POST", MCP, key, ping), {200}), 5)


@pytest.fixture
async def machines(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Machines]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed here")
    upstream.will(answer())
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(running_redis(tmp_path))
        link = await stack.enter_async_context(SlowLink(redis.port).open())
        searches = await stack.enter_async_context(scripted_upstream())
        toml = (
            '[access]\nbackend = "redis"\nbad_keys_per_minute = 6\n[guardrail]\nenabled = "off"\n'
            '[shared]\nmachines = 2\nredis_timeout_s = 1\nredis_url = { credential = "redis" }\n'
            f'[search]\nprovider = "searxng"\nbase_url = "{searches.url}"\n' + upstream_toml(upstream.url)
        )
        gateways = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            process = start_process(tmp_path / name, toml, variables={"GATEWAY_CREDENTIAL_REDIS": link.url})
            gateways.append(await stack.enter_async_context(process))
        url = await stack.enter_async_context(running_nginx(tmp_path / "nginx", *(each.port for each in gateways)))
        direct = Site([each.url for each in gateways], upstream)
        yield Machines(redis, link, Site([url], upstream), direct, gateways, searches, tmp_path)


async def test_two_machines_behind_nginx_behave_like_one(machines: Machines) -> None:
    site, key = machines.site, await machines.make_key()
    await checks.stored_responses_are_found_everywhere(site, key)
    await checks.the_minute_is_counted_together(site, await machines.make_key(per_minute=8), 8)
    await checks.requests_at_once_are_counted_together(site, await machines.make_key(concurrent=3), 3)
    await checks.a_budget_is_exact_in_parallel(site, await machines.make_key(tokens_per_day=155), 155)
    await checks.wrong_keys_are_counted_together(site, 6)
    await checks.a_user_has_one_hash(site, key)
    await checks.a_search_is_asked_once(site, machines.searches, key)
    await checks.a_call_is_cancelled_wherever_it_runs(site, machines.searches, key)
    keys = RedisKeys(machines.redis.url, machines.folder)
    await asyncio.to_thread(keys.revoke, key.split("_")[1])
    await eventually(lambda: holds(site.statuses(2, "GET", "/v1/models", key), {401, 429}), 5)  # 429: many were wrong


async def holds(asked: Awaitable[list[int]], allowed: set[int]) -> bool:
    """Whether all statuses are allowed."""
    return set(await asked) <= allowed


async def tells_that_redis_is_away(gateway: GatewayProcess) -> bool:
    """Whether its metrics, which are sampled once a second, say so."""
    return 'gateway_store_up{store="redis"} 0.0' in (await gateway.get("/metrics", ops=True))[1]


async def kill(machines: Machines) -> None:
    await machines.redis.stop()


async def slow(machines: Machines) -> None:
    machines.link.delay_s = 4.0


async def quick(machines: Machines) -> None:
    machines.link.delay_s = 0.0


Step = Callable[[Machines], Awaitable[object]]
AWAY: dict[str, tuple[Step, Step]] = {
    "paused": (lambda m: m.redis.do("CLIENT", "PAUSE", 600_000, "WRITE"), lambda m: m.redis.do("CLIENT", "UNPAUSE")),
    "read-only": (
        lambda m: m.redis.do("REPLICAOF", "127.0.0.1", "1"), lambda m: m.redis.do("REPLICAOF", "NO", "ONE"),
    ),
    "new password": (lambda m: m.redis.lock(PASSWORD), lambda m: m.redis.unlock(PASSWORD)),
    "slow": (slow, quick),
    "killed": (kill, lambda m: m.redis.start()),
}  # fmt: skip


@pytest.mark.parametrize("kind", AWAY)
async def test_while_redis_is_away_the_machines_divide_what_there_is_and_forget_nothing(
    machines: Machines, kind: str
) -> None:
    direct, chat = machines.direct, ("POST", "/v1/chat/completions")
    plain, minute = await machines.make_key(), await machines.make_key(per_minute=10)
    assert await direct.statuses(2, "GET", "/v1/models", minute) == [200, 200]
    budget, together = await machines.make_key(tokens_per_day=200), await machines.make_key(concurrent=4)
    assert await direct.statuses(2, *chat, budget, checks.CHAT) == [200, 200]
    _, before = await direct.send("POST", "/v1/responses", plain, {"model": "SvcLLM", "input": "before"}, 0)
    go, come_back = AWAY[kind]
    await go(machines)

    granted = (await direct.statuses(20, "GET", "/v1/models", minute)).count(200)
    assert granted == 8, "each machine has five, of which one is used"
    spent = (await direct.statuses(60, *chat, budget, checks.CHAT)).count(200) * checks.USED
    assert 140 <= spent <= 190
    status, meanwhile = await direct.send("POST", "/v1/responses", plain, {"model": "SvcLLM", "input": "now"}, 1)
    assert status == 200
    assert (await direct.send("GET", f"/v1/responses/{meanwhile['id']}", plain, number=1))[0] == 200
    assert (await direct.send("GET", f"/v1/responses/{before['id']}", plain, number=1))[0] in (200, 503)
    assert await machines.notes() == [True, True]
    refused = {401, 429} if kind in ("paused", "read-only") else {503}  # keys can still be read, or nobody can tell
    await eventually(lambda: holds(direct.statuses(2, "GET", "/v1/models", "gw_unknown"), refused), 15)
    assert set(await direct.statuses(4, "GET", "/v1/models", plain)) == {200}

    for gateway in machines.gateways:
        alone = Site([gateway.url], direct.upstream)
        await checks.a_machine_goes_on_by_itself(alone, machines.searches, plain, together, 2)
        await eventually(lambda: tells_that_redis_is_away(gateway), 5)  # noqa: B023 - awaited here

    await come_back(machines)
    await eventually(machines.is_well, 30)
    assert await direct.statuses(2, "GET", "/v1/models", minute) == [429, 429]
    assert (await direct.send("GET", f"/v1/responses/{meanwhile['id']}", plain, number=1))[0] == 200
    if kind != "killed":
        assert set(await direct.statuses(2, "GET", f"/v1/responses/{before['id']}", plain)) == {200}
    lefts = [await left_today(url, budget) for url in direct.urls]
    most = 200 - 2 * checks.USED - spent
    assert all(left <= most for left in lefts), "a count was forgotten"
    assert max(lefts) >= most - 8 * checks.RESERVED or kind in ("slow", "paused")
    assert set(await machines.site.statuses(4, "GET", "/v1/models", plain)) == {200}
    states = [each.state_dir for each in machines.gateways]
    await eventually(lambda: checks.usage_is_summed(machines.redis.url, states, keys=4), 15)


async def left_today(url: str, key: str) -> int:
    """What the headers say, of a request that is too large."""
    body = {**checks.CHAT, "max_tokens": 10_000}
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session,
        session.post(f"{url}/v1/chat/completions", json=body) as reply,
    ):
        assert reply.status == 429
        state = reply.headers["RateLimit"]
        return int(state.partition('"tokens-day";r=')[2].partition(";")[0])


async def test_a_gateway_that_starts_while_redis_is_away_serves_nobody_and_recovers_by_itself(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.will(answer())
    async with running_redis(tmp_path) as redis:
        key, _ = await asyncio.to_thread(RedisKeys(redis.url, tmp_path).create, KeyRequest("test", SCOPES))
        await redis.stop()
        shared = '[access]\nbackend = "redis"\n[shared]\nredis_url = { credential = "redis" }\n'
        toml = shared + upstream_toml(upstream.url)
        process = start_process(tmp_path, toml, variables={"GATEWAY_CREDENTIAL_REDIS": redis.url})
        async with process as gateway:
            site = Site([gateway.url], upstream)
            assert (await site.send("GET", "/v1/models", key))[0] == 503
            await redis.start()
            key, _ = await asyncio.to_thread(RedisKeys(redis.url, tmp_path).create, KeyRequest("test", SCOPES))
            await eventually(lambda: holds(site.statuses(1, "GET", "/v1/models", key), {200}), 20)
            await until(lambda: not gateway.events("unexpected"), 1)
