"""What callers see while the machine under a real `gateway serve` misbehaves: `unshare -m python -m bench.adversity`.

The state directory is a small tmpfs in this process's mount namespace: it is filled, made read-only, and freed. The
gateway's wall clock steps by hours, by a preloaded library that adds an offset (needs `cc`). The processes that read
pages are killed every 50 ms. Prints for each state how many calls of each kind were answered as they should be, what
the others said, the slowest call, and error lines of the log.
"""

import asyncio
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from bench.fairness import chat, tool
from bench.served import wait_for
from gateway.embedded.child_server import free_port
from tests.support.gateway_process import GatewayProcess, descendants

_ROUNDS = 20
_DISK_BYTES = 60_000_000
_SHIM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long *offset;
__attribute__((constructor)) static void open_offset(void) {
    int file = open(getenv("WALL_OFFSET"), O_RDONLY);
    if (file >= 0) offset = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
}
int clock_gettime(clockid_t id, struct timespec *at) {
    int said = syscall(SYS_clock_gettime, id, at);
    if (id == CLOCK_REALTIME && offset) at->tv_sec += *offset;
    return said;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec; at->tv_usec = now.tv_nsec / 1000; return 0;
}
time_t time(time_t *at) {
    struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec; return now.tv_sec;
}
"""


class Calls:
    """A caller of every kind of call that keeps something or starts something."""

    def __init__(self, gateway: GatewayProcess, site: str) -> None:
        self._gateway, self._site, self._count = gateway, site, 0

    async def run(self, name: str, meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """_ROUNDS of each kind, one after the other; prints what came of them."""
        seen, slowest_s, logged = Counter[str](), 0.0, len(self._gateway.output())
        aside = asyncio.create_task(meanwhile()) if meanwhile else None
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(self._gateway.url, headers=self._gateway.headers, timeout=timeout) as session:
            for _ in range(_ROUNDS):
                self._count += 1
                for kind in ("chat", "responses", "extract", "search", "models"):
                    began = time.monotonic()
                    seen[f"{kind} {await self._one(session, kind)}"] += 1
                    slowest_s = max(slowest_s, time.monotonic() - began)
        if aside is not None:
            aside.cancel()
        lines = [json.loads(line) for line in self._gateway.output()[logged:].splitlines() if line.startswith("{")]
        errors = Counter(line["event"] for line in lines if line.get("level") in ("error", "critical"))
        ready = (await self._gateway.get("/readyz", ops=True))[0]
        print(f"{name}: {dict(seen)}, slowest {slowest_s:.2f} s, ready {ready}, errors {dict(errors)}", flush=True)
        assert "Traceback" not in self._gateway.output()[logged:], self._gateway.output()[logged:][-3_000:]

    async def _one(self, session: aiohttp.ClientSession, kind: str) -> str:
        """ "ok", or what is wrong."""
        path, body = {
            "chat": chat("hi"),
            "responses": ("/v1/responses", {"model": "Bench", "input": "hi"}),
            "extract": tool("extract", urls=[f"{self._site}/small?{self._count}"]),
            "search": tool("search", query="paragraph of words"),
            "models": ("/v1/models", {}),
        }[kind]
        try:
            async with session.request("POST" if body else "GET", path, json=body or None) as answer:
                said = await answer.json()
                if kind == "responses" and answer.status == 200:
                    async with session.get(f"/v1/responses/{said['id']}") as kept:
                        return "ok" if kept.status == 200 else f"not kept ({kept.status})"
                if "error" in said:
                    return f"{answer.status} {said}"[:300]
                if answer.status == 200 and kind in ("extract", "search"):
                    text = said["result"]["content"][0]["text"]
                    return "ok" if json.loads(text)["success"] else text[:200]
                return "ok"
        except (aiohttp.ClientError, TimeoutError) as error:
            return repr(error)[:100]


async def _states(gateway: GatewayProcess, site: str, offset: mmap.mmap) -> None:
    calls, state = Calls(gateway, site), gateway.state_dir
    await calls.run("as usual")
    filler = state / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4_096)
    await calls.run("full disk")
    print(f"  a key: {_key_said(gateway)}")
    filler.unlink()
    await calls.run("room again")
    print(f"  a key: {_key_said(gateway)}")
    _mount("--bind", str(state), str(state))
    _mount("-o", "remount,bind,ro", str(state))
    await calls.run("read-only state")
    print(f"  a key: {_key_said(gateway)}")
    _unmount(state)
    await calls.run("writable again")
    for hours in (6, -6, 24 * 400, -24 * 400, 0):
        offset[:8] = struct.pack("q", hours * 3600)
        await calls.run(f"clock {hours:+} h")
    await calls.run("parse processes killed every 50 ms", lambda: _kill(gateway))
    await calls.run("as usual again")


def _key_said(gateway: GatewayProcess) -> str:
    made = gateway.command("keys", "create", "--name", f"k{time.monotonic_ns()}", "--scope", "chat")
    assert "Traceback" not in made.stderr, made.stderr
    return f"exit {made.returncode}: {made.stderr.strip()[-200:] or 'made'}"


def _mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _readers(pid: int) -> list[int]:
    """The processes below one that read pages."""
    found = []
    for each in descendants(pid):
        with suppress(OSError):
            if b"parse_worker" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.append(each)
    return found


async def _kill(gateway: GatewayProcess) -> None:
    """Kill the processes that read pages, again and again."""
    count = 0
    try:
        while True:
            for pid in _readers(gateway.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    count += 1
            await asyncio.sleep(0.05)
    finally:
        print(f"  {count} processes killed", flush=True)


def main() -> None:
    """Run all states."""
    with tempfile.TemporaryDirectory() as place:
        folder, behind = Path(place), free_port()
        (folder / "shim.c").write_text(_SHIM)
        shim = str(folder / "shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, str(folder / "shim.c")], check=True)
        (folder / "offset").write_bytes(bytes(8))
        gateway = GatewayProcess(folder, free_port())
        gateway.state_dir.mkdir()
        _mount("-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(gateway.state_dir))
        site = f"127.0.0.1:{behind}"
        model = f'[[models]]\nname = "Bench"\n[[models.upstreams]]\nbase_url = "http://{site}/v1"\nmodel = "m"\n'
        gateway.write_config(f'[web]\nallow_private = ["{site}"]\n{model}')
        gateway.variables = {"LD_PRELOAD": shim, "WALL_OFFSET": str(folder / "offset")}
        servers = subprocess.Popen([sys.executable, "-m", "bench.fairness", "--behind", str(behind)])
        try:
            wait_for(behind, servers)
            with (folder / "offset").open("r+b") as file, gateway:
                asyncio.run(_states(gateway, f"http://{site}", mmap.mmap(file.fileno(), 8)))
        finally:
            servers.terminate()
            servers.wait(30)
            _unmount(gateway.state_dir)


if __name__ == "__main__":
    main()
