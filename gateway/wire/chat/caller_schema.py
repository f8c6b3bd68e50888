"""Checks values against a JSON Schema that a caller sent, whatever it holds.

Such a schema may be wrong, name other machines, or be made to cost time. So nothing is fetched, patterns have a step
limit, a schema that refers to itself or has too many parts is not used, and the work for a value is bounded.
"""

import importlib
import re
from typing import Any

MAX_PARTS = 2_000
"""Most objects and lists in a schema, references followed."""

MAX_WORK = 300_000
"""Most parts of the schema times parts of the value."""

_BACKTRACK_STEPS = 10_000
"""Most backtracking steps of one pattern on one string."""

_PLACE = re.compile(r"[0-9]{1,9}")
"""A place in a list, in a reference; longer than any that a schema can have."""


class CallerSchema:
    """A compiled schema. Raises ValueError, whose text names no part of the schema, when it cannot be used."""

    def __init__(self, schema: Any) -> None:
        self._parts = _parts(schema, schema, MAX_PARTS)
        if self._parts > MAX_PARTS:
            raise ValueError(f"its schema has more than {MAX_PARTS} parts, or refers to itself")
        library = importlib.import_module("jsonschema_rs")  # an idle process goes without (see `schemas.Checker`)
        try:
            self._validator = library.validator_for(
                schema, offline=True, pattern_options=library.FancyRegexOptions(backtrack_limit=_BACKTRACK_STEPS)
            )
        except (ValueError, library.ValidationError):
            raise ValueError("its schema is not a valid JSON Schema") from None

    def is_valid(self, value: Any) -> bool:
        """Whether a decoded JSON value is valid; False also for one that would take more than MAX_WORK."""
        most = MAX_WORK // max(self._parts, 1)
        return _values(value, most) <= most and bool(self._validator.is_valid(value))


def _values(value: Any, most: int) -> int:
    """Values in a decoded JSON value; stops above `most`."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return count


def _parts(root: Any, schema: Any, most: int) -> int:
    """Objects and lists of a schema with every local reference followed; stops above `most`."""
    count, waiting = 0, [schema]
    while waiting and count <= most:
        part = waiting.pop()
        if isinstance(part, dict):
            count += 1
            waiting += [value for name, value in part.items() if name not in ("$defs", "definitions")]
            references = [part.get(name) for name in ("$ref", "$dynamicRef", "$recursiveRef")]
            waiting += [_target(root, each) for each in references if isinstance(each, str)]
        elif isinstance(part, list):
            count += 1
            waiting += part
    return count


def _target(root: Any, reference: str) -> Any:
    """What a local reference (`#/$defs/name`) points to; None for any other."""
    if not reference.startswith("#"):
        return None
    part = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list):
            place = int(name) if _PLACE.fullmatch(name) else len(part)
            part = part[place] if place < len(part) else None
        elif isinstance(part, dict):
            part = part.get(name)
        else:
            return None
    return part
