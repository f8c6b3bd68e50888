"""Arguments of tool calls: coerced to the schema's types, checked, and refused with every wrong field named.

Language models send `"5"` for a number, or one string for a list: their meaning is clear, so they are converted.
All rules of arguments are checked here and nowhere else (but the form of domains, which the search service needs in
its own form). Knows the tools only by their schemas.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.schemas import Checker
from gateway.schemas.violations import Problem

_INTEGER = re.compile(r"[+-]?\d{1,18}(\.0+)?", re.ASCII)
"""A string that means an integer; 18 digits fit 64 bits, and `5.0` is how some models write 5."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}
_TRUTH: Mapping[str, bool] = {"true": True, "false": False, "yes": True, "no": False}
_MAX_CONVERTED = 256
"""Arguments of one call that are converted."""
_MAX_LIST_CHARS = 100_000
"""A string that may hold a list."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}[\d:.]{0,20}([Zz]|[+-]\d{2}:?\d{2})?", re.ASCII)
"""A date with a time of the day (RFC 3339), of which the day counts."""
_SEPARATORS = re.compile(r"[\s,;]+")
_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_DOMAIN = re.compile(r"^[\w-]{1,63}+(?:\.[\w-]{1,63}+|(?!)){1,126}+$")
"""What several of in one string are a list: addresses of pages, and domains. Others, such as regular expressions, may
hold blanks and commas themselves."""


class Rule(NamedTuple):
    """A rule that no schema can express. `find_problems(arguments)` is called when one of the `fields` is there.

    `convert(arguments)` is called before that, and brings them into the form that is checked, in place.
    """

    fields: frozenset[str]
    find_problems: Callable[[Json], list[Problem]]
    convert: Callable[[Json], None] | None = None


class Arguments:
    """Coerces and checks one tool's arguments; call `coerce`, then `check` with its result."""

    def __init__(self, tool: str, schema: Json, rules: tuple[Rule, ...] = ()) -> None:
        """`tool` is the name in error texts; `schema` is the tool's input schema."""
        self._tool = tool
        # A null is dropped before the check, so that only the other branch is checked, and named in errors.
        self._properties: Mapping[str, Json] = {name: _not_null(prop) for name, prop in schema["properties"].items()}
        self._checker = Checker({**schema, "properties": self._properties})
        self._masked_checker = Checker({**schema, "properties": _any_length(self._properties)})
        self._rules = rules
        # A value of exactly this type stays as it is; a nullable string may also say that there is none.
        self._as_is: Mapping[str, type] = {
            name: _TYPES[prop["type"]]
            for name, prop in schema["properties"].items()
            if "anyOf" not in prop and "enum" not in prop and prop["type"] in _TYPES
        }
        self._nullable = frozenset(name for name, prop in schema["properties"].items() if "anyOf" in prop)
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))

    def coerce(self, arguments: Json) -> Json:
        """A new object: nulls of optional parameters dropped, values converted to the schema's and the rules' form.

        A value that cannot be converted stays as it is: `check` names it.
        """
        if len(arguments) > _MAX_CONVERTED:
            return arguments.copy()
        as_is = self._as_is
        for name, value in arguments.items():
            if type(value) is not as_is.get(name):
                return self._convert(arguments)
        return arguments.copy()  # the usual case; `_convert` would return the same

    def _convert(self, arguments: Json) -> Json:
        converted: Json = {}
        for name, value in arguments.items():
            if name not in self._properties or type(value) is self._as_is.get(name):
                converted[name] = value
            elif not self._means_default(name, value):
                converted[name] = _convert_value(value, self._properties[name])
        for rule in self._rules:
            if rule.convert is not None and not rule.fields.isdisjoint(converted):
                rule.convert(converted)
        return converted

    def check(self, arguments: Json, *, masked: bool = False) -> InvalidRequest | None:
        """None for valid arguments, else an error that names each wrong field and the values allowed.

        The error's `param` is the path of the first wrong field (`include_domains[0]`). `masked`: they were valid
        before the sanitizer masked some. Limits of length are for what the caller wrote, so a mask that is longer than
        its value breaks none.
        """
        problems = (self._masked_checker if masked else self._checker).check(arguments)
        rule_problems: list[Problem] = []
        for rule in self._rules:
            if not rule.fields.isdisjoint(arguments):
                rule_problems += rule.find_problems(arguments)
        if not problems and not rule_problems:
            return None
        named = {problem.path for problem in problems}
        problems += [problem for problem in rule_problems if problem.path not in named]
        return InvalidRequest(
            f"invalid arguments for {self._tool}: " + "; ".join(map(str, problems)), param=problems[0].path or None
        )

    def _means_default(self, name: str, value: Any) -> bool:
        if value is None:
            return name in self._optional
        return name in self._nullable and isinstance(value, str) and value.strip() in ("", "null")


def _not_null(prop: Json) -> Json:
    """The branch that is not null of an optional parameter."""
    branch: Json = prop["anyOf"][0] if "anyOf" in prop else prop
    return branch


def _any_length(part: Any) -> Any:
    """A part of a schema without the limits of strings' lengths."""
    if isinstance(part, list):
        return [_any_length(each) for each in part]
    if isinstance(part, dict):
        return {name: _any_length(each) for name, each in part.items() if name != "maxLength"}
    return part


