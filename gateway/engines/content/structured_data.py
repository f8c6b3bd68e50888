"""Reads what a page says about its product or list in structured data.

Sources: JSON-LD and microdata with schema.org's types (Product, ItemList and their like), Open Graph's product fields.
Paths of links, menus and what is related say nothing of the page itself and are not read. Nothing is trusted: any field
may be missing, of another type, or as long as a page. Runs in the parsing processes; decides nothing about the text.
"""

import html
import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.domain import Json
from gateway.engines.content.microdata import microdata_of
from gateway.engines.html.dom import values_of
from gateway.engines.html.metadata import Head, link_target

_MAX_CHARS = 1_000_000
"""JSON-LD read of one page. Chosen: long lists with their descriptions have some hundred thousand characters. At half,
such a list is left out whole; at double, a page of nothing else takes 20 ms."""
_MAX_VALUES = 20_000
"""Most JSON objects and lists that are read of one page. Chosen: a hundred products with their offers have 5,000. At
half, long product lists are cut; at double, a hostile page takes twice the time (30 ms)."""
_MAX_ITEMS = 100
"""Items of a list. Chosen: shops show up to 96 on a page. At half, these are cut; at double, feeds of a whole shop come
with the page."""
_MAX_NAME_CHARS, _MAX_TEXT_CHARS = 300, 5_000
"""One short value and one description. Chosen above honest use: a long description has 3,000 characters."""
_PRODUCTS = frozenset(
    {"product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle", "car", "motorcycle",
     "softwareapplication", "mobileapplication", "webapplication", "videogame"}
)  # fmt: skip
_LISTS = frozenset({"itemlist", "offercatalog"})
_APART = frozenset(
    {"breadcrumb", "breadcrumblist", "sitenavigationelement", "isrelatedto", "issimilarto", "isaccessoryorsparepartfor",
     "review", "author", "publisher", "hasmerchantreturnpolicy", "shippingdetails"}
)  # fmt: skip
"""Types and properties whose values are others than the page's own subject."""
_MAX_PROPERTIES = 60
"""Properties of a product. Chosen: data sheets of cameras have 50. At half, these are cut; at double, a page made
for it pads its text with twice as much."""
_MEASURED = ("material", "color", "size", "weight", "width", "height", "depth", "model", "sku", "mpn")
"""Properties of a product that schema.org names itself, told under their names."""
_TAG = re.compile(r"<[^<>]{1,500}>")
_DIGIT = re.compile(r"\d")


@dataclass(slots=True)
class Subject:
    """A product or one item of a list; what is not known is empty."""

    name: str = ""
    url: str = ""
    description: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StructuredData:
    """What the page's structured data holds: products, each with `{brand, price, availability, rating}` as text and its
    specifications as `properties`, and the items of its lists."""

    products: list[Subject] = field(default_factory=list)
    items: list[Subject] = field(default_factory=list)


def read_structured_data(root: Any, head: Head) -> StructuredData:
    """Call it before anything is removed from the document."""
    found = StructuredData()
    reader = _Reader(head, found)
    size = 0
    for script in root.iter("script"):
        text = script.text or ""
        if "ld+json" not in (script.get("type") or "").lower():
            continue
        size += len(text)
        if size > _MAX_CHARS:
            break
        try:
            reader.read(orjson.loads(text.encode("utf-8", "replace")))
        except orjson.JSONDecodeError:
            continue
    if not found.products and not found.items and _has_own_microdata(root):
        reader.read(microdata_of(root, _MAX_VALUES))
    if not found.products and head.meta.get("og:type", "").lower() in ("product", "og:product", "product.item"):
        product = _of_open_graph(head)
        found.products += [product] if product.facts else []  # every page has a title and a description there
    return found


def _has_own_microdata(root: Any) -> bool:
    """True for a document with an item of a type that is read: most microdata is menus and paths, not worth a walk."""
    names = " ".join(values_of("itemtype", root)).split()
    return not (_PRODUCTS | _LISTS).isdisjoint(_types({"@type": names[:_MAX_VALUES]}))


def _of_open_graph(head: Head) -> Subject:
    def value(name: str) -> str:
        return _short(head.meta.get(f"product:{name}") or head.meta.get(f"og:{name}", ""))

    price = " ".join(part for part in (value("price:amount"), value("price:currency")) if part)
    facts = {"brand": value("brand"), "price": price, "availability": _availability(value("availability"))}
    text = _long(head.meta.get("og:description", ""))
    return Subject(_short(head.meta.get("og:title", "")), "", text, {key: fact for key, fact in facts.items() if fact})


