"""Long bodies in pieces, between which the event loop serves others. Knows no HTTP and no event."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator

from gateway.engines.fetch.decompress import DamagedBody, Decompressor, OutputTooLarge, steps_of
from gateway.errors import UpstreamError

PIECE_BYTES = 32_768
"""Of a body that is read. Chosen: 300 small events, which take up to 20 ms to bring into another format (asyncio reads
262,144 bytes, 100 ms); at half, a fast stream is written in twice as many pieces, at double others wait for 40 ms."""


def pieces_of(part: bytes) -> Iterator[bytes]:
    """A part of a body in pieces of PIECE_BYTES."""
    return (part[start : start + PIECE_BYTES] for start in range(0, len(part), PIECE_BYTES))


async def in_turns(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The pieces, with a turn for other tasks on the event loop after each."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


async def unpacked(decompressor: Decompressor, part: bytes, max_bytes: int) -> AsyncIterator[bytes]:
    """The output of a part of a compressed body, none empty, with turns for others. Raises UpstreamError when it is
    damaged, or more than `max_bytes`."""
    for step in steps_of(part):
        try:
            output = decompressor.feed(step, max_bytes)
        except DamagedBody:
            raise UpstreamError("the upstream's answer is not what its Content-Encoding says") from None
        except OutputTooLarge:
            raise UpstreamError("the upstream's answer is too large") from None
        max_bytes -= len(output)
        if output:
            yield output
        if len(output) > PIECE_BYTES:
            await asyncio.sleep(0)
