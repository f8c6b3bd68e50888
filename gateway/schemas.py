"""JSON Schema files: found, loaded, and checked against.

`jsonschema-rs` decides (20 µs on a 100 KB body); only a refusal is looked at again, at the one place that is wrong, by
`jsonschema`, from which the message is worded. Messages name the field and what is allowed and never quote the value:
it may be a secret. Knows nothing of what the documents mean.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jsonschema
import jsonschema_rs
import orjson

from gateway.model import Json

MAX_DEPTH = 100
"""Levels of nesting in a request body."""

_SHOWN_NAMES = 40
_COUNTED_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: `path` is `messages[0].role` (empty = the whole document), `message` says what is allowed."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@functools.cache
def load(name: str) -> Json:
    """The schema file `schemas/NAME.json` (`chat`, `tools/search`). Raises FileNotFoundError. Treat it as read-only."""
    schema: Json = orjson.loads(resources.files("gateway_schemas").joinpath(*f"{name}.json".split("/")).read_bytes())
    return schema


class Checker:
    """A schema compiled once."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._fast = jsonschema_rs.validator_for(schema)

    def check(self, value: Any, *, limit: int = 8) -> list[Problem]:
        """What is wrong, at most `limit` problems, in document order; empty when the value is valid."""
        if self._fast.is_valid(value):
            return []
        problems: dict[str, Problem] = {}
        for error in self._fast.iter_errors(value):
            problem = self._word(value, list(error.instance_path), list(error.schema_path))
            problems.setdefault(str(problem), problem)
            if len(problems) >= limit:
                break
        return list(problems.values())

    def _word(self, value: Any, instance_path: list[str | int], schema_path: list[str | int]) -> Problem:
        """Run jsonschema on the one failing keyword at the one failing place."""
        place, keyword = schema_path[:-1], str(schema_path[-1])
        subschema = _walk(self._schema, place)
        narrowed = {keyword: subschema[keyword], "$defs": self._schema.get("$defs", {})}
        for companion in ("properties", "patternProperties", "then", "else"):
            if companion in subschema and keyword in ("additionalProperties", "if"):
                narrowed[companion] = subschema[companion]
        instance = _walk(value, instance_path)
        found = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(narrowed).iter_errors(instance))
        if found is None:  # the two libraries differ on this value (an unusual format, say): the fast one has decided
            return Problem(_dotted(instance_path), f"is not valid ({keyword})")
        if keyword == "anyOf" and not found.absolute_path and found.validator in ("type", "enum"):
            return Problem(_dotted(instance_path), f"must be {_alternatives(subschema[keyword])}")
        where = [*instance_path, *found.absolute_path]
        if found.validator in ("required", "additionalProperties"):
            return _field_problem(found, where)
        return Problem(_dotted(where), _message(found))


def _walk(value: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _dotted(path: Iterable[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def _message(error: jsonschema.ValidationError) -> str:
    keyword = str(error.validator)
    allowed: Any = error.validator_value
    if keyword in _PLAIN:
        return _PLAIN[keyword].format(allowed)
    if keyword == "type":
        return f"must be {_types(allowed)}"
    if keyword == "enum":
        return "must be one of: " + _names(allowed)
    if keyword in ("anyOf", "oneOf"):
        return f"must be {_alternatives(allowed)}"
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
    names = [allowed] if isinstance(allowed, str) else list(allowed)
    return " or ".join(_TYPE_WORDS.get(name, name) for name in names) or "of another type"


def _alternatives(branches: Sequence[Json]) -> str:
    """What the branches of an `anyOf` allow: `auto or none or an object`."""
    words: dict[str, None] = {}
    for branch in branches:
        kind = branch.get("type", [])
        named = [str(name) for name in branch.get("enum", ()) if name is not None]
        words.update(dict.fromkeys([*named, *map(_types, [kind] if isinstance(kind, str) else kind)]))
    return " or ".join(words) or "of another type"


def _field_problem(error: jsonschema.ValidationError, where: list[str | int]) -> Problem:
    """A missing or unknown field, named in the path."""
    instance: Any = error.instance
    if error.validator == "required":
        required: Any = error.validator_value
        return Problem(_dotted([*where, next(name for name in required if name not in instance)]), "is required")
    known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
    unknown = min(name for name in instance if name not in known)
    return Problem(_dotted([*where, unknown[:64]]), f"is unknown; allowed: {_names(known) or 'nothing'}")


def _names(names: Iterable[Any]) -> str:
    listed = [str(name) for name in names]
    shown = ", ".join(listed[:_SHOWN_NAMES])
    return shown if len(listed) <= _SHOWN_NAMES else f"{shown}, …"


def is_too_deep(raw: bytes, value: Any) -> bool:
    """Whether a decoded body is nested deeper than MAX_DEPTH. `raw` is the body it came from."""
    if len(raw) <= _COUNTED_BYTES and raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False  # too few brackets; counting those of a long body would cost more than walking it
    layer = _containers([value])
    for _ in range(MAX_DEPTH):
        layer = _containers(child for item in layer for child in (item.values() if type(item) is dict else item))
        if not layer:
            return False
    return True


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) is dict or type(value) is list]
