"""Units of texts: what a unit says of its slots before they are made."""

from gateway.texts import TextSlot, TextUnit


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
