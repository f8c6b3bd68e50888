"""Words that make something of the numbers beside them."""

import pytest

from tests.support.scanned import mask


@pytest.mark.parametrize(("word", "reach", "number"), [("phone", 48, "6512345678"), ("ssn", 64, "536229873")])
@pytest.mark.parametrize("others", [0, 3, 60], ids=["alone", "few", "many"])
def test_a_word_counts_as_far_as_it_reaches_among_many_numbers(word: str, reach: int, number: str, others: int) -> None:
    filler = "plain words go on and on. " * 60
    before = filler + "".join(f"{place} to 2024-2025, {filler[:40]}" for place in range(others)) + filler
    near, far = (f"{word}{'.' * (gap - len(word))} {number} " for gap in (reach - 2, reach + 40))
    assert number not in mask(f"{before}{near}{filler}") and number in mask(f"{before}{far}{filler}")
