"""Short strings that are scanned together are masked as each would be by itself."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import Sanitize
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot

VALUES = [
    "4539 1488 0343 6467", "GB12 WEST 1234 5698 7654 31", "ghp_x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi",
    "bob@posthaus.org",
    "+41 44 668 18 00", "8.8.4.4", "AKIAQ3EGRZ7VBN5TWXYZ", "123-45-6789", "https://bob:hunter2x9@posthaus.org/a",
    "name [at] example [dot] org",
]  # fmt: skip
NEIGHBOURS = [
    "order number", "version", "plain words", "17", "2019-04-03", "v1.2.3.4", "call", "ISBN", "a-b", "x", "id", "0x1f",
    "tel", "card:", "password", "1111", "3.14", "the quick brown fox", "§ 13.2", "http://example.org", "-", "12:30",
]  # fmt: skip
NAMES = ["a", "note", "token", "phone", "password"]
TABLE = actions(Sanitize(), "requests")


def masked(texts: list[tuple[str, str]], *, together: bool) -> tuple[list[str], list[str]]:
    holder: list[Any] = [text for _, text in texts]
    found = list[str]()
    slots = [TextSlot(holder, index, f"[{index}]", name=name) for index, (name, _) in enumerate(texts)]
    masker = SlotMasker(Scanner(), TABLE, lambda entity, action, where: found.append(f"{where} {entity}"))
    for slot in [GroupSlot.of(slots)] if together else slots:
        masker.clean(slot)
    return holder, sorted(found)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES + NEIGHBOURS * 2)), min_size=1, max_size=12))
def test_a_group_is_masked_like_its_members(texts: list[tuple[str, str]]) -> None:
    assert masked(texts, together=True) == masked(texts, together=False)


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_no_neighbour_hides_a_value(neighbour: str) -> None:
    for value in VALUES:
        texts = [("a", neighbour), ("a", value), ("a", neighbour)]
        assert masked(texts, together=True) == masked(texts, together=False)


@pytest.mark.parametrize("units", [10**9, 0], ids=["alone", "beside other lines once the allowance is spent"])
def test_all_of_many_short_strings_are_masked_and_counted(units: int) -> None:
    holder = [f"ghp_{n:036d}x{n}".replace("0000000000", "a8Zk2Qp9Lx") for n in range(50)] + ["an ordinary text"]
    slots, notes = [TextSlot(holder, index, f"[{index}]") for index in range(len(holder))], list[str]()
    masker = SlotMasker(Scanner(), TABLE, lambda entity, *_: notes.append(entity), SharedAllowance(units))
    assert len(list(masker.steps(GroupSlot.of(slots)))) > 50 and notes == ["SECRET"] * 50
    assert holder == ["[REDACTED:SECRET]"] * 50 + ["an ordinary text"]


def test_a_long_text_with_an_emoji_is_masked_as_a_short_one_is() -> None:
    holder = {"content": "😀 mail me@firma-beispiel.de " + "words " * 20_000 + "password: hunter2hunter2"}
    masker = SlotMasker(Scanner(), TABLE, lambda *_: None)
    assert masker.clean(TextSlot(holder, "content", "content"))
    assert "hunter2" not in holder["content"] and holder["content"].startswith("😀 mail ")
    assert not masker.clean(TextSlot({"content": "я" * 100_000}, "content", "content"))
