"""The fingerprint of an embedded server's chunks, replaced by bytes, against the naive form."""

from typing import Any

import orjson

from gateway.domain import Json, RequestStats
from gateway.providers.wrappers import OnDemandUpstream
from tests.support.batches import Batches

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

    async def stream(self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None) -> Batches:
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
