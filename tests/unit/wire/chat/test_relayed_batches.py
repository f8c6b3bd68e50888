"""The short way of a stream's most usual batches, relayed chunks alone, gives what the long way gives."""

import orjson
import pytest

from gateway.wire import sse
from tests.unit.wire.chat.test_stream import STOP, TEXTS, chunk, new_stream, taken


def test_the_short_way_for_relayed_chunks_gives_what_the_long_way_gives() -> None:
    contents = [*TEXTS, *TEXTS]
    lone = [[orjson.dumps(chunk({"content": each}))] for each in contents]
    halves = [lone[0][0].replace(b"plain", half) for half in (b"\xc3", b"\xa9")]  # of one character
    in_lines = [lone[0][0].replace(b'{"delta"', b'{\n"delta"'), lone[0][0]]
    last = [[orjson.dumps(chunk({"content": "c"}, x=1))], [orjson.dumps(STOP)]]
    batches = [*lone, [], [each for [each] in lone], [*lone[0], *lone[1]], halves, in_lines, *last]
    long_way, short_way, relayed = new_stream(), new_stream(), 0
    for batch in batches:
        frames = short_way.relayed(batch)
        relayed += frames is not None
        ours = sse.encode_all(taken(short_way, *batch)) if frames is None else frames
        assert ours == sse.encode_all(taken(long_way, *batch))
    assert relayed > len(TEXTS) and short_way.usage == long_way.usage


def test_the_short_way_for_one_relayed_chunk_ends_at_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.wire.chat.stream.MAX_STREAM_CHARS", 1_000)
    stream, data = new_stream(), orjson.dumps(chunk({"content": "a" * 100}))
    taken(stream, data)
    ways: list[bool] = []
    for _ in range(9):
        ways.append(stream.relayed([data]) is not None)
        assert ways[-1] or stream.take([data])[1] is None
    assert ways[:5] == [True] * 5 and ways[-1] is False
    assert stream.relayed([data]) is None
    _, fault = stream.take([data])
    assert fault is not None and "too long" in fault.message
