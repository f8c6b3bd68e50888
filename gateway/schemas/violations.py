"""Finds where a document violates its schema, following only the invalid parts: a document of megabytes that is wrong
everywhere costs no more than a small one.

The naive form is `jsonschema_rs`'s own list of errors: it comes whole, and hundreds of thousands of errors took seconds
(measured 2026-11-21). So each part is checked by a validator of its own. `jsonschema` decides only which JSON type a
value has; its errors are not used, since they quote the value.

A problem is worded by the place, what is allowed there, and of what is there the kind, the count or a short number;
never a text, which may be a secret. Keywords are those of JSON Schema (json-schema.org, draft 2020-12).
"""

import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from gateway.domain import Json

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_MAX_NAMES = 40
"""Names that one message lists."""


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


Path = tuple[str | int, ...]

_ANNOTATIONS = frozenset(("$schema", "$defs", "title", "description", "default", "errorMessage"))
"""Keywords that allow anything. `errorMessage` (of ajv-errors) says in words what a `pattern` allows."""
_WALKED = _ANNOTATIONS | {"$ref", "items", "anyOf", "allOf", "if", "then"}
_WALKED |= {"properties", "required", "propertyNames", "additionalProperties"}
_MAX_ITEMS = 3
"""Wrong items of one list that are reported."""

_MAX_UNKNOWN = 20
"""Unknown fields of one object that are reported by name."""

_MANY_FIELDS = 1000
"""Objects with more fields are checked only in the fields that the schema names, so that their cost is bounded."""

_ONE_BY_ONE = 64
"""A piece of a list that is searched item by item."""


def compiled(schema: Json) -> "Validator":
    """`jsonschema_rs`'s validator of a schema; the library is imported when the first one is made. Raises ValueError
    for what is not a schema."""
    validator: Validator = importlib.import_module("jsonschema_rs").validator_for(schema)
    return validator


class ViolationFinder:
    """Finds the problems by one schema. It may use `$ref` to `$defs`, `anyOf`, `allOf`, `if` with `then`, and plain
    keywords."""

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._defs: Json = schema.get("$defs", {})
        self._compiled: dict[tuple[int, str], Validator] = {}

    def problems(self, value: Any) -> Iterator[Problem]:
        """The problems of an invalid value in its order, at least one; at most three for the items of one list."""
        return self._at(self._root, value, ())

    def _at(self, schema: Json, value: Any, where: Path) -> Iterator[Problem]:
        none = True
        for problem in self._all(schema, value, where):
            none = False
            yield problem
        if none:  # the two libraries differ on this value (an unusual number, for example): jsonschema-rs decides
            yield Problem(dotted(where), "is not valid")

    def _all(self, schema: Json, value: Any, where: Path) -> Iterator[Problem]:
        if "$ref" in schema:
            yield from self._all(self._target(schema), value, where)
        own = [keyword for keyword in schema if keyword not in _WALKED and not self._fits(schema, value, keyword)]
        words = schema.get("errorMessage", "")
        for keyword in own:
            is_worded = keyword == "pattern" and words
            yield Problem(dotted(where), words if is_worded else requirement(keyword, schema[keyword], value))
        if own:
            return  # of another type, or too long: its contents do not matter
        if type(value) is dict:
            yield from self._members(schema, value, where)
        elif type(value) is list and "items" in schema:
            for index in self._wrong_items(schema["items"], value):
                yield from self._at(schema["items"], value[index], (*where, index))
        if "anyOf" in schema and not any(self._fits(branch, value) for branch in schema["anyOf"]):
            yield from self._branches([self._target(branch) for branch in schema["anyOf"]], value, where)
        for branch in schema.get("allOf", ()):
            if not self._fits(branch, value):
                yield from self._at(branch, value, where)
        if "then" in schema and self._fits(schema["if"], value) and not self._fits(schema["then"], value):
            yield from self._at(schema["then"], value, where)

    def _members(self, schema: Json, value: Json, where: Path) -> Iterator[Problem]:
        for name in schema.get("required", ()):
            if name not in value:
                yield Problem(dotted((*where, name)), "is required")
        if "propertyNames" in schema:
            for name in value:
                if not self._fits(schema["propertyNames"], name):
                    yield from self._at(schema["propertyNames"], name, (*where, name))
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        few = type(others) is dict or len(value) < _MANY_FIELDS
        for name in value if few else [name for name in known if name in value]:
            part = known.get(name, others)
            if type(part) is dict and not self._fits(part, value[name]):
                yield from self._at(part, value[name], (*where, name))
        if others is False:
            yield from _unknown(known, value, where)

    def _wrong_items(self, part: Json, items: list[Any]) -> Iterator[int]:
        start = 0
        for _ in range(_MAX_ITEMS):
            index = self._first_wrong(part, items, start)
            if index is None:
                return
            yield index
            start = index + 1

    def _first_wrong(self, part: Json, items: list[Any], start: int) -> int | None:
        """The index of the first wrong item from `start` on; None if there is none.

        The naive form checks every item by itself. This one checks growing pieces whole, then the wrong piece's items.
        """
        end, step = start, _ONE_BY_ONE
        while end < len(items):
            piece = items[end : end + step]
            if self._fits({"items": part}, piece, "items"):
                end, step = end + step, step * 2
            elif len(piece) > _ONE_BY_ONE:
                step = _ONE_BY_ONE
            else:
                return next(end + index for index, item in enumerate(piece) if not self._fits(part, item))
        return None

    def _branches(self, branches: list[Json], value: Any, where: Path) -> Iterator[Problem]:
        """The problems by the one branch that allows the value's type; else the list of all alternatives."""
        typed = [branch for branch in branches if "type" in branch and _is_of(branch["type"], value)]
        if len(typed) == 1:
            yield from self._at(typed[0], value, where)
        else:
            is_other_word = type(value) is str and any("enum" in branch for branch in branches)
            given = "" if is_other_word else f", not {kind_of(value)}"
            yield Problem(dotted(where), f"must be {alternatives(branches)}{given}")

    def _fits(self, part: Json, value: Any, keyword: str = "") -> bool:
        """Whether a value is valid by a part of the schema, or by one keyword of it alone."""
        place = (id(part[keyword]) if keyword else id(part), keyword)
        validator = self._compiled.get(place)
        if validator is None:
            checked = {keyword: part[keyword]} if keyword else part
            validator = self._compiled[place] = compiled({**checked, "$defs": self._defs})
        return validator.is_valid(value)

    def _target(self, schema: Json) -> Json:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        target: Json = self._defs[name] if name else schema
        return target


def _is_of(kind: str | list[str], value: Any) -> bool:
    check = _type_checker().is_type
    return any(check(value, each) for each in ([kind] if isinstance(kind, str) else kind))


@functools.cache
def _type_checker() -> Any:
    """`jsonschema`'s, imported at the first refusal: it takes a process 60 ms and three megabytes."""
    return importlib.import_module("jsonschema").Draft202012Validator.TYPE_CHECKER


def _unknown(known: Json, value: Json, where: Path) -> Iterator[Problem]:
    """One problem for each unknown field; only the first lists the allowed ones."""
    unknown = islice((name for name in value if name not in known), _MAX_UNKNOWN)
    for number, name in enumerate(unknown):
        message = "is unknown too" if number else f"is unknown; allowed: {name_list(known) or 'nothing'}"
        yield Problem(dotted((*where, name[:64])), message)
    more = len(value) - len(known.keys() & value.keys()) - _MAX_UNKNOWN
    if more > 0:
        yield Problem(dotted(where), f"{more} more fields are unknown")
