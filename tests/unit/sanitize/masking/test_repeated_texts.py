"""Texts of a stream that come again: masked as their pieces were, or once."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain import Event
from gateway.long_texts import Utf8Text
from gateway.sanitize.masking.event_queue import PendingEvent
from gateway.sanitize.masking.repeated_texts import RepeatedTexts
from gateway.sanitize.masking.stream_channel import Piece, Segment, _edited, _edited_utf8
from gateway.texts import TextSlot

LONG = "\U0001f600" + "word " * 30_000


def slot_of(text: str | Utf8Text, name: str = "text") -> TextSlot:
    return TextSlot({name: text}, name, name, name=name)


def test_a_long_text_is_masked_once_and_its_copies_get_the_same_object() -> None:
    repeated, asked = RepeatedTexts(), list[str]()

    def clean(slot: TextSlot) -> bool:
        asked.append(slot.name)
        slot.keep(Utf8Text(b"masked"))
        return True

    copies = [slot_of(Utf8Text(LONG.encode())), slot_of(Utf8Text(LONG.encode())), slot_of(LONG)]
    assert [repeated.mask_long(each, clean) for each in copies] == [True] * 3
    assert asked == ["text"] and len({id(each.in_utf8) for each in copies}) == 1
    other = slot_of(LONG, "password")
    assert repeated.mask_long(other, clean) and asked == ["text", "password"]  # the name may make it a secret


def test_a_long_text_in_which_nothing_was_found_is_not_looked_at_again() -> None:
    repeated, asked = RepeatedTexts(), list[str]()

    def clean(slot: TextSlot) -> bool:
        asked.append(slot.name)
        return False

    slots = [slot_of(LONG), slot_of(Utf8Text(LONG.encode()))]
    assert [repeated.mask_long(each, clean) for each in slots] == [False, False]
    assert asked == ["text"] and slots[0].text == slots[1].text == LONG


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 130), st.integers(0, 40)), max_size=6), st.integers(0, 60), st.booleans())
def test_edits_of_a_text_in_utf8_are_those_of_the_string(spans: list[tuple[int, int]], start: int, wide: bool) -> None:
    scale = 2_000 if wide else 1
    text = "a\u044f\U0001f600z" * 15 * scale
    edits, at = list[tuple[int, int, str]](), 0
    for first, length in sorted(spans):
        begin = max(at, first * scale)
        at = begin + length * scale
        edits.append((begin, at, f"[{first}]"))
    start *= scale
    end = start + len(text)
    pending = PendingEvent(Event.from_data({}), 1)
    naive = _edited(Piece(slot_of(text), start, end, pending), text, deque(edits))
    edited = _edited_utf8(Segment(text.encode(), start, end), deque(edits))
    assert (edited.text if isinstance(edited, Utf8Text) else edited) == naive
