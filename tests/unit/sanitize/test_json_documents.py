"""Strings of JSON documents that are scanned together are masked as each would be by itself."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import Sanitize
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import TextSlot
from tests.unit.sanitize.test_groups import NAMES, NEIGHBOURS, TABLE, VALUES

LEAVES: list[Any] = [*VALUES, *NEIGHBOURS, *NEIGHBOURS, 4539148803436467, 17, None, True]


def masked(texts: list[str], *, allowance: int = 10**9) -> tuple[list[str], list[str]]:
    """The documents after masking, and what was reported."""
    found = list[str]()
    holder: list[Any] = list(texts)
    slots = [TextSlot(holder, index, "arguments", "json") for index in range(len(texts))]
    shared = SharedAllowance(allowance)
    masker = SlotMasker(Scanner(), TABLE, lambda entity, action, where: found.append(f"{where} {entity}"), shared)
    for slot in slots:
        masker.clean(slot)
    return holder, sorted(found)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(LEAVES)), min_size=3, max_size=12))
def test_members_of_a_document_are_masked_like_documents_of_one(members: list[tuple[str, Any]]) -> None:
    each = [masked([orjson.dumps([{name: value}]).decode()]) for name, value in members]
    whole, found = masked([orjson.dumps([{name: value} for name, value in members]).decode()])
    assert orjson.loads(whole[0]) == [orjson.loads(text[0])[0] for text, _ in each]
    assert found == sorted(report for _, reports in each for report in reports)


def test_masked_names_keep_their_place() -> None:
    text = orjson.dumps({"first": 1, VALUES[2]: 2, "last": {VALUES[2]: [VALUES[0]]}, "x": "y"}).decode()
    name = "[REDACTED:SECRET]"
    assert list(orjson.loads(masked([text])[0][0])) == ["first", name, "last", "x"]
    assert list(orjson.loads(masked([text])[0][0])["last"]) == [name]


def test_no_value_passes_and_names_stay_when_the_allowance_is_spent() -> None:
    members = {f"k{number}": f"password: ghp_{number:036d}" for number in range(2_000)}
    shown = masked([orjson.dumps(members).decode()], allowance=0)[0][0]
    assert "ghp_" not in shown and list(orjson.loads(shown)) == list(members)


def test_plain_strings_of_a_document_cost_a_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scanner, scans = Scanner(), list[int]()
    scan = scanner.scan

    def counted(text: str, allowance: SharedAllowance | None = None) -> Any:
        scans.append(len(text))
        return scan(text, allowance)

    monkeypatch.setattr(scanner, "scan", counted)
    text = orjson.dumps([f"words of plain {number} text and more" for number in range(1_000)]).decode()
    holder = [text]
    SlotMasker(scanner, actions(Sanitize(), "requests"), lambda *_: None).clean(TextSlot(holder, 0, "", "json"))
    assert holder == [text]
    assert len(scans) <= 12
