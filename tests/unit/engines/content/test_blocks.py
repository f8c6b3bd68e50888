"""Categories of names are found in one look; they are those of the patterns searched one after the other."""

import random

import pytest

from gateway.engines.content.blocks import CATEGORIES, MASKS, category_bits


def _naive(name: str) -> int:
    return sum(bit for bit, pattern in MASKS if pattern.search(name))


@pytest.mark.parametrize(
    "name",
    ["", "ad", "ads", "bad", "ad-slot", "load", "toc", "tocs", "rail", "railway", "copyright", "copy", "headline", "x"],
)
def test_words_with_bounds_and_words_that_begin_like_others(name: str) -> None:
    assert category_bits(name) == _naive(name)


def test_categories_are_those_of_each_pattern() -> None:
    source = random.Random(5)
    words = [word.replace(r"\b", "") for _, pattern in CATEGORIES for word in pattern.split("|")]
    pieces = [*words, *(word[:-1] for word in words), "-", "_", "s", "é", "1"]
    for _ in range(20_000):
        name = "".join(source.choices(pieces, k=source.randint(1, 4)))
        assert category_bits(name) == _naive(name), name
