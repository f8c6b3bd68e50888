"""Decodes whole answers of upstreams: large ones in slices, between which the event loop serves others.

Knows no route. Answers are not held to the memory that requests may take (`schemas.json_size`): log probabilities are
as dense as any JSON.
"""

import asyncio

import orjson

from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.resilience.slices import in_slices
from gateway.schemas import MAX_DEPTH, MEASURED_BYTES
from gateway.schemas.json_size import TooDeep, TooDense, TooManyValues, measure
from gateway.wire.large_json import decode, decode_steps

MAX_VALUES = 2_000_000
"""JSON values in an answer. Chosen: 16 MiB of log probabilities, with twenty for each place, have as many, and as many
bytes of embeddings fewer. At half such answers fail; at double, an upstream's answer of empty lists holds the loop for
twice as long where it is written."""


MAX_EVENT_VALUES = 600_000
"""JSON values in one event of a stream, which is decoded and written at once, and masked in a thread. Chosen: the end
of a /responses answer may hold log probabilities of 4,000 tokens, with twenty for each place (4.5 MB), which hold the
loop for 45 ms. At half such an event fails; at double it takes twice as long."""


async def checked_events(batch: list[bytes], stats: RequestStats) -> list[bytes]:
    """The events' data, unchanged; a large one sets `stats.has_large_events`. Raises UpstreamError: too many values."""
    for data in batch:
        if len(data) > MEASURED_BYTES:
            stats.has_large_events = True
            try:
                for _ in measure(data, MAX_EVENT_VALUES, MAX_DEPTH):
                    await asyncio.sleep(0)
            except TooManyValues as error:
                problem = f"an event of the upstream has at least {error.values} JSON values"
                raise UpstreamError(f"{problem}; the limit is {MAX_EVENT_VALUES}") from None
            except (TooDeep, TooDense):
                pass  # whoever decodes it says so
    return batch


async def decoded_answer(raw: bytes, *, max_values: int = MAX_VALUES, sender: str = "the upstream") -> object:
    """The value; None for what is no JSON, or nested too deeply. Raises UpstreamError, which names the `sender`: it has
    too many values."""
    if len(raw) <= min(MEASURED_BYTES, max_values):
        return json_or_none(raw)
    try:
        for _ in measure(raw, max_values, MAX_DEPTH):
            await asyncio.sleep(0)
    except TooManyValues as error:
        problem = f"{sender}'s answer has at least {error.values} JSON values; the limit is {max_values}"
        raise UpstreamError(problem) from None
    except TooDeep:
        return None
    except TooDense:
        pass
    steps = decode_steps(raw)
    del raw
    try:
        value: object = decode(await in_slices(steps))
    except orjson.JSONDecodeError:
        return None
    return value


def json_or_none(data: bytes) -> object:
    """The decoded value of a short text; None for what is no JSON."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value
