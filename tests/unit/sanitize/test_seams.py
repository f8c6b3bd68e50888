"""A value split over texts of one flow is masked as if the texts were one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.settings import Sanitize
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.texts import TextSlot

CARD, KEY = "4539 1488 0343 6467", "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"
TABLE = actions(Sanitize(), "requests")


def masked(texts: list[str], flows: list[object] | None = None) -> tuple[list[str], list[str]]:
    """The texts after masking, and the entities that were reported."""
    holder, found = list(texts), list[str]()
    places = flows or [0] * len(texts)
    slots = [TextSlot(holder, index, f"[{index}]", flow=places[index]) for index in range(len(holder))]
    masker = SlotMasker(Scanner(), TABLE, lambda entity, action, where: found.append(entity))
    list(masker.seam_steps(slots))
    for slot in slots:
        masker.clean(slot)
    return holder, found


@pytest.mark.parametrize("value", [CARD, KEY])
def test_a_value_cut_anywhere_is_masked_once(value: str) -> None:
    for cut in range(1, len(value)):
        texts, found = masked([f"It is {value[:cut]}", f"{value[cut:]} as told"])
        assert "".join(texts) in (f"It is [REDACTED:{found[0]}] as told",), cut
        assert len(found) == 1


@pytest.mark.slow
@given(st.lists(st.integers(1, len(KEY) - 1), max_size=8), st.integers(0, 600))
def test_a_key_in_any_number_of_pieces_is_masked(cuts: list[int], filler: int) -> None:
    ends = sorted({0, *cuts, len(KEY)})
    pieces = [KEY[start:end] for start, end in pairwise(ends)]
    pieces[0], pieces[-1] = "word " * filler + pieces[0], pieces[-1] + " word" * filler
    texts, found = masked(pieces)
    assert KEY not in "".join(texts) and "[REDACTED:SECRET]" in "".join(texts) and found == ["SECRET"]


def test_texts_of_other_flows_are_not_joined() -> None:
    texts, found = masked([CARD[:9], "between", CARD[9:]], [1, 2, 1])
    assert found == ["CREDIT_CARD"] and texts == ["[REDACTED:CREDIT_CARD]", "between", ""]
    assert masked([CARD[:9], CARD[9:]], [1, 2])[1] == []


def test_whole_values_beside_a_seam_are_found_once_each() -> None:
    texts, found = masked([f"Thanks {CARD}", f"{KEY} and so on"])
    assert texts == ["Thanks [REDACTED:CREDIT_CARD]", "[REDACTED:SECRET] and so on"]
    assert sorted(found) == ["CREDIT_CARD", "SECRET"]


def test_a_value_deep_in_thousands_of_parts_is_masked() -> None:
    parts = ["some words of a part, not few of them " * 4 for _ in range(600)]
    parts[300:302] = ["it is " + CARD[:9], CARD[9:] + " there"]
    texts, found = masked(parts)
    assert found == ["CREDIT_CARD"] and texts[300:302] == ["it is [REDACTED:CREDIT_CARD]", " there"]
    assert texts[:300] == parts[:300] and texts[302:] == parts[302:]
