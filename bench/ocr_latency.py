"""How long a cheap request waits while pages are read: `python -m bench.ocr_latency [--seconds S] [--threads N]`.

A real gateway with its real OCR process. A process of its own keeps OCR requests under way, first pages of ordinary
size, then pages of nearly 20 MB (26 MB of base64); this one asks for the gateway's health and its MCP status again and
again. Both are answered by the loop that carries the images, so what they wait beyond an idle gateway is that loop's
latency, and what the operating system takes to give it a core.
"""

import argparse
import asyncio
import base64
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import aiohttp
import orjson

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process
from tests.support.ocr_pages import png, report

PAUSE_S = 0.005
CLIENTS = 2
LARGE_BYTES = 19_500_000
FIRST_PAGE_S = 120.0
STATUS = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "websearch-search_status", "arguments": {}},
}


def ocr_body(image: bytes) -> bytes:
    url = "data:image/png;base64," + base64.b64encode(image).decode()
    content = [
        {"type": "text", "text": "<image>\n<|grounding|>Convert the document to markdown."},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    return orjson.dumps({"model": "SvcOCR", "messages": [{"role": "user", "content": content}]})


def keep_reading(url: str, key: str, file: str, begun: Event, ended: Event) -> None:
    """In a process of its own: CLIENTS requests at a time until told to end."""
    asyncio.run(_keep_reading(url, key, Path(file).read_bytes(), begun, ended))


async def _keep_reading(url: str, key: str, body: bytes, begun: Event, ended: Event) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    timeout = aiohttp.ClientTimeout(total=FIRST_PAGE_S)

    async def client(session: aiohttp.ClientSession) -> None:
        while not ended.is_set():
            async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as answer:
                await answer.read()
                assert answer.status == 200, answer.status
            begun.set()

    async with aiohttp.ClientSession(timeout=timeout) as session:
        await asyncio.gather(*(client(session) for _ in range(CLIENTS)))


@contextmanager
def reading(serving: GatewayProcess, image: bytes) -> Iterator[None]:
    """Pages are read while the block runs; it begins when the first has been."""
    spawn = multiprocessing.get_context("spawn")
    begun, ended = spawn.Event(), spawn.Event()
    with tempfile.NamedTemporaryFile() as file:
        file.write(ocr_body(image))
        file.flush()
        process = spawn.Process(target=keep_reading, args=(serving.url, serving.key, file.name, begun, ended))
        process.start()
        try:
            assert begun.wait(FIRST_PAGE_S), "no page was read"
            yield
        finally:
            ended.set()
            process.join(FIRST_PAGE_S)
            process.kill()
            assert process.exitcode == 0, "an OCR request failed"


async def waits_ms(serving: GatewayProcess, seconds: float) -> dict[str, list[float]]:
    """How long each kind of cheap request took, sorted."""
    headers = {"Authorization": f"Bearer {serving.key}", "Accept": "application/json"}
    waits: dict[str, list[float]] = {"health": [], "status": []}
    async with aiohttp.ClientSession() as session:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for name, url, body in (
                ("health", f"{serving.ops_url}/healthz", None),
                ("status", f"{serving.url}/tools/websearch/mcp", STATUS),
            ):
                started = time.perf_counter()
                async with session.request("POST" if body else "GET", url, json=body, headers=headers) as answer:
                    await answer.read()
                    assert answer.status == 200, answer.status
                waits[name].append((time.perf_counter() - started) * 1000)
                await asyncio.sleep(PAUSE_S)
    return {name: sorted(values) for name, values in waits.items()}


def show(what: str, waits: dict[str, list[float]]) -> None:
    for name, values in waits.items():
        p50, p99 = values[len(values) // 2], values[len(values) * 99 // 100]
        print(f"{what:26} {name:7} n {len(values):5}  p50 {p50:6.2f}  p99 {p99:6.2f}  max {values[-1]:6.2f} ms")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each of the three runs")
    parser.add_argument("--threads", type=int, default=0, help="local_ocr.threads; 0 = the default")
    options = parser.parse_args(argv)
    page = png(report(21).image)
    toml = f"[local_llm]\nenabled = false\n[local_ocr]\nthreads = {options.threads}\n"
    with tempfile.TemporaryDirectory() as folder, start_process(Path(folder), toml, embedded=True) as serving:
        show("no page is read", asyncio.run(waits_ms(serving, options.seconds)))
        with reading(serving, page):
            show(f"pages of {len(page) / 1e6:.1f} MB are read", asyncio.run(waits_ms(serving, options.seconds)))
        # What follows a PNG's end is not looked at: the page stays as easy to read, and as large as may be sent.
        with reading(serving, page + bytes(LARGE_BYTES - len(page))):
            show(f"pages of {LARGE_BYTES / 1e6:.1f} MB", asyncio.run(waits_ms(serving, options.seconds)))


if __name__ == "__main__":
    main()
