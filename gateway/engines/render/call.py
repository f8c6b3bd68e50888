"""One call in the render process: a connection of the gateway, and the pages it asks for, one after the other.

A page waits for its turn among all calls, dealt out by key. The tab of a call is kept from page to page and ends with
the connection; a page that was lost takes its tab with it. So does one that does not rest, once its text is on the way:
closing it may take the browser seconds, in which the turn is held and the call's next page waits.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.render import frames
from gateway.engines.render.browser import Browser, BrowserGone, CommandFailed, NoBrowser
from gateway.engines.render.frames import PICTURES, BadFrame, Picture, Reason
from gateway.engines.render.tab import WINDOWS, PageLost, PausedRequest, Shown, Tab
from gateway.resilience.fair_queue import FairQueue, QueueFull

_PAGES_PER_BROWSER = 500  # after so many pages the browser is replaced as soon as none is open


class BrowserShare:
    """`program` as for `Browser.start`. `close` ends the browser."""

    def __init__(self, program: str, memory_max: int) -> None:
        self._program = program
        self._memory_max = memory_max
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._started_at = 0.0
        self._restarts = RestartPolicy()
        self._tabs: dict[str, Tab] = {}
        self._pages = 0

    async def open_tab(self, ask: Callable[[PausedRequest], None], url: str) -> Tab:
        """A tab in a context of its own, whose first page is `url`; give it back with `close_tab`. Raises NoBrowser,
        BrowserGone, CommandFailed."""
        browser = await self._running()
        tab = Tab(browser.connection, ask, draws_on_demand=browser.draws_on_demand)
        try:
            self._tabs[await tab.make_context()] = tab
            await tab.open(url)
        except BaseException:
            await self.close_tab(tab)
            raise
        self._pages += 1
        return tab

    async def close_tab(self, tab: Tab) -> None:
        """Ends the tab and its context. Never raises."""
        self._tabs.pop(tab.context, None)
        await tab.close()
        if self._pages >= _PAGES_PER_BROWSER and not self._tabs:
            await self.close()

    async def close(self) -> None:
        """Ends the browser."""
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.close()

    async def _running(self) -> Browser:
        async with self._starting:
            if self._browser is not None and self._browser.has_ended.is_set():
                self._restarts.record_death(time.monotonic() - self._started_at)
                await self.close()
            if self._browser is None:
                await asyncio.sleep(self._restarts.wait_s)
                self._started_at, self._pages = time.monotonic(), 0
                try:
                    self._browser = await Browser.start(self._program, self._memory_max)
                except NoBrowser:
                    self._restarts.record_death(0.0)
                    raise
                connection = self._browser.connection
                connection.listen("", self._on)
                connection.send("Target.setDiscoverTargets", {"discover": True})
                connection.send("Target.setAutoAttach", WINDOWS)
            return self._browser

    def _on(self, method: str, parameters: Json) -> None:
        """What the browser tells of windows. The first of a context is its tab; those that pages open are closed while
        they still wait for leave to begin. Dead pages are lost."""
        target, session = parameters.get("targetInfo"), parameters.get("sessionId")
        if method == "Target.attachedToTarget" and isinstance(target, dict) and isinstance(session, str):
            number, tab = target.get("targetId"), self._tabs.get(str(target.get("browserContextId")))
            if tab is None or self._browser is None or not isinstance(number, str):
                return
            if tab.awaits_window:
                tab.attach(number, session)
            else:
                self._browser.connection.send("Target.closeTarget", {"targetId": number})
        elif method == "Target.targetCrashed":
            for tab in list(self._tabs.values()):
                if tab.is_target(parameters.get("targetId")):
                    tab.lose("crashed")


MAX_ASKED = 500  # requests of one page that reach the gateway; further ones are refused here
_NEXT_S = 0.5  # how long a page may stay after it was read
MAX_SECONDS = 60.0
"""Longest time a page may be given, whatever the gateway says: as the schema of `render.page_timeout_s`."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A page to render: the `open` frame."""

    url: str
    owner: str
    seconds: float
    picture: Picture


def read_wish(head: Json) -> Wish:
    """Raises BadFrame."""
    url, owner, seconds = head.get("url"), head.get("owner"), head.get("seconds")
    if not isinstance(url, str) or not isinstance(owner, str) or not isinstance(seconds, int | float):
        raise BadFrame
    picture = head.get("picture")
    if picture not in PICTURES:
        raise BadFrame
    return Wish(url, owner, min(float(seconds), MAX_SECONDS), picture)


