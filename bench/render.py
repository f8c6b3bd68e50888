"""What rendering costs and finds: CPU of a page beside a tab that is used again and again, and text made by scripts.

`python -m bench.render [--pages N] [--rounds N] [--chromium PROGRAM]`. CPU: the browser's processes and their driver.
Rounds of the yardsticks and of ours follow each other, as other work on the machine makes CPU dear for a while. Both
yardsticks have one tab and one context, navigate and answer the requests. "plain" is the trial's: a browser with no
flag but `--headless --remote-debugging-pipe`, whose page is read when it has been quiet for a moment, long enough to
have the text. "bare" is the least that a driver can do: our own flags, and `outerHTML` at `load`, without what timers
draw later. Ours gives a call a context of its own, waits until the page rests, and leaves it. Recall is the share of
words that only scripts put into the pages, of which none was used to set a threshold. Needs Chromium.
"""

import argparse
import asyncio
import base64
import concurrent.futures.thread  # noqa: F401 - imported late by asyncio, when `nobody` may not read it
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from gateway.domain import Json
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetched, Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.render import namespaces
from gateway.engines.render.browser import Browser
from gateway.engines.render.renderer import ProcessSettings, Reach, RenderDeps, Renderer, RenderProcess, RenderSession

_URL = "http://93.184.216.34/"
_PLAIN = ("--headless", "--remote-debugging-pipe")
_YARDSTICKS = ("plain", "bare")
_QUIET_S = 1.0
"""Longer than the pages wait before they draw (0.8 s)."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def page_of(number: int) -> tuple[str, set[str]]:
    """A page whose words are made by a script, in one of five ways, and these words."""
    words = {f"word{number}x{at}" for at in range(200)}
    listed = json.dumps(sorted(words))
    draw = [
        "draw()",
        "setTimeout(draw, 800)",
        "addEventListener('load', () => requestAnimationFrame(draw))",
        "Promise.resolve().then(() => setTimeout(draw, 50))",
        "new MutationObserver(draw).observe(root, {attributes: true}); root.setAttribute('data-x', '1')",
    ][number % 5]
    code = (
        f"const words = {listed}, root = document.getElementById('root'); let done = false;"
        "function draw() { if (done) return; done = true; for (const w of words) {"
        "const p = document.createElement('p'); p.textContent = w.slice(0, 4) + w.slice(4); root.append(p) } }"
    )
    return f"<!doctype html><html><body><div id=root></div><script>{code}{draw}</script></body></html>", words


def cpu_s(group: int, *others: int) -> float:
    """CPU seconds of a process group and of single processes, their ended children included."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group or int(folder.name) in others:
                total += sum(int(field) for field in fields[11:15])
    return total * _TICK_S


