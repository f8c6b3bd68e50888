"""Where a document breaks its schema: found by walking through what is wrong alone, so that a document of megabytes
that is wrong everywhere costs no more than a small one.

`jsonschema-rs` decides for every part whether it fits; it cannot be asked for its errors one by one, and a list of
hundreds of thousands of them took it seconds (measured 2026-11-21). `jsonschema`, whose errors quote the value, says
what is of which type.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import jsonschema
import jsonschema_rs

from gateway.domain import Json
from gateway.schemas.messages import Problem, alternatives, dotted, names, worded

Path = tuple[str | int, ...]

_ANNOTATIONS = frozenset(("$schema", "$defs", "title", "description", "default"))
_WALKED = _ANNOTATIONS | {"$ref", "items", "anyOf", "if", "then"}
_WALKED |= {"properties", "required", "propertyNames", "additionalProperties"}
_MOST_ITEMS = 3
"""So many wrong items of one list are told; the others are wrong like them, as a rule."""
_MOST_UNKNOWN = 20
_MANY_FIELDS = 1000
_ONE_BY_ONE = 64


class ViolationFinder:
    """One schema's. Knows `$ref` to `$defs`, `anyOf`, `if` with `then`, and the plain keywords."""

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._defs: Json = schema.get("$defs", {})
        self._compiled: dict[tuple[int, str], jsonschema_rs.Validator] = {}

    def wrong(self, value: Any) -> Iterator[Problem]:
        """What is wrong with a value that does not fit, in its order; not every item of a list, and never nothing."""
        return self._at(self._root, value, ())

    def _at(self, schema: Json, value: Any, where: Path) -> Iterator[Problem]:
        none = True
        for problem in self._all(schema, value, where):
            none = False
            yield problem
        if none:  # the two libraries differ on this value (an unusual number, say): the fast one has decided
            yield Problem(dotted(where), "is not valid")

    def _all(self, schema: Json, value: Any, where: Path) -> Iterator[Problem]:
        if "$ref" in schema:
            yield from self._all(self._target(schema), value, where)
        own = [keyword for keyword in schema if keyword not in _WALKED and not self._fits(schema, value, keyword)]
        yield from (Problem(dotted(where), worded(keyword, schema[keyword])) for keyword in own)
        if own:
            return  # of another type, or too long: what is in it does not matter
        if type(value) is dict:
            yield from self._members(schema, value, where)
        elif type(value) is list and "items" in schema:
            for index in self._wrong_items(schema["items"], value):
                yield from self._at(schema["items"], value[index], (*where, index))
        if "anyOf" in schema and not any(self._fits(branch, value) for branch in schema["anyOf"]):
            yield from self._branches([self._target(branch) for branch in schema["anyOf"]], value, where)
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
        for _ in range(_MOST_ITEMS):
            found = self._first_wrong(part, items, start)
            if found is None:
                return
            yield found
            start = found + 1

    def _first_wrong(self, part: Json, items: list[Any], start: int) -> int | None:
        """Halves a long list: to ask for each of its items would take longer."""
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
        """Of the branches that allow a value of this type, when there is one, what is wrong by it."""
        typed = [branch for branch in branches if "type" in branch and _is_of(branch["type"], value)]
        if len(typed) == 1:
            yield from self._at(typed[0], value, where)
        else:
            yield Problem(dotted(where), f"must be {alternatives(branches)}")

    def _fits(self, part: Json, value: Any, keyword: str = "") -> bool:
        """Whether a value fits a part of the schema, or one keyword of it alone."""
        place = (id(part[keyword]) if keyword else id(part), keyword)
        compiled = self._compiled.get(place)
        if compiled is None:
            asked = {keyword: part[keyword]} if keyword else part
            compiled = self._compiled[place] = jsonschema_rs.validator_for({**asked, "$defs": self._defs})
        return compiled.is_valid(value)

    def _target(self, schema: Json) -> Json:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        target: Json = self._defs[name] if name else schema
        return target


def _is_of(kind: str | list[str], value: Any) -> bool:
    check = jsonschema.Draft202012Validator.TYPE_CHECKER.is_type
    return any(check(value, each) for each in ([kind] if isinstance(kind, str) else kind))


def _unknown(known: Json, value: Json, where: Path) -> Iterator[Problem]:
    """What is allowed is told once."""
    unknown = islice((name for name in value if name not in known), _MOST_UNKNOWN)
    for number, name in enumerate(unknown):
        told = "is unknown too" if number else f"is unknown; allowed: {names(known) or 'nothing'}"
        yield Problem(dotted((*where, name[:64])), told)
    more = len(value) - len(known.keys() & value.keys()) - _MOST_UNKNOWN
    if more > 0:
        yield Problem(dotted(where), f"{more} more fields are unknown")
