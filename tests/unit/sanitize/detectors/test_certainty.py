"""Which findings are certain and which only likely: syntax decides, not nearness; and what that means for actions."""

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.sanitize.detectors.harmless import CARDS, IBANS
from gateway.sanitize.findings import GRADED, Finding, disjoint
from gateway.sanitize.policy import actions
from tests.support.scanned import graded

RANDOM = "q7RkT2mWx9LpV4sB"


def findings(text: str) -> list[tuple[str, bool]]:
    return [(entity, certain) for entity, _, certain in graded(text)]


CERTAIN = [
    ("CREDIT_CARD", "4539 1488 0343 6467"), ("IBAN", "DE62370400440532013001"), ("SECRET", "ghp_" + "a1B2c3D4e5F6" * 3),
    ("SECRET", f"password = '{RANDOM}'"), ("SECRET", f"DB_PASSWORD={RANDOM}"), ("SECRET", f'psk="{RANDOM}"'),
    ("SECRET", f"the root password is {RANDOM} here"), ("SECRET", f"Authorization: Bearer {RANDOM}{RANDOM}"),
    ("SECRET", f"tool --api-token {RANDOM}"), ("SECRET", f'setopt(h, OPT_PASSWORD, "{RANDOM}")'),
    ("SECRET", f"CREATE USER x IDENTIFIED BY '{RANDOM}'"), ("SECRET", "postgres://app:k3epM3Out@db.internal/x"),
    ("SECRET", "redis://:GhTwPqLmXbNzRfKd@cache/0"),
    ("SECRET", "-----BEGIN PRIVATE " + "KEY-----\nMIIEowIBAAKCAQEAx1q8Q2vT5w\n-----END PRIVATE KEY-----"),
    ("US_SSN", "Her social security number is 536-90-4399"), ("NATIONAL_ID", "BSN: 111222333"),
    ("NATIONAL_ID", "National Insurance number JG 10 37 59 A"), ("NATIONAL_ID", "NINO: JG103759A"),
    ("NATIONAL_ID", '"passport_number": "533380006"'), ("NATIONAL_ID", "Passport No. C01X00T47"),
    ("NATIONAL_ID", "driving licence MORGA657054SM9IJ"), ("NATIONAL_ID", "Driver's license number: D4562-9871-3345"),
    ("NATIONAL_ID", "Medicare number 1EG4-TE5-MK73"), ("NATIONAL_ID", "Personalausweisnummer L01X00T471"),
    ("NATIONAL_ID", "USCIS number: 123-456-780"), ("NATIONAL_ID", "NHS number 943-476-5870"),
    ("NATIONAL_ID", "PAN: ACUPA7085R"),
]  # fmt: skip


@pytest.mark.parametrize(("entity", "text"), CERTAIN)
def test_form_or_syntax_makes_a_finding_certain(entity: str, text: str) -> None:
    assert (entity, True) in findings(text)


LIKELY = [
    ("SECRET", "password = 'swordfish'"), ("SECRET", "pass = p4ssw0rd"), ("SECRET", "my password hunter2X!"),
    ("SECRET", "insecure-password AdMiN123"), ("US_SSN", "the row 536-90-4399 of the table"),
    ("NATIONAL_ID", "the DNI, as his letter of last May says, is 54362315K"), ("SECRET", "ghp_" + "a" * 36),
    ("SECRET", "token: 'ghp_PersonalExampleToken12450000000000000'"),
    ("SECRET", '"KmsKeyId": "1a2b3c4d-5e6f-4a2b-8c4d-5e6f1a2b3c4d"'),
    ("SECRET", "tool --lock-token 7b3bcec2-1a2b-4c5a-b2b9-563bf47249f0"),
    ("NATIONAL_ID", "the National Insurance number of the new clerk, JG103759A"),
]  # fmt: skip


@pytest.mark.parametrize(("entity", "text"), LIKELY)
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
