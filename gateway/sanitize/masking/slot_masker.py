"""Masks one slot of text according to its form: plain text, a JSON document, a web address.

Does not know where slots come from, nor what a refusal looks like: it reports findings to a callback.
"""

from collections.abc import Callable
from typing import Any

import orjson

from gateway.domain import TextSlot
from gateway.sanitize.masking.policy import Action, ActionTable
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, mask_of, masked

Note = Callable[[str, Action, str], None]
"""Called for each finding whose action is not `off`: (entity, action, path of the slot)."""

_PLAIN_KEYS = frozenset(
    ("text", "content", "query", "title", "raw_content", "url", "description", "input", "output", "arguments", "error")
)
"""Keys of common fields that say nothing about their value; any other key is scanned before the value, as its name."""
_MIN_NUMBER = 100_000_000
"""Chosen: integers of fewer than nine digits are not scanned. Only telephone and id numbers behind their name are
shorter, and counts, years and times would cost a scan each. Two digits fewer: such numbers are found too, at the cost
of these scans; two digits more: US social security numbers as integers pass."""
_MAX_DEPTH = 100
"""Chosen: deeper documents are scanned as plain text. At half odd but honest documents lose the meaning of their keys;
at double the recursion, two Python frames a level, takes half of the interpreter's 1,000 frames."""


class _TooDeep(Exception):
    """The document is nested deeper than _MAX_DEPTH."""


class SlotMasker:
    """Masks slots by a table of actions; reports findings to `note`."""

    def __init__(self, scanner: Scanner, actions: ActionTable, note: Note) -> None:
        self._scanner, self._actions, self._note = scanner, actions, note

    def clean(self, slot: TextSlot) -> None:
        """Mask a slot in place; it is written only if its text changes.

        Raises what `note` and the detectors raise.
        """
        text = slot.text
        if slot.form == "url":
            cleaned = self._clean_url(text, slot.where)
        elif slot.form == "json":
            cleaned = self._clean_json(text, slot.where)
        else:
            name = slot.key if isinstance(slot.key, str) else ""
            cleaned = self._clean_text(text, name, slot.where)
        if cleaned != text:
            slot.text = cleaned

    def _clean_text(self, text: str, name: str, where: str) -> str:
        """`name` is the key of the value, scanned as `name: text`: `{"password": …}` names a secret. A text with a
        blocked finding is cut before it."""
        prefix = "" if not name or name in _PLAIN_KEYS else f"{name}: "
        findings = self._scanner.scan(prefix + text)
        if not findings:
            return text
        shift = len(prefix)
        stop, redacted = len(text), []
        for finding in findings:
            if finding.end <= shift:
                continue
            start, action = max(finding.start - shift, 0), self._report(finding, where)
            if action == "block":
                stop = min(stop, start)
            elif action == "redact" and start < stop:
                redacted.append(Finding(start, finding.end - shift, finding.entity))
        return masked(text[:stop], redacted)

    def _report(self, finding: Finding, where: str) -> Action:
        action = self._actions.action(finding.entity, finding.certain)
        if action != "off":
            self._note(finding.entity, action, where)
        return action

    def _clean_url(self, url: str, where: str) -> str:
        findings = [each for each in self._scanner.scan_url(url) if self._report(each, where) == "redact"]
        for finding in reversed(findings):
            mask = mask_of(finding.entity).replace("[", "%5B").replace("]", "%5D")
            url = url[: finding.start] + mask + url[finding.end :]
        return url

    def _clean_json(self, text: str, where: str) -> str:
        try:
            document = orjson.loads(text)
            cleaned = self._clean_value(document, "", where, 0)
        except (orjson.JSONDecodeError, _TooDeep):
            return self._clean_text(text, "", where)
        return text if cleaned == document else orjson.dumps(cleaned).decode()

    def _clean_value(self, value: Any, name: str, where: str, depth: int) -> Any:
        """The value with its leaves and keys masked. A number in which something is masked becomes a string."""
        if isinstance(value, str):
            return self._clean_text(value, name, where)
        if isinstance(value, bool) or value is None:
            return value
        if depth > _MAX_DEPTH:
            raise _TooDeep
        if isinstance(value, int | float):
            if abs(value) < _MIN_NUMBER or not isinstance(value, int):
                return value
            text = str(value)
            cleaned = self._clean_text(text, name, where)
            return value if cleaned == text else cleaned
        if isinstance(value, list):
            return [self._clean_value(each, name, where, depth + 1) for each in value]
        return {
            self._clean_text(key, "", f"{where}: a key"): self._clean_value(each, key, f"{where}.{key}", depth + 1)
            for key, each in value.items()
        }