def browser_of(parent: int) -> int:
    """The browser that a render process started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"PPid:\t{parent}\n" in (folder / "status").read_text():
                return int(folder.name)
    raise RuntimeError("the render process has no browser")


async def reused_tab(pages: int, chromium: str, yardstick: str) -> list[float]:
    """CPU seconds of each page in one tab; the first ones, which warm the browser up, left out."""
    browser = await Browser.start(chromium, 1 << 30, _PLAIN if yardstick == "plain" else None)
    call, listen = browser.connection.call, browser.connection.listen
    target = (await call("Target.createTarget", {"url": "about:blank"}))["targetId"]
    session = (await call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
    loaded, current = asyncio.Event(), [b""]

    def on(method: str, parameters: Json) -> None:
        if method == "Fetch.requestPaused":
            headers = [{"name": "Content-Type", "value": "text/html"}]
            body = base64.b64encode(current[0]).decode()
            answer = {
                "requestId": parameters["requestId"],
                "responseCode": 200,
                "responseHeaders": headers,
                "body": body,
            }
            browser.connection.send("Fetch.fulfillRequest", answer, session)
        elif method == "Page.loadEventFired":
            loaded.set()

    listen(session, on)
    await call("Page.enable", {}, session)
    await call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, session)
    costs = []
    for number in range(pages + 2):
        loaded.clear()
        current[0] = page_of(number)[0].encode()
        before = cpu_s(browser.pid, os.getpid())
        await call("Page.navigate", {"url": _URL}, session)
        await loaded.wait()
        if yardstick == "plain":
            await asyncio.sleep(_QUIET_S)
        await call(
            "Runtime.evaluate", {"expression": "document.documentElement.outerHTML", "returnByValue": True}, session
        )
        costs.append(cpu_s(browser.pid, os.getpid()) - before)
    await browser.close()
    return costs[2:]


async def ours(pages: int, chromium: str) -> tuple[list[float], list[float], float]:
    """CPU seconds of first pages of calls and of later ones, and the recall of all."""
    with tempfile.TemporaryDirectory() as folder:
        fetcher = Fetcher(AddressPolicy(), "bench")
        process = RenderProcess(ProcessSettings(None, Path(folder) / "render.sock", chromium))
        reach = Reach(fetcher, None)
        renderer = Renderer(RenderDeps(process, reach, reach, HostSlots(6), 8), "always")
        session = renderer.session("warm")
        await one(session, 0)
        await session.close()
        driver = process.pid or 0
        browser = browser_of(driver)
        first: list[float] = []
        later: list[float] = []
        found: list[float] = []
        for number in range(0, pages, 5):
            session = renderer.session(f"key{number}")
            for at in range(number, number + 5):
                before = cpu_s(browser, driver)
                found.append(await one(session, at))
                (first if at == number else later).append(cpu_s(browser, driver) - before)
            await session.close()
        await process.close()
        await fetcher.close()
    return first, later, statistics.mean(found)


async def one(session: RenderSession, number: int) -> float:
    """The share of a page's words that its rendering has."""
    html, words = page_of(number)
    document = Fetched(_URL, 200, "text/html; charset=utf-8", html.encode(), MappingProxyType({}))
    rendered = (await session.render(document)).html.decode()
    shown = set(re.findall(r"\w+", rendered.partition("<script")[0]))
    return len(words & shown) / len(words)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=40, help="a multiple of five")
    parser.add_argument("--chromium", default="", help="as render.chromium")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--yardstick", choices=_YARDSTICKS, help="only that: prints a JSON list")
    arguments = parser.parse_args(words)
    if arguments.yardstick:
        namespaces.leave_network()
        namespaces.become_nobody()
        costs = asyncio.run(reused_tab(arguments.pages, arguments.chromium, arguments.yardstick))
        sys.stdout.write(json.dumps(costs))
        return
    pages = max(5, arguments.pages // arguments.rounds // 5 * 5)
    costs_of: dict[str, list[float]] = {name: [] for name in (*_YARDSTICKS, "first page of a call", "later pages")}
    recalls = []
    for _ in range(arguments.rounds):
        for name in _YARDSTICKS:
            costs_of[name] += yardstick_costs(pages, arguments.chromium, name)
        first, later, recall = asyncio.run(ours(pages, arguments.chromium))
        costs_of["first page of a call"] += first
        costs_of["later pages"] += later
        recalls.append(recall)
    plain, bare = (statistics.mean(costs_of[name]) for name in _YARDSTICKS)
    for name, costs in costs_of.items():
        cost = statistics.mean(costs)
        sys.stdout.write(
            f"{name:22} {cost * 1000:6.0f} ms CPU a page; of plain {cost / plain:.2f}, bare {cost / bare:.2f}\n"
        )
    sys.stdout.write(f"recall of words made by scripts {statistics.mean(recalls):.3f}\n")


def yardstick_costs(pages: int, chromium: str, name: str) -> list[float]:
    """CPU seconds of pages in a reused tab, measured in a process of its own without a network."""
    command = [sys.executable, "-m", "bench.render", "--yardstick", name, "--pages", str(pages), "--chromium", chromium]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    return [float(cost) for cost in json.loads(done.stdout)]


if __name__ == "__main__":
    main()
