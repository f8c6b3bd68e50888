"""Masking one slot of text by its form: plain text, a JSON document, a web address."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from gateway.domain import TextSlot
from gateway.sanitize.masking.policy import Action
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, mask_of, masked

Note = Callable[[str, Action, str], None]
"""Told of each finding: entity, action, where."""

_PLAIN_KEYS = frozenset(
    ("text", "content", "query", "title", "raw_content", "url", "description", "input", "output", "arguments", "error")
)
_LEAST_NUMBER = 100_000_000
_MAX_DEPTH = 100


class _TooDeep(Exception):
    """A document nested beyond all reason is looked at as plain text."""


class SlotMasker:
    def __init__(self, scanner: Scanner, actions: Mapping[str, Action], note: Note) -> None:
        self._scanner, self._actions, self._note = scanner, actions, note

    def clean(self, slot: TextSlot) -> None:
        """Mask a slot in place; a slot in which nothing is to be masked is not touched."""
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
        """`name` is what the value is called: `{"password": …}` says what stands there. A text that is blocked ends
        before the finding."""
        prefix = "" if not name or name in _PLAIN_KEYS else f"{name}: "
        spans = self._scanner.scan(prefix + text)
        if not spans:
            return text
        shift = len(prefix)
        stop, redacted = len(text), []
        for each in spans:
            if each.end <= shift:
                continue
            start, action = max(each.start - shift, 0), self._act(each.entity, where)
            if action == "block":
                stop = min(stop, start)
            elif action == "redact" and start < stop:
                redacted.append(Finding(start, each.end - shift, each.entity))
        return masked(text[:stop], redacted)

    def _act(self, entity: str, where: str) -> Action:
        action = self._actions.get(entity, "off")
        if action != "off":
            self._note(entity, action, where)
        return action

    def _clean_url(self, url: str, where: str) -> str:
        spans = [each for each in self._scanner.scan_url(url) if self._act(each.entity, where) == "redact"]
        for span in reversed(spans):
            mask = mask_of(span.entity).replace("[", "%5B").replace("]", "%5D")
            url = url[: span.start] + mask + url[span.end :]
        return url

    def _clean_json(self, text: str, where: str) -> str:
        try:
            document = orjson.loads(text)
            cleaned = self._clean_value(document, "", where, 0)
        except (orjson.JSONDecodeError, _TooDeep):
            return self._clean_text(text, "", where)
        return text if cleaned == document else orjson.dumps(cleaned).decode()

    def _clean_value(self, value: Any, name: str, where: str, depth: int) -> Any:
        """The value with its leaves and keys masked. A number that is a finding becomes a text."""
        if isinstance(value, str):
            return self._clean_text(value, name, where)
        if isinstance(value, bool) or value is None:
            return value
        if depth > _MAX_DEPTH:
            raise _TooDeep
        if isinstance(value, int | float):
            if abs(value) < _LEAST_NUMBER or not isinstance(value, int):
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
