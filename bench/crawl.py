"""Crawl throughput and memory on a local site: pages per second, event-loop delay.

`python -m bench.crawl [--pages N] [--site DIR]`. The site, 3,000 pages made here or the HTML files of a folder (such as
a documentation package, unpacked), is served by a process of its own.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.index import text_of
from gateway.config.settings import Web
from gateway.domain import CrawlRequest, WebCall
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.page_loader import PageLoader
from gateway.engines.documents.parse_pool import ParsePool
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.index.store import PageIndex

SITE_PAGES = 3000
TURNS = 3


def _page(number: int) -> str:
    links = "".join(f'<li><a href="/p{(number * 7 + step) % SITE_PAGES}">Page {step}</a></li>' for step in range(1, 30))
    body = "".join(f"<h2>Part {part}</h2><p>{text_of(number * 10 + part, 80)}.</p>" for part in range(6))
    code = "<pre><code class='language-python'>x = 1\nprint(x)</code></pre>"
    return (
        f"<html><head><title>Page {number}</title></head><body><nav><ul>{links}</ul></nav><main><h1>Page {number}</h1>"
        f"{body}{code}<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>{number}</td></tr></table></main></body></html>"
    )


def _serve(pipe: Any, folder: Path | None) -> None:
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        name = request.path.strip("/p") or "0"
        if not name.isdecimal():
            return web.Response(status=404)
        return web.Response(text=_page(int(name)), content_type="text/html")

    async def run() -> None:
        app = web.Application()
        if folder is not None:
            app.router.add_static("/", folder)
        else:
            app.router.add_get("/{rest:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


def _starts(folder: Path | None) -> list[str]:
    """Where each crawl begins: different parts of the made site, the index page of a folder."""
    if folder is None:
        return [f"/p{turn * 977}" for turn in range(TURNS)]
    home = next((name for name in ("index.html", "contents.html") if (folder / name).exists()), "")
    return [f"/{home}"] * TURNS


class LoopWatch:
    """How long the event loop was away: by the clock, and in CPU time of its own thread, which others' load spares."""

    def __init__(self) -> None:
        self.lag_s = 0.0
        self.busy_s = 0.0

    async def run(self) -> None:
        while True:
            before, busy = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.005)
            self.lag_s = max(self.lag_s, time.perf_counter() - before - 0.005)
            self.busy_s = max(self.busy_s, time.thread_time() - busy)


def _resident_mb(pid: int | str = "self") -> float:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    return 0.0


def _parsers_mb() -> float:
    tasks = Path("/proc/self/task").iterdir()
    return sum(_resident_mb(pid) for task in tasks for pid in (task / "children").read_text().split())


async def crawl(port: int, pages: int, starts: list[str]) -> None:
    """Crawls of one site by one engine, one after the other; prints speed, memory and how the loop fared."""
    with tempfile.TemporaryDirectory() as state:
        settings = Web(crawl_budget_s=300, respect_robots=True)
        fetcher = Fetcher(AddressPolicy([f"127.0.0.1:{port}"]), settings.user_agent)
        pool, index = ParsePool(), PageIndex(Path(state) / "index.db")
        loader = PageLoader(fetcher, pool, HostSlots(settings.per_host_concurrency))
        made = LocalWebEngine(EngineDeps(loader, RobotsCache(fetcher, settings.user_agent), index), settings)
        watch = LoopWatch()
        watcher = asyncio.create_task(watch.run())
        speeds, sizes, total = [], [], 0
        for turn, start in enumerate(starts, 1):
            request = CrawlRequest(f"http://127.0.0.1:{port}{start}", max_depth=5, max_breadth=500, limit=pages)
            started, cpu = time.perf_counter(), time.process_time()
            data = await made.crawl(request, WebCall("key1", "bench"))
            spent, got = time.perf_counter() - started, max(len(data["results"]), 1)
            total += got
            speeds.append(got / spent)
            sizes.append(_resident_mb())
            print(
                f"crawl {turn}: {got} pages, {speeds[-1]:.1f} pages/s, own CPU "
                f"{(time.process_time() - cpu) / got * 1000:.2f} ms/page, resident {sizes[-1]:.0f} MB "
                f"and {_parsers_mb():.0f} MB in the parsers"
            )
        watcher.cancel()
        await pool.close()
        await fetcher.close()
        await index.close()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    parser_ms = (children.ru_utime + children.ru_stime) / total * 1000
    print(f"crawl pages_per_s: {min(speeds):.1f} (at least 40), parsers' CPU {parser_ms:.1f} ms/page")
    print(f"crawl loop_lag_max_ms: {watch.lag_s * 1000:.0f} (at most 50), of its own doing {watch.busy_s * 1000:.0f}")
    print(f"crawl memory_growth_mb: {sizes[-1] - sizes[0]:.1f} from the first crawl to the last")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--site", type=Path, help="a folder of HTML files instead of the made site")
    options = parser.parse_args(argv)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, options.site), daemon=True)
    server.start()
    try:
        asyncio.run(crawl(ours.recv(), options.pages, _starts(options.site)))
    finally:
        server.terminate()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
