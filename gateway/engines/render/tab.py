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
import binascii
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from gateway.domain import Json
from gateway.engines.render.browser import CALL_S, BrowserGone, CommandFailed, Connection, NoAnswer
from gateway.engines.render.frames import MAX_BODY_BYTES, MAX_HEAD_BYTES, Picture, PictureLack, Reason


class PageLost(Exception):
    """The page has no rendering; `reason` as in `frames`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it was rendered: its address and HTML in UTF-8; a picture where one was asked for, else empty;
    `no_picture`: why one that was asked for is missing."""

    url: str
    html: bytes
    picture: bytes = b""
    no_picture: PictureLack | None = None


def shown_page(read: object, picture: bytes | PictureLack) -> Shown:
    """The page of which the browser says that it is `{url, html}`; `picture` may be why there is none. Raises PageLost.

    A picture that is too large is left out: the text counts.
    """
    if not isinstance(read, dict) or not isinstance(read.get("url"), str) or not isinstance(read.get("html"), str):
        raise PageLost("slow")
    if not read["url"].startswith(("http://", "https://")):
        raise PageLost("no_answer")
    html = read["html"].encode("utf-8", "replace")
    if len(html) > MAX_BODY_BYTES:
        raise PageLost("too_large")
    if not isinstance(picture, bytes):
        return Shown(read["url"], html, no_picture=picture)
    if len(picture) > MAX_BODY_BYTES:
        return Shown(read["url"], html, no_picture="too_large")
    return Shown(read["url"], html, picture)


MAX_POSTED_BYTES = 65_536  # most that a page may post
_MAX_URL_CHARS = 4_000
"""Longer addresses are no addresses for the fetcher (2,000 characters); the rest is slack for what it normalises."""
_MAX_FIELD_CHARS = 1_000
assert _MAX_URL_CHARS + 5 * _MAX_FIELD_CHARS < MAX_HEAD_BYTES // 2


@dataclass(frozen=True, slots=True)
class PausedRequest:
    """`id` and `session` as the browser names them; `head` as `frames` describes it, without `event` and `id`; `body`
    is what the page posts, None when it cannot be had or is too large. `is_main`: the document of the page itself."""

    id: str
    session: str
    head: Json
    body: bytes | None
    is_main: bool

    @property
    def is_service_worker(self) -> bool:
        """Whether this would be the script of a service worker, for which there is no use in a context of one call."""
        return bool(self.head.get("is_service_worker"))


def read_paused(session: str, parameters: Json, main_frame: str) -> PausedRequest | None:
    """The request; None when the message is none that Chromium sends."""
    number, request, kind = parameters.get("requestId"), parameters.get("request"), parameters.get("resourceType")
    if not isinstance(number, str) or not isinstance(request, dict) or not isinstance(kind, str):
        return None
    url, method, given = request.get("url"), request.get("method"), request.get("headers")
    if not isinstance(url, str) or not isinstance(method, str):
        return None
    headers = {
        name.lower(): value[:_MAX_FIELD_CHARS]
        for name, value in (given.items() if isinstance(given, dict) else ())
        if isinstance(value, str)
    }
    is_main = kind == "Document" and parameters.get("frameId") == main_frame
    head = {
        "url": url[: _MAX_URL_CHARS + 1],
        "method": method[:20],
        "kind": kind[:40],
        "accept": headers.get("accept", "*/*"),
        "origin": headers.get("origin", ""),
        "sends": headers.get("content-type", ""),
        "is_main": is_main,
        "is_service_worker": "service-worker" in headers,
    }
    return PausedRequest(number, session, head, _posted(request), is_main)


def _posted(request: Json) -> bytes | None:
    entries: Any = request.get("postDataEntries")
    if not request.get("hasPostData"):
        return b""
    if not isinstance(entries, list):
        return None
    posted = bytearray()
    for entry in entries:
        packed = entry.get("bytes") if isinstance(entry, dict) else None
        if not isinstance(packed, str) or len(packed) > 2 * MAX_POSTED_BYTES:
            return None
        try:
            posted += base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(posted) > MAX_POSTED_BYTES:
            return None
    return bytes(posted)


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.js").read_text()


START, SCROLL, READ, IS_DRAWN = map(_script, ("start", "scroll", "read", "is_drawn"))
"""What the browser runs; each says in its file what it does."""

WATCHES = 'window[Symbol.for("gateway")] === true || !!document.querySelector("iframe[loading=lazy]")'

