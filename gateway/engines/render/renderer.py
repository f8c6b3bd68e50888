"""Renders pages for the gateway's calls: the way from a page that was fetched to what a reader of it would see.

A `RenderSession` is one call of one key: its pages share a browser context, which no other call ever sees and which
ends with it. Rendering is an addition: whatever goes wrong, the page as it was fetched is still there, so every failure
is the exception `NotRendered`.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import re
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from gateway import logs
from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.fetch.errors import FetchFailed, SkippedUrl
from gateway.engines.fetch.fetcher import Fetched, Fetcher, FetchLimits, PageRequest
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import parse_url, site_of
from gateway.engines.render import frames
from gateway.engines.render.browser import NoBrowser, find_chromium
from gateway.engines.render.call import MAX_ASKED
from gateway.engines.render.frames import Picture, PictureLack
from gateway.engines.render.tab import MAX_POSTED_BYTES, PICTURE_S, READ_S, Shown

START_S = 20.0  # the process takes 0.3 s to listen; the browser starts later
_CONNECT_S = 2.0
_READ_LIMIT = 1 << 20
_NOT_NOW_S = 60.0  # how long nobody tries again after a start that failed for good (no browser, no namespace)
_LOOK_S = 5.0
"""How long a look for the browser's program holds: it takes some 30 system calls, more CPU than the rest of a status
call."""


class NotRendered(Exception):
    """There is no render process; the text says why."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """`socket`: that of systemd's unit, None to start the process here, at `own_socket`. `memory_max` in bytes."""

    socket: Path | None
    own_socket: Path
    chromium: str = ""
    max_pages: int = 2
    idle_s: float = 60
    memory_max: int = 1 << 30


class RenderProcess:
    """`connect` as often as calls need it. `close` ends the process that was started here."""

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._process: Process | None = None
        self._starting = asyncio.Lock()
        self._restarts = RestartPolicy()
        self._not_before = 0.0
        self._look_again = 0.0
        self._lack: str | None = None
        self.problem: str | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection, which is one call. Raises NotRendered."""
        place = self._settings.socket
        if place is not None:
            connection = await _connect(place)
            if connection is None:
                self._tell(f"nobody listens at {place} (render.socket); is gateway-render.socket started?")
                raise NotRendered(self.problem)
        else:
            connection = await _connect(self._settings.own_socket) or await self._start()
        self.problem = None
        return connection

    def record_failure(self, problem: str) -> None:
        """Pages cannot be rendered although the process runs: its browser does not start."""
        self._tell(problem)
        self._not_before = time.monotonic() + _NOT_NOW_S

    @property
    def is_away(self) -> bool:
        """Whether a start failed a moment ago, so that no page should wait for another one."""
        return time.monotonic() < self._not_before

    @property
    def pid(self) -> int | None:
        """The process that was started here, or None."""
        return self._process.pid if self._process is not None else None

    def lack(self) -> str | None:
        """What is missing on this machine to start the process here; looks for the program alone, every _LOOK_S."""
        if self._settings.socket is None and time.monotonic() >= self._look_again:
            self._lack = None
            try:
                find_chromium(self._settings.chromium)
            except NoBrowser as error:
                self._lack = f"pages are not rendered: {error}"
            self._look_again = time.monotonic() + _LOOK_S
        return self._lack

    async def close(self) -> None:
        """Ends the process, if it was started here."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_S):
                    await process.wait()
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Starts the process, unless another worker does so just now. Raises NotRendered."""
        place = self._settings.own_socket
        async with self._starting:
            if self.is_away or self._restarts.wait_s > 0:
                raise NotRendered(self.problem or "the render process has failed and is started again shortly")
            end = time.monotonic() + START_S
            while time.monotonic() < end:
                with _locked(place.with_suffix(".lock")) as is_ours:
                    connection = await _connect(place)
                    if connection is None and is_ours:
                        await self._launch(place)
                        connection = await _connect(place)
                if connection is not None:
                    return connection
                await asyncio.sleep(0.1)  # another worker starts it
        raise NotRendered("the render process does not answer")

    async def _launch(self, place: Path) -> None:
        settings = self._settings
        words = [sys.executable, "-m", "gateway.engines.render.server", "--socket", str(place)]
        words += ["--peer", str(os.getuid()), "--chromium", settings.chromium, "--max-pages", str(settings.max_pages)]
        words += ["--idle-s", str(settings.idle_s), "--memory-mb", str(settings.memory_max >> 20)]
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(*words, "--with-parent", stdin=PIPE, stdout=PIPE)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                reason = (await process.stdout.readline()).decode("utf-8", "replace").strip()
        except TimeoutError:
            reason = ""
        except asyncio.CancelledError:
            process.kill()
            raise
        if reason == "ready":
            self._process = process
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        self._restarts.record_death(time.monotonic() - began)
        if reason:
            self.record_failure(reason)  # what is missing is not there a moment later either
            raise NotRendered(reason)
        raise NotRendered("the render process ended at once or did not start in time")

    def _tell(self, problem: str) -> None:
        if self.problem != problem:
            self.problem = problem
            logs.event("render_unavailable", level=logging.WARNING, reason=problem)


async def _connect(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        async with asyncio.timeout(_CONNECT_S):
            return await asyncio.open_unix_connection(str(place), limit=_READ_LIMIT)
    except (OSError, TimeoutError):
        return None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether this process alone holds the lock for the block."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(file)


Method = Literal["GET", "HEAD", "POST"]
_METHODS: Mapping[str, Method] = {"GET": "GET", "HEAD": "HEAD", "POST": "POST"}
_KINDS = frozenset({"Document", "Stylesheet", "Script", "XHR", "Fetch", "Other"})
_PICTURE_KINDS = frozenset({"Image", "Font"})
_UNWANTED_TYPES = ("image/", "font/", "audio/", "video/", "application/font", "application/x-font")
_ORIGIN = re.compile(r"https?://[a-z0-9.:\[\]-]{1,260}|null")
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,80}(?:; ?charset=[a-z0-9-]{1,20})?", re.IGNORECASE)
_ACCEPT = re.compile(r"[A-Za-z0-9*/+.,;=_ -]{1,500}")
_KEPT = frozenset(
    {
        "location", "access-control-allow-origin", "access-control-allow-headers", "access-control-allow-methods",
        "access-control-expose-headers", "content-disposition", "x-content-type-options",
    }
)  # fmt: skip
"""Headers of answers that the browser needs to do as the site wants. Cookies are not among them: a page could not send
them anywhere, and without them it need not be asked for its consent."""
_MOST_KEPT_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may have. Chosen: of 2,000 pages of news, shops and applications most ask for 20 to 80 scripts and
    1 to 5 MB; at half, large applications are cut, at double a hostile page fetches twice as much for one call.
    `answer_bytes` is one answer: a page of 100 MB of script ends there."""

    requests: int = 150
    total_bytes: int = 31_457_280
    answer_bytes: int = 5_242_880
    documents: int = 12


