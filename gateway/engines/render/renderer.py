"""Renders pages for the gateway's calls: the way from a page that was fetched to what a reader of it would see.

A `RenderSession` is one call of one key: its pages share a browser context, which no other call ever sees and which
ends with it. Rendering is an addition: whatever goes wrong, the page as it was fetched is still there, so every failure
is the exception `NotRendered`. Knows no HTML.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.fetch.fetcher import Fetched
from gateway.engines.fetch.host_limits import HostSlots
from gateway.engines.render import frames
from gateway.engines.render.call import MAX_ASKED
from gateway.engines.render.frames import Picture, PictureLack
from gateway.engines.render.process import NotRendered, RenderProcess
from gateway.engines.render.requests import PageLimits, PageRequests, Reach
from gateway.engines.render.shown import Shown
from gateway.engines.render.view import PICTURE_S, READ_S

_TURN_S = 30.0
"""Longest wait for a turn and for the browser's start. Chosen: three pages of eight seconds are before this one at the
most, or the call has too little time left; at half, a busy gateway renders less, at double calls end without an answer.
"""
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
