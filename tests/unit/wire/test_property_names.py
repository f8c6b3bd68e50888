"""Property names are masked in time linear in their number, and the slots of their values stay with them."""

from gateway.wire.text_walk import KeySlot, PropertyNames, answer_slots
from tests.support.counted_work import growth


def test_a_renamed_property_becomes_the_last_and_loses_no_neighbour() -> None:
    holder: dict[str, object] = {"a": 1, "x@y": 2, "MASK": 3}
    KeySlot.of(holder, "x@y", "", "label", PropertyNames()).text = "MASK"
    assert list(holder.items()) == [("a", 1), ("MASK", 3), ("MASK_2", 2)]


def test_names_that_become_equal_get_different_numbers_and_keep_their_values() -> None:
    names = PropertyNames()
    holder: dict[str, object] = {f"x{number}": number for number in range(200)}
    slots = [KeySlot.of(holder, name, "", "label", names) for name in list(holder)]
    for slot in slots:
        slot.text = "MASK"
    assert sorted(holder.values(), key=str) == sorted(range(200), key=str)
    assert set(holder) == {"MASK", *(f"MASK_{number}" for number in range(2, 201))}
    assert all(holder[slot.text] == number for number, slot in enumerate(slots))


def test_a_value_whose_name_was_masked_is_still_read_and_replaced_through_its_slot() -> None:
    data = {"answer": {"x@example.org": "a text that is long enough to be a slot of its own " * 4}}
    slots = answer_slots(data)
    value = next(slot for slot in slots if slot.form == "text")
    name = next(slot for slot in slots if isinstance(slot, KeySlot))
    name.text = "[REDACTED:EMAIL]"
    assert value.is_there
    value.text = "gone"
    assert data == {"answer": {"[REDACTED:EMAIL]": "gone"}}


def test_the_work_of_renaming_grows_with_the_number_of_names() -> None:
    def rename(holder: dict[str, object]) -> None:
        names = PropertyNames()
        for name in list(holder):
            KeySlot.of(holder, name, "", "label", names).text = "[REDACTED:EMAIL]"

    assert growth(rename, lambda count: {f"x{number}": number for number in range(count)}, 500) < 3
