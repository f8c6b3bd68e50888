"""Which findings are certain and which only likely: syntax decides, not nearness; and what that means for actions."""

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.sanitize.detectors.harmless import CARDS, IBANS
from gateway.sanitize.findings import GRADED, Finding, disjoint
from gateway.sanitize.policy import actions
from tests.support.scanned import PLACES, graded


def findings(text: str) -> list[tuple[str, bool]]:
    return [(entity, certain) for entity, _, certain in graded(text)]


@pytest.mark.parametrize(("entity", "text"), PLACES["certain by form or syntax: entity, text"])
def test_form_or_syntax_makes_a_finding_certain(entity: str, text: str) -> None:
    assert (entity, True) in findings(text)


@pytest.mark.parametrize(("entity", "text"), PLACES["likely by a word nearby: entity, text"])
def test_a_word_nearby_makes_a_finding_likely(entity: str, text: str) -> None:
    assert findings(text) == [(entity, False)]


def test_answers_keep_what_is_only_likely_and_requests_do_not() -> None:
    requests, responses = actions(Sanitize(), "requests"), actions(Sanitize(), "responses")
    strict = actions(Sanitize(profile="strict"), "responses")
    for entity in GRADED:
        tables = (requests, responses, strict)
        assert [table.action(entity, True) for table in tables] == ["redact"] * 3
        assert [table.action(entity, False) for table in tables] == ["redact", "flag", "redact"]
    assert responses.action("EMAIL", True) == requests.action("INSTRUCTION", True) == "flag"


@pytest.mark.parametrize("chosen", ["redact", "off", "block", "flag"])
def test_an_entry_of_the_configuration_decides_over_certainty(chosen: str) -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"SECRET": chosen})), "responses")
    assert table.action("SECRET", True) == table.action("SECRET", False) == chosen


def test_merged_findings_are_certain_if_a_graded_one_is() -> None:
    rank = {"SECRET": 0, "CREDIT_CARD": 1, "PHONE": 2}
    likely, card, phone = Finding(0, 20, "SECRET", False), Finding(4, 20, "CREDIT_CARD"), Finding(0, 9, "PHONE")
    assert disjoint([likely, card], rank) == [Finding(0, 20, "SECRET", True)]
    assert disjoint([likely, phone], rank) == [Finding(0, 20, "SECRET", False)]


def test_every_published_card_and_account_is_no_finding() -> None:
    for number in (number.decode() for number in CARDS | IBANS):
        assert findings(f"use {number} to test") == [], number
