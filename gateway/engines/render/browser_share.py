"""The one browser of the render process, shared by all calls: started at the first page, replaced when it ends."""

import asyncio
import time
from collections.abc import Callable

from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.render.browser import Browser, NoBrowser
from gateway.engines.render.paused import PausedRequest
from gateway.engines.render.tab import WINDOWS, Tab

_PAGES_PER_BROWSER = 500
"""After so many pages the browser is replaced as soon as none is open. Chosen: it returns what pages leave behind; at
half, twice the starts (1.5 s each), at double twice the growth."""


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
