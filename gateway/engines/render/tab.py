"""One tab in a browser context of its own: opens a page, passes its requests on, waits until it rests, reads its text.

Theory of operation. The page's clock is virtual: it stands still while a request is open and jumps over every wait, so
a page that fetches after three seconds is read at once, and one with endless timers has used up its time at once.

| state      | invariant                                  | leaves it when                                             |
|------------|--------------------------------------------|------------------------------------------------------------|
| navigating | the clock stands; `_rests` is not set      | the main frame has its document: running                   |
| running    | the clock runs, `_BUDGET_MS` at most       | the budget is used up: resting; it navigates: navigating   |
| resting    | the clock stands, no script of timers runs | the tab scrolls on: running; its text is read: done        |

A page that does not come to rest in its seconds is stopped and read as it is. What the browser says is hostile input:
every field is checked, and what a page may have of frames and workers is bounded. The gateway answers the requests;
this module decides nothing about them. Source: the DevTools protocol 1.3, read 2026-11-22.
"""

import asyncio
import base64
import contextlib
from collections.abc import Callable

from gateway.domain import Json
from gateway.engines.render.cdp import CALL_S, BrowserGone, CommandFailed, Connection
from gateway.engines.render.frames import Picture, Reason
from gateway.engines.render.page_scripts import READ, SCROLL, START, WATCHES
from gateway.engines.render.paused import PausedRequest, read_paused
from gateway.engines.render.shown import PageLost, Shown, shown_page
from gateway.engines.render.view import View

_BUDGET_MS = 5_000
"""Virtual time of a page. Chosen: splash screens and late fetches wait up to three seconds; at half, some texts are
missed, at double pages with endless timers cost twice the CPU."""
_DRAW_BUDGET_MS = 1_000
_SCROLLS = 3
"""Screens that are loaded by scrolling on. Chosen: lists that continue by themselves have no end; at half, the second
screen is the last, at double such pages take twice as long."""
_STARVATION_TASKS = 1_000
"""Tasks that may run before the virtual clock goes on. Chosen: a page that posts itself messages for ever must not stop
its own clock; at half, busy pages meet their timers earlier than they expect, at double endless ones cost more."""
_WORKER_ROUNDS, _WORKER_S = 20, 0.1
"""Chosen: a worker answers within milliseconds of its data; at half the time, a loaded machine misses some, at double
pages with workers take longer for nothing. The rounds end with the page's seconds in any case."""
_MAX_CHILDREN, _MAX_WORKERS = 30, 8
"""Frames and workers of a page that run, and workers among them; further ones never start. Chosen: pages with
advertisements have 20 frames, applications one worker or two. At half, some frames are missed; at double, workers that
never end leave the page itself too little time to be read."""
_VIEWPORT = {"width": 1280, "height": 1600}
_PATTERNS = {"patterns": [{"urlPattern": "*"}]}
_AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
WINDOWS: Json = {**_AUTO_ATTACH, "filter": [{"type": "page"}, {"exclude": True}]}
"""Every window of the browser waits for leave to begin: of a context the first one is its tab."""


