"""What the detectors find in a text, in the forms in which tests say it."""

import json
from typing import Any

from gateway.sanitize.findings import masked
from gateway.sanitize.scanner import Scanner
from tests.support.paths import GOLDEN

SCANNER = Scanner()
PLACES: dict[str, list[Any]] = json.loads((GOLDEN / "sanitize" / "values_in_places.json").read_text())
"""Values and the places in which they are found. In a place, `{}` stands for the value."""


def found(text: str, *, certain: bool = False) -> list[str]:
    """The values in a text; with `certain`, those that are surely some."""
    return [text[each.start : each.end] for each in SCANNER.scan(text) if each.certain or not certain]


def graded(text: str) -> list[tuple[str, str, bool]]:
    """Entities, values, and whether they are certain."""
    return [(each.entity, text[each.start : each.end], each.certain) for each in SCANNER.scan(text)]


def kinds(text: str) -> list[tuple[str, str]]:
    """Entities and values."""
    return [(entity, value) for entity, value, _ in graded(text)]


def mask(text: str) -> str:
    return masked(text, SCANNER.scan(text))
