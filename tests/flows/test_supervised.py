"""`gateway serve --supervised`, as the installed service runs it: reloads and upgrades are asked for and answered."""

import asyncio
import os
import queue
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.support.connect_proxy import make_certificate
from tests.support.gateway_process import GatewayProcess, run_command
from tests.support.gateways import start_process
from tests.support.ports import free_port
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.slow


@pytest.fixture
def notified(tmp_path: Path) -> Iterator[queue.Queue[str]]:
    """What systemd would hear of the service. As systemd does, it reads at all times: the socket's queue is short."""
    said: queue.Queue[str] = queue.Queue()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))

        def listen() -> None:
            while text := sock.recv(4096).decode():
                said.put(text)

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield said
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
                last.sendto(b"", sock.getsockname())
            listening.join(5)


def supervised(folder: Path, toml: str = "") -> GatewayProcess:
    (folder / "run").mkdir(exist_ok=True)
    variables = {"RUNTIME_DIRECTORY": str(folder / "run"), "NOTIFY_SOCKET": str(folder / "notify")}
    return start_process(folder, toml, options=["--supervised"], variables=variables)


async def command(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(run_command, name, "--runtime-dir", str(folder / "run"))


@asynccontextmanager
async def ended_afterwards(gateway: GatewayProcess) -> AsyncIterator[None]:
    """End the processes that an upgrade has started: they are no children of the test."""
    try:
        yield
    finally:
        for event in gateway.events("upgraded"):
            with suppress(ProcessLookupError):
                os.kill(event["pid"], signal.SIGTERM)
                await until(lambda pid=event["pid"]: not Path(f"/proc/{pid}").exists(), 30)  # type: ignore[misc]


def processes_with(variable: str) -> list[str]:
    """Processes that were started with this environment variable."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


async def heard(notified: queue.Queue[str], word: str) -> str:
    """The next notification that has the word in it."""
    async with asyncio.timeout(60):
        while word not in (text := await asyncio.to_thread(notified.get, timeout=60)):
            pass
        return text


async def test_a_reload_answers_whether_the_file_was_taken(tmp_path: Path) -> None:
    async with supervised(tmp_path) as gateway:
        assert len(gateway.workers()) == 1
        done = await command(tmp_path, "reload")
        assert (done.returncode, done.stdout) == (0, "reloaded\n")
        assert "credentials are those of the last start" in done.stderr
        assert "systemctl restart gateway.service" in done.stderr
        gateway.write_config("max_in_flight = -1\n")
        done = await command(tmp_path, "reload")
        assert done.returncode == 1
        assert "server.max_in_flight" in done.stderr
        assert (await gateway.get("/v1/models"))[0] == 200


async def test_an_upgrade_hands_over_without_a_failed_call(tmp_path: Path, notified: queue.Queue[str]) -> None:
    async with supervised(tmp_path) as gateway, ended_afterwards(gateway):
        done = asyncio.Event()
        results: list[int] = []

        async def ask() -> None:
            while not done.is_set():
                results.append((await gateway.get("/v1/models"))[0])

        clients = [asyncio.create_task(ask()) for _ in range(3)]
        await heard(notified, "READY=1")
        upgraded = await command(tmp_path, "upgrade")
        assert upgraded.returncode == 0, upgraded.stderr
        successor = (await gateway.wait_for_event("upgraded"))["pid"]
        assert await heard(notified, "MAINPID=") == f"MAINPID={successor}"
        assert "serving on" in await heard(notified, "READY=1")
        assert await gateway.wait_exit() == 0
        assert (await gateway.get("/v1/models"))[0] == 200
        assert (await gateway.get("/readyz", ops=True))[0] == 200
        done.set()
        await asyncio.gather(*clients)
        assert set(results) == {200}
        again = await command(tmp_path, "reload")  # the successor answers on the same control socket
        assert again.returncode == 0, again.stderr


async def test_a_moved_operations_listener_is_told_at_a_reload_and_answers_there_after_an_upgrade(
    tmp_path: Path, notified: queue.Queue[str]
) -> None:
    async with supervised(tmp_path) as gateway, ended_afterwards(gateway):
        old_url = gateway.ops_url
        gateway.ops_port = free_port()
        gateway.write_config("")
        new_url, gateway.ops_url = f"http://127.0.0.1:{gateway.ops_port}", old_url
        assert (await command(tmp_path, "reload")).returncode == 0
        assert (await gateway.wait_for_event("reloaded"))["needs_restart"] == ["ops"]
        assert (await gateway.get("/readyz", ops=True))[0] == 200  # where it was
        assert (await command(tmp_path, "upgrade")).returncode == 0
        assert await gateway.wait_exit() == 0
        with pytest.raises(aiohttp.ClientConnectorError):
            await gateway.get("/readyz", ops=True)
        gateway.ops_url = new_url
        assert (await gateway.get("/readyz", ops=True))[0] == 200
        assert (await gateway.get("/v1/models"))[0] == 200


async def test_a_wrong_configuration_leaves_no_process_behind(tmp_path: Path) -> None:
    async with supervised(tmp_path, "max_in_flight = -1\n").begun() as gateway:
        assert await gateway.wait_exit() == 78
        await until(lambda: not processes_with(f"RUNTIME_DIRECTORY={tmp_path}/run"), 20)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
@pytest.mark.parametrize("options", [["--supervised"], []], ids=["in workers", "in one process"])
async def test_a_new_certificate_is_served_after_sighup(tmp_path: Path, options: list[str]) -> None:
    make_certificate(tmp_path)
    async with start_process(tmp_path, tls(tmp_path), options=options) as gateway:
        before = await served_certificate(gateway.port)
        make_certificate(tmp_path)
        gateway.send(signal.SIGHUP)
        await gateway.wait_for_event("reloaded")
        await eventually(lambda: is_new(gateway, before), 20)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
async def test_a_certificate_that_breaks_on_disk_goes_on_being_served_by_new_workers_too(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    async with supervised(tmp_path, tls(tmp_path)) as gateway:
        before, first = await served_certificate(gateway.port), gateway.workers()
        assert "notes" not in (await gateway.get("/readyz", ops=True))[1]
        (tmp_path / "cert.pem").write_text("broken")
        (tmp_path / "key.pem").unlink()
        os.kill(first[0], signal.SIGKILL)
        await until(lambda: bool(gateway.workers()) and gateway.workers() != first, 20)
        assert await served_certificate(gateway.port) == before
        assert "key.pem cannot be used" in (await gateway.wait_for_event("certificate_unusable"))["error"]
        assert "read last is served" in (await gateway.get("/readyz", ops=True))[1]
        assert (await command(tmp_path, "reload")).returncode == 1
        make_certificate(tmp_path)
        assert (await command(tmp_path, "reload")).returncode == 0
        assert "notes" not in (await gateway.get("/readyz", ops=True))[1]
        await eventually(lambda: is_new(gateway, before), 20)


def tls(folder: Path) -> str:
    return f'tls = {{ cert = "{folder}/cert.pem", key = "{folder}/key.pem" }}\n'


async def is_new(gateway: GatewayProcess, before: str) -> bool:
    return await served_certificate(gateway.port) != before


async def served_certificate(port: int) -> str:
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
