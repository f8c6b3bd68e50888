"""The servers of `bench.hostile_sites`: files by path, a search provider, and sites to crawl.

`python -m bench.hostile_site`. It prints its ports. `GET /set/NAME` chooses what the provider and the crawled site are.
"""

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from urllib.parse import unquote

from bench.hostile_feeds import FEEDS
from bench.hostile_http import ANSWERS, PAGE, TALKS, answer
from bench.hostile_markup import MARKUP
from bench.hostile_office import OFFICE
from bench.hostile_pdfs import PDFS
from bench.hostile_providers import REPLIES
from bench.hostile_walks import WALKS

KEY = "tvly-zq83kd72hfnsla93jdk20dkslw91"
"""What stands for the key of a search provider."""
FILES = {**FEEDS, **MARKUP, **OFFICE, **PDFS}
_SIZE, _PACKED_SIZE = 2_000_000, 1_000_000
"""Bytes of a file, and of one that is unpacked. Chosen: below the largest page; at double most rows reach its limit."""


@cache
def _whole(name: str) -> bytes:
    kind, make = FILES[name]
    body = make(_PACKED_SIZE if name in OFFICE or name in PDFS else _SIZE)
    return answer(body[:5_000_000], kind=kind)


class Servers:
    """`mode`: the name of what the provider says and how the crawled site is. `hits`: what nobody may ask for."""

    def __init__(self) -> None:
        self.mode, self.hits, self.ports = "", 0, [0, 0, 0]

    async def start(self) -> None:
        made = ((self._files, "127.0.0.1"), (self._provider, "127.0.0.1"), (self._walk, "0.0.0.0"))
        served = [await asyncio.start_server(each, host, 0) for each, host in made]
        self.ports = [each.sockets[0].getsockname()[1] for each in served]
        print(json.dumps(self.ports), flush=True)
        await asyncio.gather(*(each.serve_forever() for each in served))

    async def _request(self, reader: asyncio.StreamReader) -> tuple[str, bytes]:
        """Path and the whole head; a body is read and left."""
        head = await reader.readuntil(b"\r\n\r\n")
        low = head.lower()
        length = int(low.partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if length:
            await reader.readexactly(length)
        return head.split(b" ", 2)[1].decode("latin-1"), head

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, make: Callable[[str, bytes], bytes | str]
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                made = make(*await self._request(reader))
                if isinstance(made, str):
                    name, _, rest = made.partition("/")
                    await TALKS[name](writer, rest)
                else:
                    writer.write(made)
                    await writer.drain()
            finally:
                writer.close()

    async def _files(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def make(path: str, head: bytes) -> bytes | str:
            name, _, rest = unquote(path.partition("?")[0].lstrip("/")).partition("/")
            if name == "set":
                self.mode, was, self.hits = rest, self.hits, 0
                return answer(str(was).encode())
            if name == "hit":
                self.hits += 1
            if name in TALKS:
                return f"{name}/{rest}"
            if name in ANSWERS:
                return ANSWERS[name](rest)
            made = _whole(name) if name in FILES else answer(PAGE)
            return _filled(made, {b"{port}": b"%d" % self.ports[0]})

        await self._serve(reader, writer, make)

    async def _provider(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def make(path: str, head: bytes) -> bytes | str:
            self.hits += path.startswith("/hit")
            if self.mode in TALKS:
                return self.mode
            made = REPLIES[self.mode]() if self.mode in REPLIES else answer(b"{}", kind="application/json")
            return _filled(made, {b"{port}": b"%d" % self.ports[0], **_KEYS})

        await self._serve(reader, writer, make)

    async def _walk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def make(path: str, head: bytes) -> bytes | str:
            made = WALKS[self.mode](unquote(path))
            if isinstance(made, str):
                return made
            host = head.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0]
            return _filled(made, {b"127.0.0.1:{port}": host, b"{other}": b"%d" % self.ports[1]})

        await self._serve(reader, writer, make)


_KEYS = {
    b"@KEY@": KEY.encode(), b"@HALF1@": KEY[:16].encode(), b"@HALF2@": KEY[16:].encode(),
    b"@BASE64@": base64.b64encode(KEY.encode()), b"@HEX@": KEY.encode().hex().encode(),
    b"@CAPITALS@": KEY.upper().encode(), b"@ESCAPED@": "".join(f"\\u{ord(each):04x}" for each in KEY).encode(),
}  # fmt: skip


def _filled(made: bytes, values: Mapping[bytes, bytes]) -> bytes:
    """The answer with values in place of their marks; the length told is mended where it was right."""
    if not any(mark in made for mark in values):
        return made
    head, gap, body = made.partition(b"\r\n\r\n")
    told = b"Content-Length: %d\r\n" % len(body)
    for mark, value in values.items():
        head, body = head.replace(mark, value), body.replace(mark, value)
    return head.replace(told, b"Content-Length: %d\r\n" % len(body)) + gap + body


if __name__ == "__main__":
    asyncio.run(Servers().start())
