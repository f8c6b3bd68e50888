"""Texts that one event of a stream holds whole: an id that comes with every event is scanned once."""

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import WholeTexts, at_once
from gateway.sanitize.text import Finding, SharedAllowance
from gateway.texts import Form, TextSlot

MAIL = "jane.doe@posthaus.org"


class CountingScanner(Scanner):
    """Knows how often it was asked."""

    asked = 0

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        self.asked += 1
        return super().scan(text, allowance)


def slot(text: str, key: str = "id", form: Form = "label") -> TextSlot:
    return TextSlot({key: text}, key, key, form, name=key)


def whole_texts(action: str = "redact") -> tuple[WholeTexts, CountingScanner, list[str]]:
    scanner, found = CountingScanner(), list[str]()
    settings = Sanitize(actions=SanitizeActions(responses={"EMAIL": action}))
    return WholeTexts(scanner, actions(settings, "responses"), found.append), scanner, found


def test_an_id_without_a_finding_is_scanned_once_until_another_comes() -> None:
    texts, scanner, _ = whole_texts()
    for text in ("chatcmpl-Ab", "chatcmpl-Ab", "chatcmpl-Cd", "chatcmpl-Cd", "chatcmpl-Ab"):
        assert not at_once(texts.steps([slot(text)]))
    assert scanner.asked == 3


@pytest.mark.parametrize("action", ["redact", "flag"])
def test_an_id_with_a_finding_is_scanned_and_reported_each_time(action: str) -> None:
    texts, _, found = whole_texts(action)
    for _ in range(3):
        each = slot(MAIL)
        assert at_once(texts.steps([each])) == (action == "redact")
        assert (each.text == MAIL) == (action == "flag")
    assert found == ["EMAIL"] * 3


@pytest.mark.parametrize("other", [slot("hunter22 Ab", "password"), slot("hunter22 Ab", "id", "text")])
def test_the_same_text_under_another_name_or_in_another_form_is_scanned(other: TextSlot) -> None:
    texts, scanner, _ = whole_texts()
    at_once(texts.steps([slot("hunter22 Ab")]))
    asked = scanner.asked
    at_once(texts.steps([other]))
    assert scanner.asked > asked
