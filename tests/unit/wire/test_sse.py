"""The incoming event-stream parser: every cut, every line end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import UpstreamError
from gateway.wire.sse import Parser

LONG = "é" * 400 + "😀" * 100
STREAM = (
    '\ufeff: hello\n\ndata: {"a":1}\n\nevent: named\ndata:no space\nid: 7\nretry: 5\n\ndata: two\ndata: lines\n\n'
    f"data: {LONG}\n\n: ping\n\n\n\ndata: after blanks\n\ndata: [DONE]\n\n"
).encode()
EXPECTED = [b'{"a":1}', b"no space", b"two\nlines", LONG.encode(), b"after blanks", b"[DONE]"]


def parsed(pieces: list[bytes]) -> list[bytes]:
    parser = Parser()
    found = [data for piece in pieces for data in parser.feed(piece)]
    return found + parser.close()


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_events_are_the_same_wherever_the_network_cuts_once(line_end: bytes) -> None:
    data = STREAM.replace(b"\n", line_end)
    for cut in range(len(data) + 1):
        assert parsed([data[:cut], data[cut:]]) == EXPECTED, cut


@pytest.mark.slow
@given(st.lists(st.integers(0, len(STREAM) * 2), max_size=30), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_are_the_same_wherever_the_network_cuts(cuts: list[int], line_end: bytes) -> None:
    data = STREAM.replace(b"\n", line_end)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert parsed([data[a:b] for a, b in pairwise(places)]) == EXPECTED


def test_one_byte_at_a_time() -> None:
    assert parsed([STREAM[i : i + 1] for i in range(len(STREAM))]) == EXPECTED


def test_a_missing_final_blank_line_loses_nothing() -> None:
    assert parsed([b"data: a\n\ndata: b"]) == [b"a", b"b"] and parsed([b"data: a\r\n\r\ndata: b\r\n"]) == [b"a", b"b"]


def test_an_event_of_600_kb_in_small_reads_is_whole() -> None:
    body = b"x" * 600_000
    data = b"data: " + body + b"\n\n"
    assert parsed([data[i : i + 1000] for i in range(0, len(data), 1000)]) == [body]


@pytest.mark.parametrize("step", [100, 10_000])
def test_an_event_beyond_the_cap_is_an_error_of_the_upstream(step: int) -> None:
    parser = Parser(max_event_bytes=5000)
    data = b"data: " + b"x" * 6000 + b"\n\n"
    with pytest.raises(UpstreamError):
        for start in range(0, len(data), step):
            parser.feed(data[start : start + step])