@dataclass(frozen=True, slots=True)
class Reach:
    """One way to fetch: the fetcher, and the robots.txt rules read through it (None: not asked for)."""

    fetcher: Fetcher
    robots: RobotsCache | None


@dataclass(slots=True)
class PageState:
    """A page as far as it has got. `site` is the host of its document; `private`: nothing of it came from a public
    address yet; `public`: nothing came from an address that only the operator's list allows."""

    site: str
    private: bool
    public: bool
    fetched: int = 0
    documents: int = 0
    left_bytes: int = 0


class PageRequests:
    """The requests of one page. `document` is the page as it was fetched, which the browser gets in place of its first
    request for it; None to fetch that as well. `wide` reaches what the operator's list allows, `narrow` public
    addresses alone."""

    def __init__(
        self, document: Fetched, reaches: tuple[Reach, Reach], slots: HostSlots, owner: str, limits: PageLimits
    ) -> None:
        self._document: Fetched | None = document
        self._narrow, self._wide = reaches
        self._slots = slots
        self._owner = owner
        self._limits = limits
        self._ends_at = 0.0
        self._pictures = False
        host = urlsplit(document.url).hostname or ""
        self.state = PageState(host, not document.public, document.public, left_bytes=limits.total_bytes)

    def begin(self, seconds: float, *, pictures: bool) -> None:
        """The page's time begins. `pictures`: images and fonts are fetched, for a picture of the page."""
        self._ends_at = time.monotonic() + seconds
        self._pictures = pictures

    async def answer(self, head: Json, body: bytes) -> tuple[Json, bytes] | None:
        """`{status, headers}` and body of the response to one request; None to refuse it. Never raises."""
        if self._refuses(head, body):
            return None
        is_main = head.get("is_main") is True
        first = self._document
        if is_main and first is not None:  # no script has run: this is the address that the browser was given
            self._document = None
            return _as_answer(first), first.body
        try:
            fetched = await self._fetch(head, body)
        except (FetchFailed, TimeoutError):
            return None
        self._record(fetched, is_main=is_main)
        return (_as_answer(fetched), fetched.body) if self._is_wanted(head, fetched) else None

    def _refuses(self, head: Json, body: bytes) -> bool:
        state, limits = self.state, self._limits
        kind, url, method = str(head.get("kind")), head.get("url"), _METHODS.get(str(head.get("method")))
        if not _is_address(url) or method is None or state.fetched >= limits.requests:
            return True
        is_picture = kind in _PICTURE_KINDS or str(head.get("accept", "")).startswith("image/")
        if not (kind in _KINDS and not is_picture) and not (self._pictures and is_picture):
            return True
        if kind == "Document":
            state.documents += 1
            if state.documents > limits.documents:
                return True
        if method == "POST" and (len(body) > MAX_POSTED_BYTES or not _is_own_site(str(url), state.site)):
            return True
        return state.left_bytes <= 0 or time.monotonic() >= self._ends_at

    async def _fetch(self, head: Json, body: bytes) -> Fetched:
        url, state = str(head["url"]), self.state
        state.fetched += 1
        left_s = self._ends_at - time.monotonic()
        reach = self._wide if state.private else self._narrow
        method = _METHODS[str(head["method"])]
        request = PageRequest(
            url,
            method,
            _matching(_ACCEPT, head.get("accept")) or "*/*",
            _matching(_ORIGIN, head.get("origin")),
            _matching(_TYPE, head.get("sends")),
            body,
            _KEPT,
        )
        async with asyncio.timeout(left_s):
            if reach.robots is not None and not await (await reach.robots.of(url)).allows_in_turn(url):
                raise FetchFailed("robots.txt", "robots")
            async with self._slots.hold(urlsplit(url).netloc.lower(), owner=self._owner):
                most = min(self._limits.answer_bytes, max(1, state.left_bytes))
                fetched = await reach.fetcher.fetch_once(request, FetchLimits(most, most, left_s))
        state.left_bytes -= len(fetched.body)
        return fetched

    def _record(self, fetched: Fetched, *, is_main: bool) -> None:
        """From the first public answer on the page reaches public addresses only."""
        self.state.private = self.state.private and not fetched.public
        self.state.public = self.state.public and fetched.public
        if is_main and "location" not in fetched.headers:
            self.state.site = urlsplit(fetched.url).hostname or ""

    def _is_wanted(self, head: Json, fetched: Fetched) -> bool:
        if self._pictures or head.get("kind") == "Document":
            return True
        return not fetched.content_type.strip().lower().startswith(_UNWANTED_TYPES)


