"""Decodes large answers of upstreams, and large events of their streams, in slices, between which the event loop serves
others.

What a model server sends may take as much memory decoded as a request may (`schemas.json_size`): some
repeat the request. Log probabilities, as dense as any JSON, are no part of that: they stay JSON
(`wire.logprobs_packer`).
"""

import asyncio
import codecs

import orjson

from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.body_pieces import PIECE_BYTES
from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import in_slices
from gateway.schemas import MAX_DEPTH, MEASURED_BYTES
from gateway.schemas.json_size import FREE_BYTES, MAX_TIMES, TooDeep, TooDense, TooManyValues, measure
from gateway.wire import repaired_json
from gateway.wire.decoded_event import DecodedEvent
from gateway.wire.large_json import DecodedBody, decode_steps
from gateway.wire.logprobs_packer import LogprobsPacker, TooLarge

MAX_VALUES = 2_000_000
"""JSON values in an answer. Chosen: 16 MiB of log probabilities, with twenty for each place, have as many, and as many
bytes of embeddings fewer. At half such answers fail; at double, an upstream's answer of empty lists holds the loop for
twice as long where it is written."""


MAX_EVENT_VALUES = 600_000
"""JSON values in one event of a stream. Chosen: the end of a /responses answer may hold log probabilities of 4,000
tokens, with twenty for each place (4.5 MB). At half such an event fails; at double it takes twice as long."""


LONG_TEXTS = {"responses": frozenset(("text", "refusal", "arguments"))}
"""By route: the members of a model's answer whose long texts are kept in UTF-8, as nobody on their way needs strings.
Several events of a stream have each of them, and masking one makes another."""


async def checked_events(
    batch: list[bytes], stats: RequestStats, utf8_names: frozenset[str] = frozenset()
) -> list[bytes]:
    """The events' data; large ones decoded, and let go. A long one sets `stats.has_large_answer`: nothing is done where
    none has more than PIECE_BYTES. Long texts with one of the `utf8_names` are `long_texts.Utf8Text`.

    Raises UpstreamError: too many values, or too large in memory.
    """
    for index in range(len(batch)):
        size = len(batch[index])
        if size > PIECE_BYTES:
            stats.has_large_answer = True
        if size > MEASURED_BYTES:
            held = [batch[index]]
            batch[index] = b""
            batch[index] = await _decoded_event(held, utf8_names)
    return batch


async def _decoded_event(held: list[bytes], utf8_names: frozenset[str]) -> bytes:
    """The event for the data in a list, which is empty afterwards: nobody else holds it while it is decoded."""
    size = len(held[0])
    if not _is_utf8(held[0]):  # a server may cut a character in two
        held[0] = held[0].decode(errors="replace").encode()
    try:
        body = await _decoded(held, MAX_EVENT_VALUES, "an event of the upstream", utf8_names)
    except TooDeep:
        body = DecodedBody(size, error=orjson.JSONDecodeError("nested too deeply", "", 0))
    return DecodedEvent.of(body)


def _is_utf8(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), PIECE_BYTES):
            decoder.decode(data[start : start + PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


async def decoded_answer(
    raw: bytes,
    stats: RequestStats | None = None,
    *,
    max_values: int = MAX_VALUES,
    sender: str = "the upstream",
    utf8_names: frozenset[str] | None = None,
) -> object:
    """The value; None for what is no JSON, or nested too deeply. With `utf8_names` the log probabilities of a large
    answer are `wire.logprobs.PackedLogprobs`, long texts with one of these names `long_texts.Utf8Text`, and half
    characters of a small one U+FFFD. Sets `stats.answer_bytes`, and `stats.has_large_answer` for a large one.

    Raises UpstreamError, which names the `sender`: it has too many values, or takes too much memory."""
    is_large = len(raw) > min(MEASURED_BYTES, max_values)
    if stats is not None:
        stats.answer_bytes, stats.has_large_answer = len(raw), is_large or stats.has_large_answer
    if not is_large:
        return json_or_none(raw, repairs=utf8_names is not None)
    held = [raw]
    del raw
    try:
        value: object = (await _decoded(held, max_values, f"{sender}'s answer", utf8_names)).take()
    except (TooDeep, orjson.JSONDecodeError):
        return None
    return value


async def _decoded(held: list[bytes], max_values: int, name: str, utf8_names: frozenset[str] | None) -> DecodedBody:
    """Empties the list. Raises TooDeep, and UpstreamError, which begins with the `name`."""
    try:
        for _ in measure(held[0], max_values, MAX_DEPTH):
            await asyncio.sleep(0)
    except TooManyValues as error:
        raise UpstreamError(f"{name} has at least {error.values} JSON values; the limit is {max_values}") from None
    except TooDense:
        pass  # an estimate; the packer weighs what is decoded
    limit_bytes = max(FREE_BYTES, int(MAX_TIMES * len(held[0])))
    give_back()  # what reading has used
    steps = decode_steps(held.pop(), None if utf8_names is None else LogprobsPacker(limit_bytes, utf8_names))
    try:
        body = await in_slices(steps)
        give_back()  # what decoding has used
        return body
    except TooLarge as error:
        problem = f"{name} takes more memory than its size allows; the limit is {error.limit_bytes} bytes"
        raise UpstreamError(problem) from None


def json_or_none(data: bytes, repairs: bool = False) -> object:
    """The decoded value of a short text; None for what is no JSON. With `repairs` half a character is U+FFFD."""
    try:
        value: object = repaired_json.loads(data) if repairs else orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value
