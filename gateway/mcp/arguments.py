"""Arguments of tool calls: coerced as language models write them, checked against the schema, worded when wrong.

A model that sends `"5"` for a number, or one string for a list, means something clear: it is taken. What is still
wrong is refused with every wrong field named. Knows the tools only by their schemas, and the rules no schema can say.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.schemas import Checker
from gateway.schemas.messages import Problem

_INTEGER = re.compile(r"[+-]?\d{1,18}(\.0+)?", re.ASCII)
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Rule(NamedTuple):
    """What no schema can say of certain fields; asked when one of them is given."""

    fields: frozenset[str]
    judge: Callable[[Json], list[Problem]]


class Arguments:
    """One tool's arguments: `coerce` then `check`. `schema` is the tool's input schema."""

    def __init__(self, tool: str, schema: Json, rules: tuple[Rule, ...] = ()) -> None:
        self._tool = tool
        # A null is dropped before the check, so what is checked, and told, is the other branch.
        self._properties: Mapping[str, Json] = {name: _not_null(prop) for name, prop in schema["properties"].items()}
        self._checker = Checker({**schema, "properties": self._properties})
        self._rules = rules
        # A value of exactly this type stays as it is; a nullable string may also say that there is none.
        self._as_is: Mapping[str, type] = {
            name: _TYPES[prop["type"]]
            for name, prop in schema["properties"].items()
            if "anyOf" not in prop and prop["type"] in _TYPES
        }
        self._nullable = frozenset(name for name, prop in schema["properties"].items() if "anyOf" in prop)
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))

    def coerce(self, given: Json) -> Json:
        """A new object: nulls of optional parameters dropped, values brought to the type the schema asks for."""
        as_is = self._as_is
        for name, value in given.items():
            if type(value) is not as_is.get(name):
                return self._coerced(given)
        return given.copy()  # nearly always

    def _coerced(self, given: Json) -> Json:
        taken: Json = {}
        for name, value in given.items():
            if name not in self._properties or type(value) is self._as_is.get(name):
                taken[name] = value
            elif not self._means_default(name, value):
                taken[name] = _coerced(value, self._properties[name]["type"])
        country = taken.get("country")
        if isinstance(country, str) and "country" in self._properties:
            taken["country"] = " ".join(country.lower().split())
        return taken

    def check(self, taken: Json) -> InvalidRequest | None:
        """None when all is well, else an error that names each wrong field and what is allowed."""
        problems = self._checker.check(taken)
        ruled: list[Problem] = []
        for fields, judge in self._rules:
            if not fields.isdisjoint(taken):
                ruled += judge(taken)
        if not problems and not ruled:
            return None
        named = {problem.path for problem in problems}
        problems += [problem for problem in ruled if problem.path not in named]
        return InvalidRequest(
            f"Invalid arguments for {self._tool}: " + "; ".join(map(str, problems)), param=problems[0].path or None
        )

    def _means_default(self, name: str, value: Any) -> bool:
        if value is None:
            return name in self._optional
        return name in self._nullable and isinstance(value, str) and value.strip() in ("", "null")


def _not_null(prop: Json) -> Json:
    """The branch that is not null of an optional parameter."""
    branch: Json = prop["anyOf"][0] if "anyOf" in prop else prop
    return branch


def _coerced(value: Any, kind: str) -> Any:
    if kind == "integer":
        if type(value) is float and value.is_integer():
            return int(value)
        if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            return int(value.strip().split(".")[0])
    elif kind == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    elif kind == "array" and isinstance(value, str):
        return _listed(value)
    return value


def _listed(text: str) -> Any:
    if text.lstrip().startswith("["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return [text]  # a regular expression may well begin with a bracket
        if isinstance(value, list):
            return value
    return [text]


def not_blank(name: str) -> Rule:
    def rule(taken: Json) -> list[Problem]:
        value = taken.get(name)
        return [Problem(name, "must not be blank")] if isinstance(value, str) and not value.strip() else []

    return Rule(frozenset((name,)), rule)


def _calendar_dates(taken: Json) -> list[Problem]:
    """Both dates exist in the calendar, and the first is not after the last."""
    problems = [
        Problem(name, "must be a calendar date written YYYY-MM-DD")
        for name in ("start_date", "end_date")
        if isinstance(taken.get(name), str) and parse_date(taken[name]) is None
    ]
    start, end = parse_date(taken.get("start_date")), parse_date(taken.get("end_date"))
    if start and end and start > end:
        problems.append(Problem("start_date", "must not be after end_date"))
    return problems


def _images_for_descriptions(taken: Json) -> list[Problem]:
    if taken.get("include_image_descriptions") is True and not taken.get("include_images"):
        return [Problem("include_image_descriptions", "needs include_images to be true as well")]
    return []


calendar_dates = Rule(frozenset(("start_date", "end_date")), _calendar_dates)
images_for_descriptions = Rule(frozenset(("include_image_descriptions",)), _images_for_descriptions)


def known_country(names: list[str]) -> Rule:
    known = frozenset(names)

    def rule(taken: Json) -> list[Problem]:
        country = taken.get("country")
        if not isinstance(country, str) or country in known:
            return []
        near = difflib.get_close_matches(country[:64], names, n=3)
        hint = "did you mean " + " or ".join(near) + "?" if near else "for example united states, germany, japan"
        return [Problem("country", f"must be the English name of a country in lower case; {hint}")]

    return Rule(frozenset(("country",)), rule)


def parse_date(text: Any) -> date | None:
    """None for anything but a real day written YYYY-MM-DD."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
