"""A load of fixed requests over kept-alive connections, from raw sockets; and a process's CPU time from the kernel."""

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path


def process_tree(pid: int) -> list[int]:
    """A process and all that it and its children started and that still run. A child may end while it is looked at."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process's threads and of its children that still run, in seconds.

    From the scheduler's clock in nanoseconds: the kernel's other figure has ticks of 10 ms.
    """
    tasks = (task for each in process_tree(pid) for task in Path(f"/proc/{each}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def pss_mib(pid: int) -> float:
    """Proportional set size of one process."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    requests: int
    wall_s: float
    p50_ms: float
    p99_ms: float


def request_bytes(path: str, key: str, body: bytes, headers: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        f"{headers}Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def run_load(
    port: int, request: bytes, total: int, connections: int, *, awake: bool = False, kept: list[bytes] | None = None
) -> Outcome:
    """Send `total` equal requests; raises RuntimeError at the first answer that is not 200. `kept` takes their bodies.

    `awake`: the load never sleeps while it waits. A server that writes to a sleeping process pays for waking it, about
    10 µs on a virtual machine, and how often the load sleeps depends on whose turns happen to fall together. Only for
    a load that has its core to itself: beside an upstream on the same core it would take that one's time.
    """
    latencies: list[float] = []
    share = total // connections
    spinning = asyncio.ensure_future(_spin()) if awake else None
    started = time.perf_counter()
    try:
        await asyncio.gather(*(_one(port, request, share, latencies, kept) for _ in range(connections)))
    finally:
        if spinning is not None:
            spinning.cancel()
    wall_s = time.perf_counter() - started
    latencies.sort()
    count = len(latencies)
    return Outcome(count, wall_s, latencies[count // 2] * 1000, latencies[min(count - 1, count * 99 // 100)] * 1000)


async def first_pieces(port: int, request: bytes, total: int, connections: int) -> list[float]:
    """Seconds from each of `total` equal requests to the first event of its stream, `connections` at once."""
    waited: list[float] = []

    async def one(count: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        try:
            for _ in range(count):
                started = time.perf_counter()
                writer.write(request)
                await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
                await reader.readuntil(b"data: ")
                waited.append(time.perf_counter() - started)
                await reader.readuntil(b"\r\n0\r\n\r\n")
        finally:
            writer.close()

    await asyncio.gather(*(one(total // connections) for _ in range(connections)))
    return waited


async def _spin() -> None:
    while True:  # noqa: ASYNC110 (nothing is waited for)
        await asyncio.sleep(0)


async def _one(port: int, request: bytes, count: int, latencies: list[float], kept: list[bytes] | None) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        for _ in range(count):
            started = time.perf_counter()
            writer.write(request)
            body = await _read_answer(reader)
            latencies.append(time.perf_counter() - started)
            if kept is not None:
                kept.append(body)
    finally:
        writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(head.decode(errors="replace")[:400])
    lowered = head.lower()
    marker = lowered.find(b"content-length:")
    if marker >= 0:
        return await reader.readexactly(int(lowered[marker + 15 :].split(b"\r\n", 1)[0]))
    body = b""
    while True:
        size = int(await reader.readline(), 16)
        body += (await reader.readexactly(size + 2))[:-2]
        if size == 0:
            return body
