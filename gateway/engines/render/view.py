"""Looks at a tab's page: runs the gateway's own scripts in it, has it drawn, takes a picture of it.

The headless shell draws a frame when it is asked for, Chromium itself draws every frame of the screen. A page that does
not look at the screen needs no frame to be read, and without one is neither laid out nor painted, which is a third of
its CPU. Source: the DevTools protocol 1.3 with `HeadlessExperimental.beginFrame`, read 2026-11-22.
"""

import asyncio
import base64
import binascii
import contextlib

from gateway.domain import Json
from gateway.engines.render.cdp import CommandFailed, Connection, NoAnswer
from gateway.engines.render.frames import Picture, PictureLack
from gateway.engines.render.page_scripts import FRAMES, IS_DRAWN

_FRAMES_S = 0.5
"""Frames do not follow the virtual clock, so that it may run out before the first one. Chosen: two frames take 33 ms;
at half, a browser under heavy load misses them, at double one that draws none costs each page a second."""
READ_S = 3.0
"""Chosen: reading takes 20 ms for a large page; half fails on a loaded machine, double holds a turn for nothing."""
PICTURE_S = 3.0
"""For a picture, and for the look whether the page needs one. Chosen: it takes 0.1 s, and 0.6 s beside three more
browsers on two cores (measured); half would be too little on a machine under heavy load, double leaves the call less
time for the page's text."""


class View:
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
