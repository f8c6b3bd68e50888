"""Keys of letters alone are told from names that people make of words."""

import base64
import random
import string

import pytest

from gateway.sanitize.detectors.value_forms import has_odd_pairs, is_public
from tests.support.scanned import PLACES, kinds


@pytest.mark.parametrize("text", PLACES["keys of letters alone"])
def test_random_letters_alone_and_chance_words_in_them_hide_no_key(text: str) -> None:
    assert "SECRET" in [entity for entity, _ in kinds(f"please use {text} for it")]


def test_a_point_of_a_curve_is_public_and_as_many_other_bytes_are_not() -> None:
    draw = random.Random(8)
    others = [draw.randbytes(65) for _ in range(2_000)]
    points = [b"\x04" + each[1:] for each in others]
    assert all(is_public(base64.urlsafe_b64encode(each).rstrip(b"=")) for each in points)
    assert sum(is_public(base64.urlsafe_b64encode(each).rstrip(b"=")) for each in others) < 20


def test_letters_that_are_drawn_at_random_are_told_from_words_by_their_pairs() -> None:
    draw = random.Random(7)
    drawn = ["".join(draw.choices(string.ascii_letters, k=20)).encode() for _ in range(500)]
    assert sum(map(has_odd_pairs, drawn)) > 0.88 * len(drawn)


@pytest.mark.parametrize("name", PLACES["names of usual letters"])
def test_names_and_words_of_several_languages_have_usual_pairs(name: str) -> None:
    assert not has_odd_pairs(name.encode())