class _Reader:
    """Collects the products and items of decoded structured data, without recursion and within _MAX_VALUES."""

    def __init__(self, head: Head, found: StructuredData) -> None:
        self._head, self._found, self._left = head, found, _MAX_VALUES

    def read(self, data: Any) -> None:
        waiting = [data]
        while waiting and self._left > 0:
            self._left -= 1
            value = waiting.pop()
            if isinstance(value, list):
                waiting += reversed(value[: self._left])
            if not isinstance(value, dict):
                continue
            types = _types(value)
            if types & _APART:
                continue
            if types & _PRODUCTS:
                self._add(self._found.products, self._subject(value))
            elif types & _LISTS:
                self._read_list(value)
            else:
                waiting += [inner for key, inner in value.items() if _is_own(key, inner)]

    def _read_list(self, value: Json) -> None:
        for entry in _listed(value.get("itemListElement"))[: 2 * _MAX_ITEMS]:
            self._left -= 1
            inner = _head(entry.get("item")) if isinstance(entry, dict) else None
            subject = self._subject(inner) if isinstance(inner, dict) else Subject()
            if isinstance(entry, dict):
                outer = self._subject(entry)
                subject.name, subject.url = subject.name or outer.name, subject.url or outer.url
            if isinstance(inner, str):
                subject.url = subject.url or self._link(inner)
            self._add(self._found.items, subject)

    def _add(self, subjects: list[Subject], subject: Subject) -> None:
        if subject.name and len(subjects) < _MAX_ITEMS:
            subjects.append(subject)

    def _subject(self, value: Json) -> Subject:
        facts = {
            "brand": _name(value.get("brand") or value.get("manufacturer")),
            "price": _price(value),
            "availability": _availability(_first(_offers(value), "availability")),
            "rating": _rating(_object(value.get("aggregateRating"))),
        }
        return Subject(
            _name(value.get("name")),
            self._link(_head(value.get("url") or value.get("@id"))),
            _long(_head(value.get("description"))),
            {key: fact for key, fact in facts.items() if fact},
            _properties(value),
        )

    def _link(self, value: Any) -> str:
        return link_target(self._head.base, value[: 10 * _MAX_NAME_CHARS]) or "" if isinstance(value, str) else ""


def _is_own(key: str, value: Any) -> bool:
    return isinstance(value, dict | list) and key.lower() not in _APART


def _types(value: Json) -> frozenset[str]:
    """The object's types in lower case, without their address."""
    names = [name for name in _listed(value.get("@type"))[:10] if isinstance(name, str)]
    return frozenset(name[:100].rstrip("/").rpartition("/")[2].rpartition(":")[2].lower() for name in names)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _head(value: Any) -> Any:
    """The first of several values; microdata has lists everywhere."""
    return next(iter(_listed(value)), None)


def _object(value: Any) -> Json:
    first = _head(value)
    return first if isinstance(first, dict) else {}


def _short(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:.12g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        return ""
    return " ".join(html.unescape(_TAG.sub(" ", value[: 4 * _MAX_NAME_CHARS])).split())[:_MAX_NAME_CHARS]


def _long(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return " ".join(_TAG.sub(" ", html.unescape(value[: 2 * _MAX_TEXT_CHARS])).split())[:_MAX_TEXT_CHARS]


def _name(value: Any) -> str:
    first = _head(value)
    return _short(_head(first.get("name"))) if isinstance(first, dict) else _short(first)


def _offers(value: Json) -> list[Json]:
    """The offers of a product; those of an aggregate stand behind it."""
    found = [offer for offer in _listed(value.get("offers"))[:_MAX_ITEMS] if isinstance(offer, dict)]
    inner = [each for offer in found for each in _listed(offer.get("offers"))[:_MAX_ITEMS] if isinstance(each, dict)]
    return found + inner[:_MAX_ITEMS]


def _first(objects: list[Json], key: str) -> str:
    return next((text for each in objects if (text := _name(each.get(key)))), "")


def _price(value: Json) -> str:
    """Such as "19.99 USD" or "10 to 25 EUR"."""
    offers = _offers(value) + [_object(offer.get("priceSpecification")) for offer in _offers(value)]
    low, high = _first(offers, "lowPrice"), _first(offers, "highPrice")
    amount = _first(offers, "price") or (f"{low} to {high}" if low and high and low != high else low or high)
    currency = _first(offers, "priceCurrency")
    return f"{amount} {currency}".strip() if _DIGIT.search(amount) else ""


def _availability(value: str) -> str:
    """schema.org's `https://schema.org/InStock` as "in stock"."""
    name = value.rstrip("/").rpartition("/")[2]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower() if name != value or " " not in value else value


def _properties(value: Json) -> dict[str, str]:
    """The specifications of a product, by name."""
    found = {name.capitalize() if len(name) > 3 else name.upper(): _quantity(value.get(name)) for name in _MEASURED}
    for each in _listed(value.get("additionalProperty"))[:_MAX_PROPERTIES]:
        if isinstance(each, dict) and "value" in each:
            found.setdefault(_name(each.get("name")), _quantity(each))
    return {name: text for name, text in found.items() if name and text}


def _quantity(value: Any) -> str:
    """A value with its unit, such as "420 g", or a name."""
    first = _head(value)
    if isinstance(first, dict) and "value" in first:
        unit = _name(first.get("unitText")) or _name(first.get("unitCode"))
        return f"{_name(first.get('value'))} {unit}".strip() if _name(first.get("value")) else ""
    return _name(first)


def _rating(value: Json) -> str:
    """Such as "4.5 of 5 (120 reviews)"."""
    amount = _first([value], "ratingValue")
    if not _DIGIT.match(amount):
        return ""
    count = _first([value], "reviewCount") or _first([value], "ratingCount")
    return f"{amount} of {_first([value], 'bestRating') or '5'}" + (f" ({count} reviews)" if count else "")
