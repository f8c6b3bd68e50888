"""Embedded servers as child processes: readiness, death, silence, a stop that leaves nothing behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from gateway.embedded.child_server import ChildCommand, ChildServer, ProbeSettings, free_port
from gateway.errors import UpstreamUnavailable
from tests.support.logged import Logged, collect_events
from tests.support.waiting import until

QUICK = ProbeSettings(start_interval_s=0.02, interval_s=0.05, timeout_s=0.2, max_failures=3)

SERVER = """
import http.server, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *parts):
        pass
if "--with-grandchild" in sys.argv:
    child = subprocess.Popen(["sleep", "600"])
    open(sys.argv[2], "w").write(str(child.pid))
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

ORPHANED = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""

BOUND_TO_PARENT = """
import time
from gateway.embedded.llm_server import die_with_parent
die_with_parent()
print("bound", flush=True)
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


@pytest.fixture
def events() -> Logged:
    return collect_events()


Made = Callable[..., ChildServer]


@pytest.fixture
async def make() -> AsyncIterator[Made]:
    made: list[ChildServer] = []

    def child(*arguments: str, port: int = 0, start_s: float = 20, probes: ProbeSettings = QUICK) -> ChildServer:
        made.append(ChildServer(ChildCommand("test", (sys.executable, *arguments), port, start_s), probes))
        return made[-1]

    yield child
    for each in made:
        await each.close()


async def running(make: Made, program: Path, *options: str) -> tuple[ChildServer, int]:
    port = free_port()
    child = make(str(program), str(port), *options, port=port)
    await child.ensure_ready()
    assert child.pid is not None
    return child, child.pid


@pytest.mark.slow
async def test_a_killed_child_is_replaced_and_ready_again(make: Made, program: Path) -> None:
    child, pid = await running(make, program)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: child.restarts == 1, 5)
    async with asyncio.timeout(5):
        await child.ensure_ready()
    assert child.pid not in (None, pid)


@pytest.mark.slow
async def test_a_child_that_hangs_is_killed_and_replaced(make: Made, program: Path, events: Logged) -> None:
    child, pid = await running(make, program)
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: not is_alive(pid), 3)
    await until(lambda: child.restarts == 1, 2)
    await child.ensure_ready()
    assert child.pid not in (None, pid)
    assert [each["child"] for each in events("child_silent")] == ["test"]


@pytest.mark.slow
async def test_one_missed_probe_does_not_end_a_child(make: Made, program: Path) -> None:
    port = free_port()
    patient = ProbeSettings(start_interval_s=0.02, interval_s=0.05, timeout_s=0.1, max_failures=1000)
    child = make(str(program), str(port), port=port, probes=patient)
    await child.ensure_ready()
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(0.4)  # several probes go unanswered
    os.kill(pid, signal.SIGCONT)
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/health") as answer:
        assert answer.status == 200
    assert (child.pid, child.restarts) == (pid, 0)


@pytest.mark.slow
async def test_what_a_child_had_started_ends_with_it_when_it_is_killed_and_when_it_is_closed(
    make: Made, program: Path, tmp_path: Path
) -> None:
    note = tmp_path / "grandchild"
    child, pid = await running(make, program, str(note), "--with-grandchild")
    grandchild = int(note.read_text())
    assert is_alive(grandchild)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: child.restarts == 1 and not is_alive(grandchild), 5)
    await child.ensure_ready()
    pid, grandchild = child.pid or 0, int(note.read_text())
    assert is_alive(pid) and is_alive(grandchild)
    await child.close()
    await until(lambda: not is_alive(pid) and not is_alive(grandchild), 5)
    assert child.pid is None and not child.is_ready


async def test_a_program_that_does_not_exist_is_tried_again_too(events: Logged) -> None:
    child = ChildServer(ChildCommand("absent", ("/nonexistent/program",), free_port(), 0.2), QUICK)
    with pytest.raises(UpstreamUnavailable):
        await child.ensure_ready()
    await until(lambda: child.restarts >= 2, 5)
    await child.close()
    assert events("child_ended")[0]["exit"] == "No such file or directory"
    assert [each["pause_s"] for each in events("child_ended")[:2]] == [0.2, 0.2]


@pytest.mark.slow
async def test_of_what_a_child_says_only_our_own_lines_reach_the_log(make: Made, events: Logged) -> None:
    talk = (
        "import sys\n"
        "sys.stderr.write('x' * 1_000_000 + '\\nprompt: my secret diary\\n')\n"
        "sys.stderr.write('gateway: no such model file: ' + 'y' * 5000 + '\\n')\n"
        "for n in range(20): sys.stderr.write(f'gateway: line {n}\\n')\n"
        "sys.stderr.write('gateway: the end')\n"
        "raise SystemExit(1)"
    )
    child = make("-c", talk, port=free_port(), start_s=5)
    child.start()
    await until(lambda: child.restarts == 1, 5)
    said = events("child_ended")[0]["said"]
    assert said == "gateway: line 16 | gateway: line 17 | gateway: line 18 | gateway: line 19 | gateway: the end"


@pytest.mark.slow
async def test_a_child_ends_when_its_parent_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ORPHANED, BOUND_TO_PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    async with asyncio.timeout(20):
        pid = int(await parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
        await parent.wait()
    await until(lambda: not is_alive(pid), 5)