def _is_address(url: Any) -> bool:
    try:
        return isinstance(url, str) and parse_url(url).host is not None
    except SkippedUrl:
        return False


def _is_own_site(url: str, site: str) -> bool:
    """Whether `url` is on the page's host, with or without `www.`, or on a host below it."""
    host, own = (urlsplit(url).hostname or "").rstrip("."), site_of(site.rstrip("."))
    return bool(own) and (host == own or host.endswith("." + own))


def _as_answer(fetched: Fetched) -> Json:
    headers = [["content-type", fetched.content_type]] if fetched.content_type else []
    headers += [
        [name, value] for name, value in fetched.headers.items() if name in _KEPT and len(value) < _MOST_KEPT_CHARS
    ]
    return {"status": fetched.status, "headers": headers}


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""


_TURN_S = 30.0  # longest wait for a turn and for the browser's start
_AFTER_S = 10.0
"""Time for a picture, reading and leaving a page beyond its seconds: `tab` needs up to nine on a page that hangs."""
_WORDS = {
    "busy": "too many pages wait to be rendered",
    "crashed": "the page brought its browser down",
    "no_answer": "the page's scripts led to an address that could not be read",
    "no_window": "the browser opened no window for the page in time",
    "too_large": "the page grows too large in a browser",
    "unavailable": "the browser cannot be started",
    "slow": f"the browser did not hand over the page's text within {READ_S:g} s; its scripts may not come to an end",
}
_PICTURE_WORDS: dict[PictureLack, str] = {
    "refused": "the browser gave no picture of it",
    "slow": f"the browser gave no picture of it within {PICTURE_S:g} s",
    "too_large": "its picture is too large",
}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a browser shows it: address, HTML in UTF-8, a picture (PNG) if asked for; `public` as of a fetch.

    `no_picture`: in words, why a picture that was asked for is missing; "" where none is missing. With "always" one of
    the two is there.
    """

    url: str
    html: bytes
    picture: bytes
    public: bool
    no_picture: str = ""


@dataclass(frozen=True, slots=True)
class RenderDeps:
    """`narrow` reaches public addresses alone, `wide` also what the operator allows; `seconds` for one page."""

    process: RenderProcess
    narrow: Reach
    wide: Reach
    slots: HostSlots
    seconds: float
    limits: PageLimits = field(default_factory=PageLimits)


class Renderer:
    """Makes sessions. `mode` is that of `[render]`: "auto", "always" or "off"."""

    def __init__(self, deps: RenderDeps, mode: str) -> None:
        self._deps = deps
        self.mode = mode

    @property
    def problem(self) -> str | None:
        """Why pages are not rendered at present, for the operator; None when nothing is known to be wrong."""
        process = self._deps.process
        return process.problem or process.lack()

    def session(self, owner: str) -> "RenderSession":
        """A call of the key `owner`; nothing is opened before its first page. Close it."""
        return RenderSession(self._deps, owner)


class RenderSession:
    """The pages of one call, one after the other."""

    def __init__(self, deps: RenderDeps, owner: str) -> None:
        self._deps = deps
        self._owner = owner
        self._turn = asyncio.Lock()
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def render(self, document: Fetched, fragment: str = "", picture: Picture = "none") -> Rendered:
        """The page whose document was fetched, shown at its address and `fragment`. Raises NotRendered."""
        deps = self._deps
        requests = PageRequests(document, (deps.narrow, deps.wide), deps.slots, self._owner, deps.limits)
        url = f"{document.url}#{fragment}" if fragment else document.url
        wish = {"op": "open", "url": url, "owner": self._owner, "seconds": deps.seconds, "picture": picture}
        async with self._turn:
            try:
                if self._connection is None:
                    self._connection = await deps.process.connect()
                page = _Page(self._connection, requests)
                shown = await page.show(wish, deps.seconds, loads_pictures=picture == "always")
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                await self.close()
                raise NotRendered("the render process ended or does not answer") from error
            except NotRendered as failure:
                if str(failure) == _WORDS["unavailable"]:
                    deps.process.record_failure(f"pages are not rendered: {failure}")
                raise
            except BaseException:
                await self.close()  # a page of it may still run
                raise
        lack = shown.no_picture or ("refused" if picture == "always" and not shown.picture else None)
        no_picture = _PICTURE_WORDS[lack] if lack else ""
        return Rendered(shown.url, shown.html, shown.picture, requests.state.public, no_picture)

    async def close(self) -> None:
        """Ends the call's browser context. Never raises."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection[1].close()
            with contextlib.suppress(OSError):
                await connection[1].wait_closed()