class RenderCall:
    """Serves one connection: `run` until its end. `turns` and `share` belong to all calls."""

    def __init__(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, share: BrowserShare) -> None:
        self._source = source
        self._sink = sink
        self._share = share
        self._tab: Tab | None = None
        self._open: dict[int, tuple[Tab, PausedRequest]] = {}
        self._asked = 0
        self._last_id = 0
        self._is_showing = False
        self._is_answered = True
        self._leaving: asyncio.TimerHandle | None = None

    async def run(self, turns: FairQueue) -> None:
        """Raises nothing: an end of the connection, or a frame that is none, ends the call."""
        page: asyncio.Task[None] | None = None
        try:
            while True:
                head, body = await frames.read(self._source)
                if head.get("op") == "open":
                    if not self._is_answered:
                        raise BadFrame
                    self._is_answered = False
                    page = asyncio.get_running_loop().create_task(self._page(read_wish(head), turns, page))
                else:
                    self._end_request(head, body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            if page is not None:
                if not self._is_answered:  # else its tab is being closed, in its turn
                    page.cancel()
                await asyncio.gather(page, return_exceptions=True)
            await self._drop_tab()
            self._sink.close()

    async def _page(self, wish: Wish, turns: FairQueue, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before  # its answer is there, its tab may be closing
        try:
            await turns.acquire(wish.owner)
        except QueueFull:
            self._is_answered = True
            await self._write({"event": "failed", "reason": "busy"})
            return
        try:
            reason: Reason
            try:
                shown = await self._render(wish)
            except PageLost as error:
                reason = error.reason
            except NoBrowser:
                reason = "unavailable"
            except CommandFailed:
                reason = "no_window"
            except BrowserGone:
                reason = "crashed"
            else:
                await self._write_shown(shown)
                if self._tab is not None and self._tab.is_restless:
                    await self._drop_tab()
                return
            await self._drop_tab()
            self._is_answered = True
            await self._write({"event": "failed", "reason": reason})
        finally:
            turns.release(wish.owner)

    async def _render(self, wish: Wish) -> Shown:
        self._asked = 0
        self._open.clear()
        if self._tab is None:
            self._tab = await self._share.open_tab(self._ask, wish.url)
        await self._write({"event": "started"})
        if self._leaving is not None:
            self._leaving.cancel()
        self._is_showing = True
        try:
            shown = await self._tab.show(wish.url, wish.seconds, wish.picture)
        finally:
            self._is_showing = False
        if not self._tab.is_restless:
            self._leaving = asyncio.get_running_loop().call_later(_NEXT_S, self._leave)
        return shown

    def _leave(self) -> None:
        """No page follows at once: the last one is left, so that its scripts end."""
        if self._tab is not None:
            self._tab.leave()

    async def _drop_tab(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        tab, self._tab = self._tab, None
        if tab is not None:
            await self._share.close_tab(tab)

    def _ask(self, request: PausedRequest) -> None:
        """Passes a request of the page on to the gateway."""
        tab = self._tab
        if tab is None:
            return
        self._asked += 1
        is_useless = request.is_service_worker or not self._is_showing
        if request.body is None or is_useless or self._asked > MAX_ASKED:
            tab.refuse(request)
            return
        self._last_id += 1
        self._open[self._last_id] = tab, request
        with contextlib.suppress(ConnectionError):
            self._sink.write(frames.pack({"event": "request", "id": self._last_id, **request.head}, request.body))

    def _end_request(self, head: Json, body: bytes) -> None:
        tab, request = self._open.pop(head.get("id", 0), (None, None))
        if tab is None or request is None or tab is not self._tab:
            return
        if head.get("op") == "answer":
            headers = [{"name": str(name), "value": str(value)} for name, value in head.get("headers", [])]
            tab.answer(request, int(head.get("status", 200)), headers, body)
        else:
            tab.refuse(request)

    async def _write_shown(self, shown: Shown) -> None:
        if shown.picture:
            await self._write({"event": "picture"}, shown.picture)
        self._is_answered = True
        await self._write({"event": "page", "url": shown.url[:4_000], "no_picture": shown.no_picture}, shown.html)

    async def _write(self, head: Json, body: bytes = b"") -> None:
        with contextlib.suppress(ConnectionError):
            self._sink.write(frames.pack(head, body))
            await self._sink.drain()
