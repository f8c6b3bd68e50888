"""Crawl throughput and memory on a local site: pages per second, event-loop delay.

`python -m bench.crawl [--pages N]`. The site is made here and served by a process of its own.
"""

import argparse
import asyncio
import multiprocessing
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from gateway.config import Web
from gateway.engines.addresses import AddressPolicy
from gateway.engines.fetch import Fetcher
from gateway.engines.index import PageIndex
from gateway.engines.load import PageLoader
from gateway.engines.parse_pool import ParsePool
from gateway.engines.politeness import HostSlots
from gateway.engines.robots import RobotsCache
from gateway.engines.web_engine import EngineParts, LocalWebEngine
from gateway.model import CrawlRequest, WebCall

SITE_PAGES = 3000


def _words(number: int, count: int) -> str:
    source = random.Random(number)
    return " ".join(f"w{int(source.paretovariate(0.6)) % 40_000}" for _ in range(count))


def _page(number: int) -> str:
    links = "".join(f'<li><a href="/p{(number * 7 + step) % SITE_PAGES}">Page {step}</a></li>' for step in range(1, 30))
    body = "".join(f"<h2>Part {part}</h2><p>{_words(number * 10 + part, 80)}.</p>" for part in range(6))
    code = "<pre><code class='language-python'>x = 1\nprint(x)</code></pre>"
    return (
        f"<html><head><title>Page {number}</title></head><body><nav><ul>{links}</ul></nav><main><h1>Page {number}</h1>"
        f"{body}{code}<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>{number}</td></tr></table></main></body></html>"
    )


def _serve(pipe: Any) -> None:
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        name = request.path.strip("/p") or "0"
        if not name.isdecimal():
            return web.Response(status=404)
        return web.Response(text=_page(int(name)), content_type="text/html")

    async def run() -> None:
        app = web.Application()
        app.router.add_get("/{rest:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


async def crawl(port: int, pages: int) -> None:
    with tempfile.TemporaryDirectory() as state:
        settings = Web(crawl_budget_s=300, respect_robots=True)
        fetcher = Fetcher(AddressPolicy([f"127.0.0.1:{port}"]), settings.user_agent)
        pool, index = ParsePool(), PageIndex(Path(state) / "index.db")
        loader = PageLoader(fetcher, pool, HostSlots(settings.per_host_concurrency))
        made = LocalWebEngine(EngineParts(loader, RobotsCache(fetcher, settings.user_agent), index), settings)
        worst_s = 0.0

        async def watch() -> None:
            nonlocal worst_s
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.005)
                worst_s = max(worst_s, time.perf_counter() - before - 0.005)

        watcher = asyncio.create_task(watch())
        request = CrawlRequest(f"http://127.0.0.1:{port}/", max_depth=5, max_breadth=500, limit=pages)
        for turn in (1, 2):
            started, cpu = time.perf_counter(), time.process_time()
            data = await made.crawl(request, WebCall("key1", "bench"))
            spent = time.perf_counter() - started
            size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"crawl {turn}: {len(data['results'])} pages, {len(data['results']) / spent:.1f} pages/s, own CPU "
                f"{(time.process_time() - cpu) / max(len(data['results']), 1) * 1000:.2f} ms/page, peak {size:.0f} MB, "
                f"loop held up at most {worst_s * 1000:.0f} ms"
            )
        watcher.cancel()
        await pool.close()
        await fetcher.close()
        await index.close()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    options = parser.parse_args(argv)
    if options.pages:
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
        server.start()
        asyncio.run(crawl(ours.recv(), options.pages))
        server.terminate()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
