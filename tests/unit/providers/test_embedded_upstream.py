"""The fingerprint of an embedded server's chunks, replaced by bytes, against the naive form."""

from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from gateway.domain import Json, RequestStats
from gateway.providers.embedded import OnDemandUpstream
from gateway.providers.large_answers import checked_events
from gateway.wire.decoded_event import event_value

OURS = 'ours "1"'
TRICKY = ["plain", '"system_fingerprint":"b1"', "b1", "\\", 'x"system_fingerprint":"b1"y']


def chunk(text: str, **more: Any) -> Json:
    return {"choices": [{"delta": {"content": text}}], **more}


class Scripted:
    """An upstream that streams prepared batches."""

    name = "scripted"

    def __init__(self, batches: list[list[bytes]]) -> None:
        self._batches = batches

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        return chunk("a")

    async def stream(self, body: Json, stats: RequestStats, *, route: str = "") -> AsyncGenerator[list[bytes], None]:
        for batch in self._batches:
            yield batch


async def ready() -> None:
    pass


def naive(data: bytes) -> Any:
    """Decodes the chunk and replaces the field where it is."""
    decoded = orjson.loads(data)
    return {**decoded, "system_fingerprint": OURS} if "system_fingerprint" in decoded else decoded


async def test_replacing_bytes_equals_replacing_the_field() -> None:
    chunks = [chunk(text, **more) for text in TRICKY for more in ({"system_fingerprint": "b1"}, {})]
    batches = [[orjson.dumps(each) for each in chunks[start : start + 3]] for start in range(0, len(chunks), 3)]
    upstream = OnDemandUpstream(Scripted(batches), ready, OURS)
    result = [data async for batch in upstream.stream({}, RequestStats()) for data in batch]
    assert [orjson.loads(data) for data in result] == [naive(data) for batch in batches for data in batch]


async def test_a_large_chunk_that_was_decoded_already_gets_it_too() -> None:
    large = chunk("a", system_fingerprint="b1", more=["ab"] * 100_000)
    batches = [[orjson.dumps(chunk("a", system_fingerprint="b1"))], [orjson.dumps(large)], [orjson.dumps(large)[:-1]]]
    expected = [naive(batches[0][0]), naive(batches[1][0])]
    for batch in batches:
        await checked_events(batch, RequestStats())
    stream = OnDemandUpstream(Scripted(batches), ready, OURS).stream({}, RequestStats())
    *good, bad = [data async for batch in stream for data in batch]
    assert [event_value(data) for data in good] == expected
    with pytest.raises(orjson.JSONDecodeError):
        event_value(bad)
