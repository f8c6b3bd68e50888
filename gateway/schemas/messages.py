"""Words the problems of a document: the place, what is allowed there, and of what is there the kind, the count or a
short number; never a text, which may be a secret.

Knows the keywords of JSON Schema (json-schema.org, draft 2020-12), not how violations are found.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.domain import Json

_MAX_NAMES = 40
"""Names that one message lists. Chosen: all 25 fields of a chat body are named; half would cut them, double would make
messages too long to read."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `path` is like `messages[0].role`, empty for the whole document; `message` says what is allowed."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def dotted(path: Iterable[str | int]) -> str:
    """`("messages", 0, "role")` -> `messages[0].role`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def requirement(keyword: str, allowed: Any, value: Any) -> str:
    """The text for a value that violates a keyword: `("maximum", 5, 9)` -> `must be at most 5, not 9`."""
    if keyword in _COUNTED:
        text = _TEMPLATES[keyword].format(allowed)
        return f"{text.removesuffix('s') if allowed == 1 else text}, not {len(value)}"
    if keyword in _TEMPLATES:
        text = _TEMPLATES[keyword].format(allowed)
        return f"{text}, not {value}" if keyword in _COMPARED and _is_short(value) else text
    if keyword == "type":
        return f"must be {_types(allowed)}, not {kind_of(value)}"
    if keyword == "enum":
        return "must be one of: " + name_list("null" if value is None else value for value in allowed)
    if keyword == "format":
        return f"must be a valid {allowed}"
    return f"is not valid ({keyword})"


_COUNTED = frozenset(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"))
"""Keywords whose text ends with a plural, and says how many there are."""

_COMPARED = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
"""Keywords that compare numbers."""

_MOST_SHOWN = 10**8
"""Numbers from here on are not shown. From the sanitizer, which takes no number of fewer than nine digits for a
secret."""

_TEMPLATES: Mapping[str, str] = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
    "pattern": "must match {}",
    "const": "must be {!r}",
    "uniqueItems": "must not repeat an item",
    "multipleOf": "must be a multiple of {}",
}

_TYPE_WORDS: Mapping[str, str] = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _types(allowed: str | Sequence[str]) -> str:
    kinds = [allowed] if isinstance(allowed, str) else list(allowed)
    return " or ".join(_TYPE_WORDS.get(kind, kind) for kind in kinds) or "of another type"


def kind_of(value: Any) -> str:
    """What a value of a wrong type is: `a string`, `null`, `true`, `2.5`."""
    if value is None or type(value) is bool:
        return str(value).lower().replace("none", "null")
    if _is_short(value):
        return str(value)
    return _KINDS.get(type(value), "a number")


_KINDS: Mapping[type, str] = {str: "a string", list: "an array", dict: "an object"}


def _is_short(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST_SHOWN and len(str(value)) <= len(str(_MOST_SHOWN))


def alternatives(branches: Sequence[Json]) -> str:
    """The values that the branches of an `anyOf` allow: `auto or none or an object`."""
    words: dict[str, None] = {}
    for branch in branches:
        kind = branch.get("type", [])
        values = [str(value) for value in branch.get("enum", ()) if value is not None]
        words.update(dict.fromkeys([*values, *map(_types, [kind] if isinstance(kind, str) else kind)]))
    return " or ".join(words) or "of another type"


def name_list(values: Iterable[Any]) -> str:
    """The first names, separated by commas: `a, b, …`."""
    names = [str(value) for value in values]
    text = ", ".join(names[:_MAX_NAMES])
    return text if len(names) <= _MAX_NAMES else f"{text}, …"
