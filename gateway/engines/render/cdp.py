"""Speaks the Chrome DevTools Protocol over the browser's two pipes: JSON messages, each ended by a NUL byte.

What the browser writes is hostile input: a page that took its process over may say anything. A message that is too
large is skipped, one that cannot be read is ignored, and one for nobody is dropped. Source: Chromium's documentation of
`--remote-debugging-pipe` and of the protocol, version 1.3, read 2026-11-22. Knows no page.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import orjson

from gateway.domain import Json

MAX_MESSAGE_BYTES = 67_108_864
"""Largest message that is read. Chosen: twice the largest page (`frames.MAX_BODY_BYTES`), as JSON escapes some letters
of it; at half, pages of many quotes are lost, at double a page that posts very much costs twice the memory."""
_PIECE_BYTES = 262_144
CALL_S = 10.0
"""How long the browser may take for one command. Chosen: they take milliseconds; at half, a machine under load fails
pages, at double a browser that hangs is noticed later."""

Listener = Callable[[str, Json], None]
"""Gets the events of one session: method and parameters."""


class BrowserGone(ConnectionError):
    """The browser has ended."""


class CommandFailed(Exception):
    """The browser refused a command, or did not answer it in time."""


class NoAnswer(CommandFailed):
    """The browser did not answer a command in time."""


class Connection:
    """One browser. `run` reads until its pipe ends; commands and listeners belong to a session, "" is the browser."""

    def __init__(self, source: asyncio.StreamReader, sink: asyncio.WriteTransport) -> None:
        self._source = source
        self._sink = sink
        self._last_id = 0
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._listeners: dict[str, Listener] = {}
        self.is_gone = False

    def listen(self, session: str, listener: Listener) -> None:
        """Events of the session go to `listener`; it must not raise."""
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        """Events of the session go nowhere."""
        self._listeners.pop(session, None)

    def send(self, method: str, parameters: Json | None = None, session: str = "") -> int:
        """Sends a command whose answer nobody waits for. Returns its number."""
        self._last_id += 1
        message: Json = {"id": self._last_id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        if not self.is_gone:
            self._sink.write(orjson.dumps(message) + b"\0")
        return self._last_id

    async def call(
        self, method: str, parameters: Json | None = None, session: str = "", timeout_s: float = CALL_S
    ) -> Json:
        """The result of a command. Raises BrowserGone, CommandFailed; NoAnswer after `timeout_s`."""
        if self.is_gone:
            raise BrowserGone
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        number = self.send(method, parameters, session)
        self._answers[number] = answer
        try:
            async with asyncio.timeout(timeout_s):
                message = await answer
        except TimeoutError:
            raise NoAnswer(method) from None
        finally:
            self._answers.pop(number, None)
        result = message.get("result")
        if not isinstance(result, dict):
            raise CommandFailed(method)
        return result

    async def run(self) -> None:
        """Reads messages until the browser's pipe ends; then every waiting command raises BrowserGone."""
        kept = bytearray()
        skips = False
        try:
            while piece := await self._source.read(_PIECE_BYTES):
                *ends, rest = piece.split(b"\0")
                for end in ends:
                    if not skips:
                        self._take(bytes(kept) + end)
                    kept.clear()
                    skips = False
                skips = skips or len(kept) + len(rest) > MAX_MESSAGE_BYTES
                if skips:
                    kept.clear()
                else:
                    kept += rest
        except ConnectionError:
            pass
        finally:
            self.is_gone = True
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(BrowserGone())

    def _take(self, packed: bytes) -> None:
        with contextlib.suppress(orjson.JSONDecodeError):
            message: Any = orjson.loads(packed)
            if not isinstance(message, dict):
                return
            number, method = message.get("id"), message.get("method")
            if isinstance(number, int):
                answer = self._answers.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            elif isinstance(method, str):
                session, parameters = message.get("sessionId", ""), message.get("params")
                listener = self._listeners.get(session) if isinstance(session, str) else None
                if listener is not None:
                    listener(method, parameters if isinstance(parameters, dict) else {})
