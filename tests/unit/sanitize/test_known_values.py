"""Values that were found once are found wherever else they stand in a request, as whole words and at a bounded cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sanitize.findings import Finding
from gateway.sanitize.slot_mask import KnownValues, Masks
from tests.support.counted_work import growth

LETTERS = st.text("aB1-ä—한 ", max_size=60)
VALUES = st.lists(
    st.text("aB1-ä—한", min_size=1, max_size=5) | st.just("aB1" * 12 + "-") | st.just("aB1" * 12) | st.just("한" * 9),
    max_size=6,
)


def known(*values: str) -> KnownValues:
    return KnownValues({value: Finding(0, len(value), "SECRET") for value in values})


def one_by_one(text: str, values: list[str]) -> list[tuple[int, int]]:
    """The naive form: at each place, the longest value that stands there as a whole word."""
    found, at = list[tuple[int, int]](), 0
    while at < len(text):
        for value in sorted(values, key=lambda each: -len(each.encode())):
            end = at + len(value)
            if text.startswith(value, at) and not text[:at][-1:].isalnum() and not text[end : end + 1].isalnum():
                found.append((at, end))
                break
        at = found[-1][1] if found and found[-1][1] > at else at + 1
    return found


@given(LETTERS, VALUES)
def test_values_are_found_as_by_looking_for_each_at_every_place(text: str, values: list[str]) -> None:
    text = " ".join((text, *values, text))
    assert [each[:2] for each in known(*values).scan(text)] == one_by_one(text, values)


REPEATED = [("Zk83hfQQ92ab", "Zk83hfQQ92ab "), ("a" * 24 + "!", "a")]
REPEATED += [("-a" * 12 + "!", "-a"), ("password: x", "password: ")]


@pytest.mark.parametrize(("value", "text"), REPEATED)
def test_a_text_of_a_value_or_its_beginning_takes_work_in_step_with_its_length(value: str, text: str) -> None:
    values = known(value, *(f"{value}{number}" for number in range(255)))
    assert growth(values.scan, lambda size: text * (size // len(text)), 20_000) < 2.5


def test_a_value_of_megabytes_is_not_looked_for_and_others_are() -> None:
    masks = Masks()
    for value in ("key=" * 500_000, "Zk83hfQQ92ab", *(f"my password is Falcon{n}" * 60 for n in range(100))):
        masks.over(Finding(0, len(value), "SECRET"), value, "redact")
    assert "Zk83hfQQ92ab" in masks.found
    assert [each[:2] for each in KnownValues(masks.found).scan("so Zk83hfQQ92ab it is")] == [(3, 15)]
