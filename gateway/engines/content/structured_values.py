"""Single values of schema.org's structured data as text: names, quantities, ratings, facts.

Nothing is trusted: a value may be missing, of another type, or as long as a page. Runs in the parsing processes.
"""

import html
import re
from typing import Any

from gateway.domain import Json

MAX_NAME_CHARS, _MAX_TEXT_CHARS = 300, 5_000
"""One short value and one description. Chosen above honest use: a long description has 3,000 characters."""
MAX_DEPTH = 4
"""Objects inside a value that are looked into. Chosen: a place has an address, which has a country. At half addresses
lose it; at double nothing more is found."""
_MAX_NAMES = 20
"""Names in one value. Chosen: a cast or the places of a job. At half these are cut; at double they are most of a page.
"""
_PARTS = (
    "name", "address", "streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry", "calories",
)  # fmt: skip
_TAG = re.compile(r"<[^<>]{1,500}>")
_DIGIT = re.compile(r"\d")
_DURATION = re.compile(r"P(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,5})S)?)?")
_SCHEMA = ("https://schema.org/", "http://schema.org/")


def types_of(value: Json) -> frozenset[str]:
    """The object's types in lower case, without their address."""
    names = [name for name in listed(value.get("@type"))[:10] if isinstance(name, str)]
    return frozenset(name[:100].rstrip("/").rpartition("/")[2].rpartition(":")[2].lower() for name in names)


def listed(value: Any) -> list[Any]:
    """One or several values as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def first_of(value: Any) -> Any:
    """The first of several values; microdata has lists everywhere."""
    return next(iter(listed(value)), None)


def object_of(value: Any) -> Json:
    """The value, or the first of several, if it is an object; else `{}`."""
    first = first_of(value)
    return first if isinstance(first, dict) else {}


def short_text(value: Any) -> str:
    """A text or number as at most MAX_NAME_CHARS characters on one line, without markup; else empty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:.12g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        return ""
    return " ".join(html.unescape(_TAG.sub(" ", value[: 4 * MAX_NAME_CHARS])).split())[:MAX_NAME_CHARS]


def long_text(value: Any) -> str:
    """A text on one line of at most _MAX_TEXT_CHARS, without markup; else empty."""
    if not isinstance(value, str):
        return ""
    return " ".join(_TAG.sub(" ", html.unescape(value[: 2 * _MAX_TEXT_CHARS])).split())[:_MAX_TEXT_CHARS]


def name_of(value: Any) -> str:
    """The name of the first object, or the first text or number; else empty."""
    first = first_of(value)
    return short_text(first_of(first.get("name"))) if isinstance(first, dict) else short_text(first)


def first_named(objects: list[Json], key: str) -> str:
    """The first text that one of the objects has under this key."""
    return next((text for each in objects if (text := name_of(each.get(key)))), "")


def term(value: str) -> str:
    """schema.org's `https://schema.org/InStock` as "in stock"."""
    name = value.rstrip("/").rpartition("/")[2]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower() if name != value or " " not in value else value


def quantity(value: Any) -> str:
    """A value with its unit, such as "420 g", or a name."""
    first = first_of(value)
    if isinstance(first, dict) and "value" in first:
        unit = name_of(first.get("unitText")) or name_of(first.get("unitCode"))
        return f"{name_of(first.get('value'))} {unit}".strip() if name_of(first.get("value")) else ""
    return name_of(first)


def rating(value: Json) -> str:
    """Such as "4.5 of 5 (120 reviews)"."""
    amount = first_named([value], "ratingValue")
    if not _DIGIT.match(amount):
        return ""
    count = first_named([value], "reviewCount") or first_named([value], "ratingCount")
    return f"{amount} of {first_named([value], 'bestRating') or '5'}" + (f" ({count} reviews)" if count else "")


def fact(value: Any, depth: int = 0) -> str:
    """A value of any type on one line: a name, a date, an amount, an address, or several of them."""
    if depth > MAX_DEPTH:
        return ""
    if isinstance(value, list):
        return ", ".join(dict.fromkeys(text for each in value[:_MAX_NAMES] if (text := fact(each, depth + 1))))
    if isinstance(value, dict):
        parts = [fact(value.get(key), depth + 1) for key in _PARTS] + [rating(value) or _amount(value)]
        return ", ".join(dict.fromkeys(part for part in parts if part)) or short_text(value.get("url"))
    text = short_text(value)
    if text.startswith(_SCHEMA):
        return term(text)
    if "_" in text and text.isupper():
        return text.replace("_", " ").lower()  # FULL_TIME
    match = _DURATION.fullmatch(text)
    return _duration(match) if match is not None else text


def _amount(value: Json) -> str:
    """Such as "52000 to 60000 EUR per year", "12.5 USD" or "3 kg"."""
    inner = object_of(value.get("value")) or value
    low, high = (name_of(inner.get(key)) for key in ("minValue", "maxValue"))
    low, high = low or name_of(value.get("lowPrice")), high or name_of(value.get("highPrice"))
    amount = name_of(inner.get("value")) or name_of(value.get("price"))
    amount = amount or (f"{low} to {high}" if low and high and low != high else low or high)
    currency = name_of(value.get("currency")) or name_of(value.get("priceCurrency"))
    unit = name_of(inner.get("unitText")) or name_of(inner.get("unitCode"))
    if unit and currency:
        unit = f"per {unit.lower()}"
    return " ".join(part for part in (amount, currency, unit) if part) if amount else ""


def _duration(match: re.Match[str]) -> str:
    """ISO 8601's PT1H30M as "1 h 30 min"; empty for one of no length."""
    units = zip(match.groups(), ("d", "h", "min", "s"), strict=True)
    return " ".join(f"{int(number)} {unit}" for number, unit in units if number and int(number))
