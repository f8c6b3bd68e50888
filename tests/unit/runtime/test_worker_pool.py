"""A pool of real workers, supervised from this process: they are started, relieved, replaced and stopped."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from gateway.access.keys import KeyFile, KeyRequest
from gateway.config.environment import Environment, read_environment, worker_environment
from gateway.config.loader import LoadedTls, load_config
from gateway.embedded.servers import EmbeddedServers
from gateway.runtime.fork_server import ForkServer
from gateway.runtime.service import ServiceContext, Sockets
from gateway.runtime.workers import WatchdogSettings, WorkerPool, WorkersFailed, cpu_wait_s
from gateway.web.listen_socket import bind
from tests.support.logged import collect_events
from tests.support.waiting import until

pytestmark = pytest.mark.slow


class PoolSetup:
    """A worker pool in this process, with shorter limits than in production."""

    def __init__(self, folder: Path, toml: str = "") -> None:
        self.folder = folder
        self.file = folder / "gateway.toml"
        self.sockets = Sockets(bind("127.0.0.1", 0), bind("127.0.0.1", 0))
        self.key = KeyFile(folder / "keys.json").create(KeyRequest("test", ("chat",)))[0]
        self.environment = read_environment()

    def config(self, toml: str = "", workers: int = 2):  # type: ignore[no-untyped-def]
        off = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
        self.file.write_text(f"[server]\nworkers = {workers}\n" + toml + off)
        return load_config(self.file, self.folder, Environment({}))

    @asynccontextmanager
    async def pool(self, watchdog: WatchdogSettings, toml: str = "", workers: int = 2) -> AsyncIterator[WorkerPool]:
        config = self.config(toml, workers)
        pool = WorkerPool(config, ServiceContext(self.sockets, EmbeddedServers(config), self.environment), watchdog)
        await pool.start()
        try:
            yield pool
        finally:
            await pool.finish(replaced=False)
        assert pool.pids() == []

    async def ask(self) -> int:
        url = "http://{}:{}/v1/models".format(*self.sockets.product.getsockname())
        headers = {"Authorization": f"Bearer {self.key}"}
        timeout = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session, session.get(url) as reply:
            return reply.status


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[PoolSetup]:
    one = PoolSetup(tmp_path)
    yield one
    one.sockets.close()


async def test_a_worker_whose_loop_is_stuck_is_killed_and_replaced(setup: PoolSetup) -> None:
    async with setup.pool(WatchdogSettings(start_s=30, check_s=0.1), "stuck_s = 3\n") as pool:
        victim, other = sorted(pool.pids())
        os.kill(victim, signal.SIGSTOP)
        await until(lambda: victim not in pool.pids() and len(pool.pids()) == 2, 15)
        assert other in pool.pids()
        assert await setup.ask() == 200
        assert pool.is_fresh()


async def test_a_worker_that_keeps_dying_is_started_with_growing_pauses(setup: PoolSetup) -> None:
    logged = collect_events()
    async with setup.pool(WatchdogSettings()) as pool:
        process = pool._group.workers[0]
        for count in range(1, 6):
            await until(lambda: process.pid is not None, 10)
            process.kill()
            await until(lambda count=count: len(logged("worker_ended")) == count, 10)  # type: ignore[misc]
        assert [each["pause_s"] for each in logged("worker_ended")] == [0.0, 0.0, 0.0, 0.0, 0.5]


async def test_workers_that_cannot_serve_are_an_error_and_the_running_ones_survive_it(setup: PoolSetup) -> None:
    good = setup.config()
    config = replace(good, server=replace(good.server, tls=LoadedTls("a.pem", "a.key", b"no certificate", b"")))
    async with setup.pool(WatchdogSettings(start_s=30)) as pool:
        pids = pool.pids()
        with pytest.raises(WorkersFailed):
            await pool.replace(config)
        assert pool.pids() == pids
        assert await setup.ask() == 200


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "is killed"])
async def test_a_lone_worker_that_stops_has_a_spare_till_it_goes_on_or_ends(setup: PoolSetup, goes_on: bool) -> None:
    logged = collect_events()
    async with setup.pool(WatchdogSettings(), "stuck_s = 3\n", workers=1) as pool:
        (stuck,) = pool.pids()
        os.kill(stuck, signal.SIGSTOP)
        await until(lambda: bool(logged("worker_relieved")), 5)
        async with asyncio.timeout(2.5):
            assert await setup.ask() == 200
        assert pool.pids() == [stuck] and not logged("worker_silent")
        if goes_on:
            os.kill(stuck, signal.SIGCONT)
            await until(lambda: bool(logged("worker_returned")), 5)
            assert pool.pids() == [stuck]
        else:
            await until(lambda: stuck not in pool.pids() and len(pool.pids()) == 1, 15)
            assert logged("worker_ended")[0]["pause_s"] == 0
        assert await setup.ask() == 200
        assert len(logged("worker_relieved")) == 1


@pytest.mark.parametrize("how", ["dies", "has died", "hangs"])
async def test_a_failed_fork_server_is_replaced_and_its_workers_go_on(tmp_path: Path, how: str) -> None:
    server = ForkServer(worker_environment(read_environment(), tmp_path))
    first, before = await server.start_worker(), server._pid
    os.kill(before, signal.SIGSTOP if how == "hangs" else signal.SIGKILL)
    if how == "has died":
        os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - the loop shall not see it first
    with pytest.raises(OSError, match=r"fork server (has ended|does not answer)"):
        await server.start_worker()
    second = await server.start_worker()
    assert server._pid not in (0, before)
    assert not is_gone(first.pid)
    first.channel.close()  # now its supervisor has ended: it ends too
    assert await first.wait() is None  # and nobody can tell how
    third, of_server = await server.start_worker(), server._pid
    second.send_signal(signal.SIGTERM)
    third.channel.close()
    assert [await second.wait(), await third.wait()] == [-signal.SIGTERM, 0]
    second.send_signal(signal.SIGKILL)  # does nothing
    second.channel.close()
    await server.close()
    await server.close()
    assert is_gone(of_server)


def is_gone(pid: int) -> bool:
    """Whether there is no such process, not even one that waits to be reaped."""
    return not Path(f"/proc/{pid}").exists()


async def test_an_application_that_cannot_be_imported_is_an_error_at_once(tmp_path: Path) -> None:
    variables = {**worker_environment(read_environment(), tmp_path), "PYTHONPATH": str(tmp_path)}
    (tmp_path / "uvloop.py").write_text("raise SystemExit(3)\n")
    server = ForkServer(variables)
    with pytest.raises(OSError, match="has ended"):
        await server.start_worker()
    await server.close()


def test_time_in_which_no_processor_was_free_is_known_for_a_process_and_0_for_one_that_is_gone() -> None:
    assert cpu_wait_s(os.getpid()) >= 0
    assert cpu_wait_s(2**30) == 0
