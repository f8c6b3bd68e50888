"""What is wrong with a document, in words: the place and what is allowed there, never the value; it may be a secret."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.domain import Json

_SHOWN_NAMES = 40


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: `path` is `messages[0].role` (empty = the whole document), `message` says what is allowed."""

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


def worded(keyword: str, allowed: Any) -> str:
    """What a keyword of a schema asks for."""
    if keyword in _PLAIN:
        return _PLAIN[keyword].format(allowed)
    if keyword == "type":
        return f"must be {_types(allowed)}"
    if keyword == "enum":
        return "must be one of: " + names(allowed)
    if keyword == "format":
        return f"must be a valid {allowed}"
    return f"is not valid ({keyword})"


_PLAIN: Mapping[str, str] = {
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
    given = [allowed] if isinstance(allowed, str) else list(allowed)
    return " or ".join(_TYPE_WORDS.get(name, name) for name in given) or "of another type"


def alternatives(branches: Sequence[Json]) -> str:
    """What the branches of an `anyOf` allow: `auto or none or an object`."""
    words: dict[str, None] = {}
    for branch in branches:
        kind = branch.get("type", [])
        named = [str(name) for name in branch.get("enum", ()) if name is not None]
        words.update(dict.fromkeys([*named, *map(_types, [kind] if isinstance(kind, str) else kind)]))
    return " or ".join(words) or "of another type"


def names(given: Iterable[Any]) -> str:
    """A list of names, cut where it becomes too long to read."""
    listed = [str(name) for name in given]
    shown = ", ".join(listed[:_SHOWN_NAMES])
    return shown if len(listed) <= _SHOWN_NAMES else f"{shown}, …"
