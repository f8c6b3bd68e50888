"""Request bodies in a content coding: decoded within bounds, refused with words."""

import gzip
import random
import sys
import zlib

import pytest

from gateway.engines.fetch.decompression import MAX_MEMBERS
from gateway.errors import InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from gateway.resilience.slices import all_steps
from gateway.web.content_coding import coding_of, uncoded

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b'{"input": "' + b"Ghent " * 3_000 + b'"}'
_BARE = zlib.compressobj(wbits=-15)
_FRAMES = zstd.compress(BODY[:90]) + zstd.compress(BODY[90:])
CODED = {"gzip": gzip.compress(BODY), "deflate": zlib.compress(BODY), "zstd": _FRAMES}
_ZEROS = bytes(12_000_000)
BOMBS = {"gzip": gzip.compress(_ZEROS), "deflate": zlib.compress(_ZEROS), "zstd": zstd.compress(_ZEROS)}


@pytest.mark.parametrize("coding", CODED)
def test_a_body_is_decoded_and_a_damaged_or_cut_one_refused(coding: str) -> None:
    assert all_steps(uncoded(CODED[coding], coding, len(BODY))) == BODY
    for wrong in (b"no such coding", b"", CODED[coding][:-9]):
        with pytest.raises(InvalidRequest, match=f"not valid {coding}") as failure:
            all_steps(uncoded(wrong, coding, len(BODY)))
        assert failure.value.status == 400


def test_deflate_is_taken_bare_too() -> None:
    assert all_steps(uncoded(_BARE.compress(BODY) + _BARE.flush(), "deflate", len(BODY))) == BODY


@pytest.mark.parametrize("coding", CODED)
def test_a_body_that_is_too_long_when_it_is_decoded_is_refused_before_it_is_whole(coding: str) -> None:
    steps = uncoded(BOMBS[coding], coding, 4_000_000)
    with pytest.raises(PayloadTooLarge, match=r"server\.max_body_bytes"):
        for number, _ in enumerate(steps):
            assert number < 5, "at most some steps of a megabyte or two"


SKIPPED = b"\x50\x2a\x4d\x18" + bytes(4)
"""A frame that a decoder passes over (RFC 8878, 3.1.2)."""


@pytest.mark.parametrize("frame", [zstd.compress(b""), SKIPPED])
def test_frames_without_content_are_refused_after_few_of_them(frame: bytes) -> None:
    steps = 0
    with pytest.raises(InvalidRequest, match="not valid zstd"):
        for _ in uncoded(frame * 400_000, "zstd", len(BODY)):
            steps += 1
    assert steps <= 2 * MAX_MEMBERS


@pytest.mark.parametrize("size", [1, 40, 65_533, 65_536, 131_072])
def test_frames_may_end_anywhere(size: int) -> None:
    pieces = [zstd.compress(random.Random(size + number).randbytes(size)) for number in range(4)]
    whole = b"".join(random.Random(size + number).randbytes(size) for number in range(4))
    assert all_steps(uncoded(SKIPPED + b"".join(pieces) + SKIPPED, "zstd", len(whole))) == whole


@pytest.mark.parametrize(("header", "coding"), [("identity", ""), ("GZIP", "gzip"), ("x-gzip", "x-gzip"), ("", "")])
def test_codings_are_named_by_their_header(header: str, coding: str) -> None:
    assert coding_of({"Content-Encoding": header}) == coding and coding_of({}) == ""


@pytest.mark.parametrize("header", ["br", "gzip, zstd", "compress", "a\u0142b"])
def test_other_codings_are_refused_with_words(header: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="send"):
        coding_of({"Content-Encoding": header})
