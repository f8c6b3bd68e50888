"""Texts of a stream that come again: masked as their pieces were, or once."""

from gateway.sanitize.stream_mask import RepeatedTexts
from gateway.texts import TextSlot

LONG = "\U0001f600" + "word " * 30_000


def slot_of(text: str, name: str = "text") -> TextSlot:
    return TextSlot({name: text}, name, name, name=name)


def test_a_long_text_is_masked_once_and_its_copies_like_it() -> None:
    repeated, asked = RepeatedTexts(), list[str]()

    def clean(slot: TextSlot) -> bool:
        asked.append(slot.name)
        slot.text = "masked"
        return True

    copies = [slot_of(LONG), slot_of(LONG), slot_of(LONG)]
    assert [repeated.mask_long(each, clean) for each in copies] == [True] * 3
    assert asked == ["text"] and {each.text for each in copies} == {"masked"}
    other = slot_of(LONG, "password")
    assert repeated.mask_long(other, clean) and asked == ["text", "password"]  # the name may make it a secret


def test_a_long_text_in_which_nothing_was_found_is_not_looked_at_again() -> None:
    repeated, asked = RepeatedTexts(), list[str]()

    def clean(slot: TextSlot) -> bool:
        asked.append(slot.name)
        return False

    slots = [slot_of(LONG), slot_of(LONG)]
    assert [repeated.mask_long(each, clean) for each in slots] == [False, False]
    assert asked == ["text"] and slots[0].text == slots[1].text == LONG
