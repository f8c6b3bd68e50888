"""The one decompressor: what it reads equals the standard library's whole-body functions, and its cost is bounded."""

import gzip
import random
import zlib

import pytest

from gateway.engines.fetch.decompression import MAX_MEMBERS, DamagedBody, Decompressor, OutputTooLarge, decoder_for
from gateway.engines.fetch.errors import FetchFailed

TEXT = "What a page says, and says again: gateways, crawlers, ümläuts. ".encode() * 400


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def unpack(body: bytes, coding: str = "gzip", *, piece_bytes: int = 1 << 20, max_bytes: int = 1 << 24) -> bytes:
    reader = Decompressor("gzip" if coding == "gzip" else "deflate")
    pieces = [body[start : start + piece_bytes] for start in range(0, len(body), piece_bytes)]
    return b"".join(reader.feed(piece, max_bytes) for piece in pieces)


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 100, 1 << 20])
@pytest.mark.parametrize(
    ("coding", "body", "plain"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0), TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0) + gzip.compress(b"second", mtime=0), TEXT + b"second"),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 700, TEXT),
        ("gzip", zlib.compress(TEXT), TEXT),  # mislabelled
        ("deflate", zlib.compress(TEXT), TEXT),
        ("deflate", raw_deflate(TEXT), TEXT),
        ("deflate", gzip.compress(TEXT, mtime=0), TEXT),  # mislabelled
        ("gzip", b"", b""),
    ],
)
def test_every_form_is_read_however_it_is_cut(coding: str, body: bytes, plain: bytes, piece_bytes: int) -> None:
    assert unpack(body, coding, piece_bytes=piece_bytes) == plain


@pytest.mark.slow
def test_random_bodies_in_random_pieces_equal_the_whole_body_functions() -> None:
    chance = random.Random(20261122)
    for _ in range(150):
        members = [chance.randbytes(chance.randrange(40_000)) for _ in range(chance.randrange(1, 5))]
        body = b"".join(gzip.compress(each, chance.randrange(10)) for each in members)
        assert unpack(body, piece_bytes=chance.randrange(1, 30_000)) == gzip.decompress(body)
        assert unpack(zlib.compress(members[0]), "deflate", piece_bytes=chance.randrange(1, 9_000)) == members[0]
        assert unpack(raw_deflate(members[0]), "deflate", piece_bytes=chance.randrange(1, 9_000)) == members[0]


def test_a_member_that_is_cut_yields_what_came_and_is_not_complete() -> None:
    reader = Decompressor("gzip")
    complete = [reader.is_complete]
    assert TEXT.startswith(reader.feed(gzip.compress(TEXT, mtime=0)[:-9], 1 << 20))
    complete.append(reader.is_complete)
    whole = Decompressor("gzip")
    whole.feed(gzip.compress(TEXT, mtime=0), 1 << 20)
    assert [*complete, whole.is_complete] == [True, False, True]


@pytest.mark.parametrize(
    "body", [gzip.compress(b"a" * 50_000_000, mtime=0), gzip.compress(b"a" * 60_000, mtime=0) * 20]
)
def test_output_ends_at_the_cap(body: bytes) -> None:
    with pytest.raises(OutputTooLarge):
        unpack(body, max_bytes=400_000)
    assert unpack(gzip.compress(b"a" * 400_000, mtime=0), max_bytes=400_000) == b"a" * 400_000


@pytest.mark.slow
def test_many_empty_members_are_refused() -> None:
    body = gzip.compress(b"", mtime=0) * 200_000
    for piece_bytes in (len(body), 1_000):
        with pytest.raises(DamagedBody, match="more than 1000 members"):
            unpack(body, piece_bytes=piece_bytes)
    assert unpack(gzip.compress(b"x", mtime=0) * MAX_MEMBERS) == b"x" * MAX_MEMBERS


@pytest.mark.parametrize(
    "body", [b"plain text", gzip.compress(TEXT, mtime=0)[:60] + b"\xff" * 200, gzip.compress(b"x", mtime=0) + b"\x1fx."]
)
def test_damage_is_an_error(body: bytes) -> None:
    with pytest.raises(DamagedBody):
        unpack(body)


def test_pages_fail_with_the_fetchers_own_errors() -> None:
    with pytest.raises(FetchFailed, match="larger than 10 bytes"):
        decoder_for("gzip", 10).feed(gzip.compress(TEXT, mtime=0))
    with pytest.raises(FetchFailed, match="damaged"):
        decoder_for("gzip", 100).feed(b"plain text")
    with pytest.raises(FetchFailed, match="larger than 3 bytes"):
        decoder_for("identity", 3).feed(b"four")
    for coding in ("br", "zstd", "gzip, br", "gzip, gzip"):
        with pytest.raises(FetchFailed, match="not asked for"):
            decoder_for(coding, 100)
    for coding in ("utf-8", "none", "UTF-8, 8bit", "identity, none"):
        assert decoder_for(coding, 10).feed(b"plain") == b"plain"
    assert decoder_for("gzip, identity", len(TEXT)).feed(gzip.compress(TEXT, mtime=0)) == TEXT
    page = decoder_for(" X-GZIP ", len(TEXT) * 2)
    assert page.feed(gzip.compress(TEXT, mtime=0)) + page.feed(gzip.compress(TEXT, mtime=0)) == TEXT * 2
    with pytest.raises(FetchFailed, match="larger"):
        page.feed(gzip.compress(b"x", mtime=0))