def _convert_value(value: Any, schema: Json) -> Any:
    kind = schema["type"]
    if "enum" in schema and isinstance(value, str):
        word = value.strip().lower()
        return word if word in schema["enum"] else value
    if kind == "integer":
        if type(value) is float and value.is_integer():
            return int(value)
        if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            return int(value.strip().split(".")[0])
    elif kind == "boolean" and isinstance(value, str):
        return _TRUTH.get(value.strip().lower(), value)
    elif kind == "array":
        items = _convert_list(value) if isinstance(value, str) else value
        if isinstance(items, list):
            return [_convert_item(item) for item in items]
        return [address] if (address := _convert_item(items)) is not items else items
    return value


def _convert_item(item: Any) -> Any:
    """The address of `{"url": "https://…"}`, the form of results and of other tools' arguments; others as they are."""
    url = item.get("url") if isinstance(item, dict) else None
    return url if isinstance(url, str) and _WEB_ADDRESS.fullmatch(url) else item


def _convert_list(text: str) -> Any:
    if len(text) <= _MAX_LIST_CHARS and text.lstrip().startswith("["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return [text]  # a regular expression may begin with a bracket
        if isinstance(value, list):
            return value
    parts = [part for part in _SEPARATORS.split(text[:_MAX_LIST_CHARS]) if part]
    if len(parts) > 1 and any(all(map(form.fullmatch, parts)) for form in (_WEB_ADDRESS, _DOMAIN)):
        return parts
    return [text]


def not_blank(name: str) -> Rule:
    """A string parameter that must hold more than white space."""

    def find_problems(arguments: Json) -> list[Problem]:
        value = arguments.get(name)
        return [Problem(name, "must not be blank")] if isinstance(value, str) and (not value or value.isspace()) else []

    return Rule(frozenset((name,)), find_problems)


def _find_date_problems(arguments: Json) -> list[Problem]:
    problems = [
        Problem(name, "must be a calendar date written YYYY-MM-DD")
        for name in ("start_date", "end_date")
        if isinstance(arguments.get(name), str) and parse_date(arguments[name]) is None
    ]
    start, end = parse_date(arguments.get("start_date")), parse_date(arguments.get("end_date"))
    if start and end and start > end:
        problems.append(Problem("start_date", "must not be after end_date"))
    return problems


def _find_description_problems(arguments: Json) -> list[Problem]:
    if arguments.get("include_image_descriptions") is True and not arguments.get("include_images"):
        return [Problem("include_image_descriptions", "needs include_images to be true as well")]
    return []


def _drop_times(arguments: Json) -> None:
    for name in ("start_date", "end_date"):
        if isinstance(arguments.get(name), str) and (timestamp := _TIMESTAMP.fullmatch(arguments[name].strip())):
            arguments[name] = timestamp[1]


calendar_dates = Rule(frozenset(("start_date", "end_date")), _find_date_problems, _drop_times)
"""Both dates exist in the calendar, and the first is not after the last; a time of the day is left out."""


def _take_formats(arguments: Json) -> None:
    value = arguments["include_raw_content"]
    if isinstance(value, str) and value.strip().lower() in ("markdown", "text"):
        arguments["include_raw_content"] = True


raw_content_formats = Rule(frozenset(("include_raw_content",)), lambda _: [], _take_formats)
"""Tavily's API takes a format for `include_raw_content`, and models write it: it asks for the content too."""

images_for_descriptions = Rule(frozenset(("include_image_descriptions",)), _find_description_problems)
"""Descriptions are for images, so they need `include_images`."""


_LEAST_CHARS_OF_NAMES = 4
"""Shortest text for which similar names are suggested: three letters are similar to everything."""


def known_country(schema: Json) -> Rule:
    """A `country` must be one that `schema` (schemas/country.json) names, by its name, ISO code or another name.

    It becomes the name; the error suggests similar ones.
    """
    names = {name: name for name in schema["enum"]}
    for name, others in (*schema["x-codes"].items(), *schema["x-also"].items()):
        names.update((_folded_country(other), name) for other in others)

    def convert(arguments: Json) -> None:
        country = arguments["country"]
        if isinstance(country, str):
            folded = _folded_country(country)
            arguments["country"] = names.get(folded, folded)

    def find_problems(arguments: Json) -> list[Problem]:
        country = arguments.get("country")
        if not isinstance(country, str) or names.get(country) == country:
            return []
        known = [name for name in names if len(name) >= _LEAST_CHARS_OF_NAMES]
        is_long = len(country) >= _LEAST_CHARS_OF_NAMES
        difflib = importlib.import_module("difflib")
        near = difflib.get_close_matches(country[:64], known, n=3) if is_long else []
        meant = dict.fromkeys(names[name] for name in near)
        hint = "did you mean " + " or ".join(meant) + "?" if meant else "for example united states, germany, jp, GBR"
        return [Problem("country", f"must be the English name of a country, or its ISO 3166 code; {hint}")]

    return Rule(frozenset(("country",)), find_problems, convert)


def _folded_country(text: str) -> str:
    return " ".join(text.lower().replace(".", "").split()).removeprefix("the ")


def parse_date(text: Any) -> date | None:
    """The day written `YYYY-MM-DD`; None for anything else, and for days that the calendar does not have."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
