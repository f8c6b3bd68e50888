"""Reads a page's body in pieces. When the connection breaks off, what came before is kept, as browsers do."""

from collections.abc import AsyncIterator

import aiohttp

from gateway.engines.fetch.bounded_answers import EndlessAnswer


class PagePieces:
    """Iterates over a response's body once. `broke_off`: the site announced more than it sent."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.broke_off = False
        self._content = response.content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces. Raises aiohttp.ClientPayloadError where nothing came, and EndlessAnswer."""
        came = False
        try:
            async for piece in self._content.iter_any():
                came = came or bool(piece)
                yield piece
        except aiohttp.ClientPayloadError as error:
            if not came or isinstance(error, EndlessAnswer):
                raise
            self.broke_off = True