class _Page:
    """One page on a connection: reads frames until it is there, and answers requests side by side."""

    def __init__(self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], requests: PageRequests) -> None:
        self._source, self._sink = connection
        self._requests = requests
        self._answers: set[asyncio.Task[None]] = set()
        self._asked = 0

    async def show(self, wish: Json, seconds: float, *, loads_pictures: bool) -> Shown:
        """The page. Raises NotRendered, OSError, IncompleteReadError, TimeoutError."""
        try:
            self._sink.write(frames.pack(wish))
            async with asyncio.timeout(_TURN_S):
                head, _ = await frames.read(self._source)
            if head.get("event") == "failed":
                raise _failure(head)
            self._requests.begin(seconds, pictures=loads_pictures)
            async with asyncio.timeout(_TURN_S + seconds + _AFTER_S):
                return await self._until_shown()
        finally:
            for task in self._answers:
                task.cancel()
            await asyncio.gather(*self._answers, return_exceptions=True)

    async def _until_shown(self) -> Shown:
        picture = b""
        while True:
            head, body = await frames.read(self._source)
            event = head.get("event")
            if event == "request":
                self._take_request(head, body)
            elif event == "picture":
                picture = body
            elif event == "failed":
                raise _failure(head)
            elif event == "page" and _is_web_address(head.get("url")):
                lack = next((each for each in _PICTURE_WORDS if each == head.get("no_picture")), None)
                return Shown(str(head["url"]), body, picture, lack)
            else:
                raise frames.BadFrame

    def _take_request(self, head: Json, body: bytes) -> None:
        self._asked += 1
        if self._asked > MAX_ASKED or not isinstance(head.get("id"), int):
            raise frames.BadFrame  # the process asks no more than this
        task = asyncio.get_running_loop().create_task(self._answer(head, body))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _answer(self, head: Json, body: bytes) -> None:
        answer = await self._requests.answer(head, body)
        reply: Json = {"op": "refuse", "id": head["id"]}
        given = b""
        if answer is not None:
            reply, given = {"op": "answer", "id": head["id"], **answer[0]}, answer[1]
        with contextlib.suppress(OSError):
            self._sink.write(frames.pack(reply, given))
            await self._sink.drain()


def _failure(head: Json) -> NotRendered:
    return NotRendered(_WORDS.get(str(head.get("reason")), _WORDS["crashed"]))


def _is_web_address(url: Any) -> bool:
    try:
        return isinstance(url, str) and urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False
