"""Blocks judged by those beside them."""

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.neighbours import judged_with_neighbours
from gateway.engines.html.dom import parse


def _judged(texts: list[str], probabilities: list[float]) -> list[float]:
    body = "".join(f"<p>{text}</p>" for text in texts)
    return judged_with_neighbours(blocks.collect(parse(f"<body>{body}</body>").find("body")), probabilities)


def test_a_field_between_likely_ones_becomes_likelier_and_one_farther_off_does_not_count() -> None:
    judged = _judged(["Lamp"] * 5, [0.9, 0.3, 0.9, 0.1, 0.1])
    assert judged[1] > 0.35
    assert judged[4] == pytest.approx(0.1)


def test_a_long_neighbour_counts_more_than_a_short_one() -> None:
    assert _judged(["word " * 49, "Lamp"], [0.9, 0.5])[1] > _judged(["Lamp", "Lamp"], [0.9, 0.5])[1] > 0.5


def test_one_block_and_none_are_as_they_were() -> None:
    assert _judged(["Lamp"], [0.4]) == pytest.approx([0.4])
    assert _judged([], []) == []


def test_probabilities_of_zero_and_one_are_judged_too() -> None:
    assert all(0 < each < 1 for each in _judged(["Lamp", "Oil"], [0.0, 1.0]))
