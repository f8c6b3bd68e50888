"""Characters that a recogniser confuses are settled by what stands around them, and told where it disagrees."""

import pytest

from gateway.ocr.text.doubts import Doubt, settle


def seconds(text: str, second: str) -> list[str]:
    """The same second choice for every character."""
    return [second] * len(text)


@pytest.mark.parametrize(
    ("read", "second", "settled"),
    [
        ("|0,50", "1", "10,50"), ("|,50", "1", "1,50"), ("12l4", "1", "1214"), ("l2.5O", "0", "l2.5O"),
        ("1.O5", "0", "1.05"), ("ERR0R", "O", "ERROR"), ("CrashLoopBack0ff", "O", "CrashLoopBackOff"),
        ("0OMKilled", "O", "OOMKilled"),
    ],
)  # fmt: skip
def test_a_character_that_its_word_cannot_hold_is_settled_without_a_doubt(read: str, second: str, settled: str) -> None:
    assert settle(read, seconds(read, second)) == (settled, [])


@pytest.mark.parametrize(
    "read", ["5,50|", "1,50!", "v1beta1", "0x0f", "c0ffee", "b0b", "H2O", "A4", "| 5 |", "1|2", "l"]
)
def test_what_a_word_may_hold_stays_as_it_was_read(read: str) -> None:
    assert settle(read, seconds(read, "?")) == (read, [])


def test_where_the_surroundings_and_the_second_choice_disagree_both_are_told() -> None:
    text, doubts = settle("sum 1O5 ERR0R", seconds("sum 1O5 ERR0R", "D"))
    assert (text, doubts) == ("sum 105 ERROR", [Doubt("105", "1O5"), Doubt("ERROR", "ERR0R")])
