"""Secrets in rows of base64, in a stream: masked as in the whole text, however it is cut."""

import base64
import itertools
import random
import textwrap

import pytest

from gateway.sanitize.scanner import CHUNK_CHARS, Scanner, scan_chunked
from gateway.sanitize.text import MAX_HOLDBACK_CHARS, open_rows_start
from tests.support.pieces import pieces_of
from tests.unit.sanitize.test_relayed import Relay, new_mask, text_of, whole

TOKEN = "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"
KEY_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = "-----BEGIN PRIVATE KEY-----\n" + f"{KEY_BODY}\n" * 20 + "-----END PRIVATE KEY-----\n"


def in_rows(plain: str | bytes, width: int = 76, indent: str = "", link: str = "\n") -> str:
    encoded = base64.b64encode(plain.encode() if isinstance(plain, str) else plain).decode()
    return link.join(indent + row for row in textwrap.wrap(encoded, width))


def streamed(text: str, pieces: list[str]) -> str:
    relay, mask = Relay(), new_mask()
    out = [event for piece in pieces for event in mask.push(relay.events(piece))]
    assert "".join(pieces) == text
    return text_of(out + mask.finish())


TEXTS = {
    f"{width} {indent!r} {link!r} {before}": f"data: |{link}{rows}{link}and so on, as before."
    for width, indent, link, before in itertools.product([60, 64, 76], ["", "    "], ["\n", "\r\n"], [0, 37, 53, 65])
    for rows in [in_rows(f"{'a line ' * 9}{'x' * before}\nTOKEN={TOKEN}\n{'more words ' * 20}", width, indent, link)]
} | {
    "at the end": "Here it is: " + in_rows(f"{'x' * 39}\nTOKEN={TOKEN}"),
    "a key": "Decode this:\n\n" + in_rows(PEM, 64) + "\n\nand use it.",
    "beyond ASCII": "Voilà – der Schlüssel:\n" + in_rows(f"größer {'x' * 43}\nTOKEN={TOKEN}\nund mehr") + "\nfertig",
    "no text": "A picture:\n" + in_rows(bytes(range(256)) * 3) + "\nand that was it.",
    "text behind no text": in_rows(bytes(range(171))) + "\n" + in_rows(f"{'x' * 39}\nTOKEN={TOKEN} and more") + "\n.",
    "many": in_rows("plain words of a text, line by line\n" * 450 + f"TOKEN={TOKEN}\n" + "more words\n" * 30) + "\n.",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_base64_in_a_stream_read_like_the_whole(name: str) -> None:
    text = TEXTS[name]
    assert (whole(text) == text) == (name == "no text")
    choose = random.Random(name)
    for size in (3, 17, 200):
        assert streamed(text, pieces_of(text, size)) == whole(text)
    for _ in range(5):
        cuts = sorted(choose.sample(range(1, len(text)), min(len(text) - 1, choose.randint(1, 60))))
        pieces = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
        assert streamed(text, pieces) == whole(text)


def test_rows_that_are_no_text_and_prose_go_out_while_the_stream_runs() -> None:
    for text in (in_rows((bytes(range(32, 122)) + bytes(9)) * 60), "Plain words of a line that ends here\n" * 100):
        relay, mask, sent = Relay(), new_mask(), 0
        for number, piece in enumerate(pieces_of(text, 10)):
            sent += len(mask.push(relay.events(piece)))
            assert (number + 1 - sent) * 10 <= 300


def test_rows_of_text_are_held_back_up_to_a_bound_and_scanned_a_few_times_only() -> None:
    scanned = 0

    class Counting(Scanner):
        def scan_uncached(self, text: str) -> list:  # type: ignore[type-arg]
            nonlocal scanned
            scanned += len(text)
            return super().scan_uncached(text)

    text = in_rows("plain words of a long text, line by line\n" * 1_500)
    relay, mask, sent = Relay(), new_mask(scanner=Counting()), 0
    for number, piece in enumerate(pieces_of(text, 10)):
        sent += len(mask.push(relay.events(piece)))
        assert (number + 1 - sent) * 10 <= MAX_HOLDBACK_CHARS
    assert scanned < 2 * len(text)


@pytest.mark.slow
@pytest.mark.parametrize("shift", range(76, 1_500, 97))
def test_rows_of_a_long_text_are_scanned_together_wherever_a_chunk_would_end(shift: int) -> None:
    lines = "words of a line\n" * 25
    text = "plain words. " * (CHUNK_CHARS // 13 + 1)
    text = text[: CHUNK_CHARS - shift] + "\n" + in_rows(f"{lines}TOKEN={TOKEN}\n{lines}") + "\nthe end of it"
    scan = Scanner()._scan_chunk
    assert scan_chunked(scan, text) == scan(text) != []


@pytest.mark.parametrize("tail", ["", "Q", "QUJD" * 10, "\r"])
def test_the_rows_begin_with_the_first_that_is_text(tail: str) -> None:
    binary, rows = in_rows(bytes(range(114, 228))), in_rows("readable words, " * 20)
    first = rows.index("\n", rows.index("\n") + 1) + 1
    text = f"{binary}\n{rows[:first]}".encode() + tail.encode()
    assert open_rows_start(text, 0) == len(binary) + 1
    assert open_rows_start(text, len(binary) + 2) == len(binary) + 1 + 77
    assert open_rows_start(text + b" a b", 0) == len(text) + 4
    assert open_rows_start(text + b"QUJD.", 0) == len(text) + 5