class Tab:
    """One tab. `ask` gets every request of its page, which `answer` or `refuse` must end. Call `make_context`, then
    `open`; `draws_on_demand` as of `Browser`."""

    def __init__(self, connection: Connection, ask: Callable[[PausedRequest], None], *, draws_on_demand: bool) -> None:
        self._connection = connection
        self._ask = ask
        self._draws_on_demand = draws_on_demand
        self._has_begun = False
        self.is_restless = False
        self._children: set[str] = set()
        self._workers = 0
        self._open: set[tuple[str, str]] = set()
        self._frame = ""
        self._session = ""
        self._is_navigating = False
        self._rests = asyncio.Event()
        self._lost: Reason | None = None
        self._view = View(connection, "", "", draws_on_demand=draws_on_demand)
        self.context = ""

    async def make_context(self) -> str:
        """Makes the browser context of the tab and returns its name. Raises BrowserGone, CommandFailed."""
        made = await self._connection.call("Target.createBrowserContext", {"disposeOnDetach": True})
        self.context = _text(made, "browserContextId")
        return self.context

    async def open(self, url: str) -> None:
        """Opens the window, which waits for `show` with `url`. Raises BrowserGone, CommandFailed.

        No document of the browser's own comes before the page, which would cost a fifth of a first page's CPU.
        """
        place = {"browserContextId": self.context}
        self._connection.send("Browser.setDownloadBehavior", {"behavior": "deny", **place})
        # Chromium itself would ask for `url` before the window can be told what to do with its requests.
        wish = {"url": url, "enableBeginFrameControl": True} if self._draws_on_demand else {"url": "about:blank"}
        await self._connection.call("Target.createTarget", {**wish, **_VIEWPORT, **place})
        if self.awaits_window:
            raise CommandFailed("Target.attachedToTarget")

    @property
    def awaits_window(self) -> bool:
        """Whether the next window of the context is the tab's."""
        return not self._session

    def attach(self, number: str, session: str) -> None:
        """The window is there, and waits."""
        self._frame, self._session = number, session
        self._view = View(self._connection, number, session, draws_on_demand=self._draws_on_demand)
        self._connection.listen(session, lambda method, parameters: self._on(session, method, parameters))
        self._connection.send("Page.enable", session=session)
        self._connection.send("Page.addScriptToEvaluateOnNewDocument", {"source": START}, session)
        self._connection.send("Fetch.enable", _PATTERNS, session)
        self._connection.send("Target.setAutoAttach", _AUTO_ATTACH, session)

    async def close(self) -> None:
        """Ends the context with all that it stored. Never raises.

        A process that may not let go is ended first: left alone, its workers would run on until it has closed them.
        """
        for session in filter(None, (self._session, *self._children)):
            self._connection.forget(session)
            if self.is_restless:
                self._connection.send("Page.crash", session=session)
        if self.context:
            with contextlib.suppress(BrowserGone, CommandFailed):
                place = {"browserContextId": self.context}
                await self._connection.call("Target.disposeBrowserContext", place, timeout_s=CALL_S)

    def _forget_children(self) -> None:
        for session in self._children:
            self._connection.forget(session)
        self._children.clear()
        self._open.clear()
        self._workers = 0

    async def show(self, url: str, seconds: float, picture: Picture = "none") -> Shown:
        """The page at `url`, read after at most `seconds` and some for the reading; with a picture if wished.

        Raises PageLost, BrowserGone, CommandFailed; the tab must then be closed.
        """
        self._rests.clear()
        self._is_navigating, self._lost = True, None
        self._forget_children()
        try:
            async with asyncio.timeout(seconds):
                await self._begin(url, seconds)
                await self._until_rest()
                await self._await_workers()
                if await self._view.evaluate(WATCHES, in_page=True) is True:
                    await self._look()
        except (TimeoutError, CommandFailed):
            self.is_restless = True
            if self._is_navigating:
                raise PageLost("no_answer") from None
            self._connection.send("Page.stopLoading", session=self._session)
            self._connection.send("Runtime.terminateExecution", session=self._session)
        for session in self._children:  # a worker that never ends would leave the reading no time
            self._connection.send("Runtime.terminateExecution", session=session)
        return await self._read(picture)

    def leave(self) -> None:
        """Leaves the page, so that its scripts end."""
        self._is_navigating, self._lost = True, None
        self._connection.send("Page.navigate", {"url": "about:blank"}, self._session)

    def is_target(self, number: object) -> bool:
        """Whether the browser knows the tab by this name."""
        return number == self._frame

    def lose(self, reason: Reason) -> None:
        """The page has no rendering: `show` ends with it."""
        self._lost = reason
        self._rests.set()

    def answer(self, request: PausedRequest, status: int, headers: list[Json], body: bytes) -> None:
        """Ends a request with a response; `headers` are `{name, value}`."""
        self._open.discard((request.session, request.id))
        fulfilled: Json = {"requestId": request.id, "responseCode": status, "responseHeaders": headers}
        if body:
            fulfilled["body"] = base64.b64encode(body).decode()
        self._connection.send("Fetch.fulfillRequest", fulfilled, request.session)

    def refuse(self, request: PausedRequest) -> None:
        """Ends a request without a response."""
        self._open.discard((request.session, request.id))
        # An aborted document leaves the page as it is; any other failure would replace it by the browser's error page.
        reason = "Aborted" if request.is_main else "BlockedByClient"
        failed = {"requestId": request.id, "errorReason": reason}
        self._connection.send("Fetch.failRequest", failed, request.session)
        if request.is_main:
            self._is_navigating = False
            self._rests.set()

    async def _until_rest(self) -> None:
        await self._rests.wait()
        if self._lost is not None:
            raise PageLost(self._lost)

    async def _begin(self, url: str, seconds: float) -> None:
        """Goes to `url`; the first page of a tab needs leave to begin, and in the shell nothing more."""
        call, session = self._connection.call, self._session
        self._connection.send("Emulation.setVirtualTimePolicy", {"policy": "pause"}, session)
        steps = []
        if self._has_begun or not self._draws_on_demand:
            steps.append(call("Page.navigate", {"url": url}, session, seconds))
        if not self._has_begun:
            steps.append(call("Runtime.runIfWaitingForDebugger", {}, session, seconds))
        self._has_begun = True
        if (await asyncio.gather(*steps))[0].get("errorText"):
            raise PageLost("no_answer")

    def _run_clock(self, budget_ms: int) -> None:
        self._rests.clear()
        policy = {
            "policy": "pauseIfNetworkFetchesPending",
            "budget": budget_ms,
            "maxVirtualTimeTaskStarvationCount": _STARVATION_TASKS,
        }
        self._connection.send("Emulation.setVirtualTimePolicy", policy, self._session)

    async def _draw(self) -> None:
        """Draws two frames, and waits for what their callbacks begin."""
        await self._view.draw()
        self._run_clock(_DRAW_BUDGET_MS)
        await self._until_rest()

    async def _await_workers(self) -> None:
        """Workers run beside the page's clock: gives them real time, as long as they have requests open."""
        for _ in range(_WORKER_ROUNDS):
            if not self._workers:
                return
            had_open = bool(self._open)
            await asyncio.sleep(_WORKER_S)
            self._run_clock(_DRAW_BUDGET_MS)
            await self._until_rest()
            if not had_open and not self._open:
                return

    async def _look(self) -> None:
        """Draws the page and scrolls on, as long as that makes it longer."""
        await self._draw()
        for _ in range(_SCROLLS):
            if await self._view.evaluate(SCROLL) is not True:
                return
            await self._draw()

    async def _read(self, wish: Picture) -> Shown:
        if self._lost is not None:
            raise PageLost(self._lost)
        picture = await self._view.picture(wish)
        try:
            read = await self._view.evaluate(READ)
        except CommandFailed:
            raise PageLost(self._lost or "slow") from None
        return shown_page(read, picture)

    def _on(self, session: str, method: str, parameters: Json) -> None:
        """An event of the page or of one of its frames and workers."""
        if method == "Fetch.requestPaused":
            request = read_paused(session, parameters, self._frame)
            if request is not None:
                self._is_navigating = self._is_navigating or request.is_main
                self._open.add((session, request.id))
                self._ask(request)
        elif method == "Target.attachedToTarget":
            self._attach(parameters)
        elif method == "Page.javascriptDialogOpening":
            may_leave = parameters.get("type") == "beforeunload"
            self._connection.send("Page.handleJavaScriptDialog", {"accept": may_leave}, session)
        elif method == "Inspector.targetCrashed" and session == self._session:
            self.lose("crashed")
        elif session == self._session:
            self._on_main(method, parameters)

    def _on_main(self, method: str, parameters: Json) -> None:
        if method == "Page.frameNavigated":
            frame = parameters.get("frame")
            if isinstance(frame, dict) and frame.get("id") == self._frame and frame.get("url") != "about:blank":
                self._is_navigating = False
                self._view.forget()
                self._run_clock(_BUDGET_MS)
        elif method == "Emulation.virtualTimeBudgetExpired" and not self._is_navigating:
            self._rests.set()

    def _attach(self, parameters: Json) -> None:
        """A frame or worker of the page waits to be started: its requests go the same way as the page's own."""
        session = parameters.get("sessionId")
        target = parameters.get("targetInfo")
        is_worker = isinstance(target, dict) and target.get("type") != "iframe"
        self._workers += is_worker
        self.is_restless = self.is_restless or is_worker
        if not isinstance(session, str) or len(self._children) >= _MAX_CHILDREN or self._workers > _MAX_WORKERS:
            return
        self._children.add(session)
        self._connection.listen(session, lambda method, given: self._on(session, method, given))
        self._connection.send("Fetch.enable", _PATTERNS, session)
        self._connection.send("Target.setAutoAttach", _AUTO_ATTACH, session)
        self._connection.send("Runtime.runIfWaitingForDebugger", session=session)


def _text(result: Json, name: str) -> str:
    value = result.get(name)
    if not isinstance(value, str):
        raise CommandFailed(name)
    return value
