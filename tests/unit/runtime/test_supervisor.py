"""A supervisor in this process: start, reload, upgrade and end, as systemd, signals and commands see them."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from gateway.access.private_files import dev_key_path
from gateway.cli.main import main
from gateway.config.environment import Environment, handover_environment
from gateway.runtime.prepare import prepare
from gateway.runtime.supervisor import Supervisor, SupervisorSource
from gateway.runtime.worker import SingleProcess
from gateway.web.listen_socket import bind
from tests.support.logged import collect_events
from tests.support.waiting import until

OFF = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n[ops]\nport = 0\n[server]\nport = 0\n"


@pytest.fixture(autouse=True)
def _collections_as_before() -> Iterator[None]:
    """What serves makes collections rare; the tests' process goes on as it was."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


@pytest.fixture
def notified(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.setblocking(False)
        yield sock


class Running:
    """A supervisor as a task. `end` sends a signal and returns the exit code."""

    def __init__(self, folder: Path, variables: dict[str, str], toml: str = "") -> None:
        self.file, self.folder = folder / "gateway.toml", folder
        self.write(toml)
        environment = Environment(
            {"RUNTIME_DIRECTORY": str(folder), "NOTIFY_SOCKET": str(folder / "notify"), **variables}
        )
        reload = partial(prepare, self.file, folder, environment)
        config = reload(is_first=True)
        self.supervisor = Supervisor(config, environment, SupervisorSource(reload, SingleProcess, has_workers=False))
        self.task = asyncio.create_task(self.supervisor.run())

    def write(self, toml: str) -> None:
        self.file.write_text(OFF + toml)

    async def command(self, name: str) -> int:
        return await asyncio.to_thread(main, [name, "--runtime-dir", str(self.folder)])

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        os.kill(os.getpid(), number)
        return await asyncio.wait_for(self.task, 20)


@contextlib.asynccontextmanager
async def running(folder: Path, toml: str = "", **variables: str) -> AsyncIterator[Running]:
    loop = asyncio.get_running_loop()
    one = Running(folder, variables, toml)
    try:
        yield one
    finally:
        if not one.task.done():
            await one.end()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)


@pytest.mark.slow
async def test_a_reload_tells_what_only_a_restart_changes_and_what_has_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logged = collect_events()
    async with running(tmp_path) as gateway:
        await until(lambda: bool(logged("ready")), 10)
        old = "[[models]]\nname = 'm'\n[[models.upstreams]]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\n"
        gateway.write(f"workers = 2\n[log]\nlevel = 'warning'\n{old}tools = 'prompt'\n")
        assert await gateway.command("reload") == 0
        assert "only a restart changes" in (said := capsys.readouterr().out) and "log" in said
        assert logged("setting_without_effect")[0]["setting"] == "models[0].upstreams[0].tools"
        assert {"server.workers", "log"} <= set(logged("reloaded")[0]["needs_restart"])
        assert await gateway.end(signal.SIGINT) == 0
    assert logged("stopped")[0]["replaced"] is False
    assert not (tmp_path / "control").exists()


async def test_two_sockets_of_systemd_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path, LISTEN_FDS="2", LISTEN_PID=str(os.getpid())) as gateway:
        assert await gateway.task == 1
    assert "one is served" in capsys.readouterr().err


SUCCESSOR = """#!{python}
import os, socket
if os.fork(): os._exit(0)
channel = socket.socket(fileno=int(os.environ["GATEWAY_HANDOVER"].split()[0]))
channel.sendall(b"started %d\\n" % os.getpid())
{then}
"""


def program(folder: Path, then: str) -> str:
    """A new release of the program."""
    file = folder / "new-program"
    file.write_text(SUCCESSOR.format(python=sys.executable, then=then))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


@pytest.mark.slow
async def test_an_upgrade_that_fails_changes_nothing_and_one_that_serves_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notified: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    logged = collect_events()
    async with running(tmp_path) as gateway:
        await until(lambda: bool(logged("ready")), 10)
        monkeypatch.setattr(sys, "argv", [program(tmp_path, "os._exit(1)")])
        assert await gateway.command("upgrade") == 1
        assert "ended before it was ready" in capsys.readouterr().err
        assert await answers(logged("ready")[0]["url"], tmp_path) == 200
        monkeypatch.setattr(sys, "argv", [program(tmp_path, 'channel.sendall(b"ready\\n"); channel.recv(9)')])
        assert await gateway.command("upgrade") == 0
        assert "has taken over" in capsys.readouterr().out
        assert await asyncio.wait_for(gateway.task, 20) == 0
    assert f"MAINPID={logged('upgraded')[0]['pid']}".encode() in await heard(notified, b"MAINPID")
    assert logged("stopped")[0]["replaced"] is True


@pytest.mark.slow
@pytest.mark.parametrize("goes", [True, False], ids=["goes", "has given up"])
async def test_a_successor_serves_only_when_its_predecessor_lets_it(tmp_path: Path, goes: bool) -> None:
    logged = collect_events()
    ours, theirs = socket.socketpair()
    with bind("127.0.0.1", 0) as product:
        variables = dict(handover_environment(Environment({}), [theirs.detach(), os.dup(product.fileno())]))
        async with running(tmp_path, **variables) as gateway:
            reader, writer = await asyncio.open_connection(sock=ours)
            assert await reader.readline() == b"started %d\n" % os.getpid()
            assert await asyncio.wait_for(reader.readline(), 10) == b"ready\n"
            assert not logged("ready")
            if goes:
                writer.write(b"go\n")
                await until(lambda: bool(logged("ready")), 10)
                assert await gateway.end() == 0
            writer.close()
            assert await asyncio.wait_for(gateway.task, 20) == 0
    assert bool(logged("upgrade_failed")) != goes


async def answers(url: str, folder: Path) -> int:
    """The status of an authenticated call."""
    headers = {"Authorization": f"Bearer {dev_key_path(folder).read_text().strip()}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{url}/v1/models") as reply:
        return reply.status


async def heard(sock: socket.socket, word: bytes) -> bytes:
    """The next notification that has the word in it."""
    async with asyncio.timeout(10):
        while word not in (text := await asyncio.get_running_loop().sock_recv(sock, 4096)):
            pass
    return text