FRAMES = """
new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))
"""
"""Waits until two frames were drawn, in a world where frames are those of the screen."""

_FRAMES_S = 0.5  # frames do not follow the virtual clock, so that it may run out before the first one
READ_S = 3.0  # reading takes 20 ms for a large page
PICTURE_S = 3.0  # for a picture, and for the look whether the page needs one


class TabPage:
    """The page of one tab: `frame` and `session` as the browser names them. `draws_on_demand`: as of `Browser`.

    What it is asked for raises BrowserGone, and where nothing else is said CommandFailed.
    """

    def __init__(self, connection: Connection, frame: str, session: str, *, draws_on_demand: bool) -> None:
        self._connection = connection
        self._frame = frame
        self._session = session
        self._draws_on_demand = draws_on_demand
        self._world: object = None

    def forget(self) -> None:
        """The tab has another document."""
        self._world = None

    async def evaluate(self, script: str, seconds: float = READ_S, *, in_page: bool = False) -> object:
        """The value of a script in a world of its own, where the page's scripts have changed nothing, or in theirs."""
        wish: Json = {"expression": script, "returnByValue": True, "awaitPromise": True, "timeout": seconds * 1_000}
        if not in_page:
            if self._world is None:
                place = {"frameId": self._frame, "worldName": "gateway"}
                world = await self._connection.call("Page.createIsolatedWorld", place, self._session, READ_S)
                self._world = world.get("executionContextId")
            wish["contextId"] = self._world
        done = await self._connection.call("Runtime.evaluate", wish, self._session, seconds)
        result = done.get("result")
        return result.get("value") if isinstance(result, dict) else None

    async def draw(self) -> None:
        """Two frames: what an observer does at the first shows at the second."""
        with contextlib.suppress(CommandFailed):
            if not self._draws_on_demand:
                await self.evaluate(FRAMES, _FRAMES_S)
                return
            for _ in range(2):
                await self._begin_frame({}, _FRAMES_S)

    async def picture(self, wish: Picture) -> bytes | PictureLack:
        """The screen as a PNG, empty where `wish` wants none of this page, or why it cannot be had.

        Never raises CommandFailed: a page without its picture is read all the same.
        """
        try:
            async with asyncio.timeout(PICTURE_S):
                if wish == "none" or (wish == "drawn" and await self.evaluate(IS_DRAWN) is not True):
                    return b""
                return await self._screen()
        except (TimeoutError, NoAnswer):
            return "slow"
        except CommandFailed:
            return "refused"

    async def _screen(self) -> bytes:
        if self._draws_on_demand:
            await self._begin_frame({}, PICTURE_S)
            shot = (await self._begin_frame({"screenshot": {"format": "png"}}, PICTURE_S)).get("screenshotData")
        else:
            taken = await self._connection.call("Page.captureScreenshot", {"format": "png"}, self._session, PICTURE_S)
            shot = taken.get("data")
        if not isinstance(shot, str):
            raise CommandFailed("no picture")
        try:
            return base64.b64decode(shot)
        except binascii.Error:
            raise CommandFailed("a picture that is none") from None

    async def _begin_frame(self, wish: Json, seconds: float) -> Json:
        return await self._connection.call("HeadlessExperimental.beginFrame", wish, self._session, seconds)


_BUDGET_MS = 5_000  # virtual time of a page
_DRAW_BUDGET_MS = 1_000
_SCROLLS = 3  # screens that are loaded by scrolling on
_STARVATION_TASKS = 1_000  # tasks that may run before the virtual clock goes on
_WORKER_ROUNDS, _WORKER_S = 20, 0.1  # the rounds end with the page's seconds in any case
_MAX_CHILDREN, _MAX_WORKERS = 30, 8
"""Frames and workers of a page that run, and workers among them; further ones never start."""
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
        self._view = TabPage(connection, "", "", draws_on_demand=draws_on_demand)
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
        self._view = TabPage(self._connection, number, session, draws_on_demand=self._draws_on_demand)
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
        is_led = self._has_begun or not self._draws_on_demand
        if not self._has_begun:  # and only then on: Chromium 150 forgets the answer of a page that it was led to before
            await call("Runtime.runIfWaitingForDebugger", {}, session, seconds)
        self._has_begun = True
        if is_led and (await call("Page.navigate", {"url": url}, session, seconds)).get("errorText"):
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
