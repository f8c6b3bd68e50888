"""Units of texts: what a unit says of its slots before they are made; long texts in UTF-8."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.long_texts import LONG_CHARS, GrowingText, MeasuredBytes, Utf8Text
from gateway.texts import TextSlot, TextUnit
from gateway.wire.json_default import as_json
from gateway.wire.json_drain import EncodedJson


def slot(text: str = "hello") -> TextSlot:
    return TextSlot([text], 0, "[0]")


def refuses() -> list[TextSlot]:
    raise AssertionError("the slots were made")


def test_a_unit_that_was_made_with_one_slot_gives_it() -> None:
    only = slot()
    assert TextUnit([only]).only_slot is only


def test_a_unit_of_no_slot_or_of_several_has_no_only_slot() -> None:
    assert TextUnit([]).only_slot is None
    assert TextUnit([slot(), slot()]).only_slot is None


def test_asking_for_the_only_slot_does_not_make_slots_that_are_made_on_demand() -> None:
    assert TextUnit(refuses).only_slot is None


WIDE = "\U0001f600a\u044f\u4e2d"


@pytest.mark.slow
@given(st.text(alphabet=WIDE + "\ud800", max_size=300), st.integers(0, 310), st.integers(0, 310))
def test_a_text_in_utf8_is_cut_like_the_string(text: str, start: int, end: int) -> None:
    text *= 1 if len(text) < 3 else 2_000
    start, end = start * max(1, len(text) // 300), end * max(1, len(text) // 300)
    kept = Utf8Text(text.encode("utf-8", "surrogatepass"))
    assert len(kept) == len(text) and kept.text == text == "".join(kept.pieces())
    for _ in range(2):
        assert kept[start:end] == text[start:end] and kept[: end // 2] == text[: end // 2]
    assert all(len(piece) <= LONG_CHARS for piece in kept.pieces())


@pytest.mark.slow
@given(st.lists(st.text(alphabet=WIDE, max_size=40), max_size=20), st.sampled_from([1, 3_000]))
def test_a_text_that_grows_is_its_pieces_joined(pieces: list[str], times: int) -> None:
    growing = GrowingText()
    for piece in pieces:
        growing.add(piece * times)
    assert growing.take().decode() == "".join(piece * times for piece in pieces)
    assert growing.take() == b""


def test_a_text_in_utf8_is_written_as_the_string_is() -> None:
    text = 'a "quoted" \\ \u044f \U0001f600\n' * 9_000
    value = {"text": Utf8Text(text.encode()), "more": [1]}
    assert orjson.loads(orjson.dumps(value, default=as_json)) == {"text": text, "more": [1]}
    assert orjson.loads(b"".join(EncodedJson.of(value, is_owned=False).parts)) == {"text": text, "more": [1]}


@pytest.mark.parametrize("expected", [0, 10, 5_000, 1 << 20])
def test_bytes_are_their_pieces_whatever_length_was_expected(expected: int) -> None:
    pieces = [b"ab" * number for number in range(100)]
    joined = MeasuredBytes(expected)
    for piece in pieces:
        joined.add(piece)
    assert joined.take() == b"".join(pieces)
