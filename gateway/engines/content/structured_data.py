"""Reads what a page says about its product or list in structured data.

Sources: JSON-LD and microdata with schema.org's types (Product, ItemList and their like), Open Graph's product fields.
Paths of links, menus and what is related say nothing of the page itself and are not read. Nothing is trusted: any field
may be missing, of another type, or as long as a page. Runs in the parsing processes; decides nothing about the text.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.domain import Json
from gateway.engines.content.microdata import microdata_of
from gateway.engines.content.structured_values import (
    MAX_NAME_CHARS,
    first_named,
    first_of,
    listed,
    long_text,
    name_of,
    object_of,
    quantity,
    rating,
    short_text,
    term,
    types_of,
)
from gateway.engines.content.thing_fields import is_thing
from gateway.engines.html.metadata import Head, link_target

_MAX_CHARS = 1_000_000
"""JSON-LD read of one page. Chosen: long lists with their descriptions have some hundred thousand characters. At half,
such a list is left out whole; at double, a page of nothing else takes 20 ms."""
_MAX_VALUES = 20_000
"""Most JSON objects and lists that are read of one page. Chosen: a hundred products with their offers have 5,000. At
half, long product lists are cut; at double, a hostile page takes twice the time (30 ms)."""
_MAX_THINGS = 20
"""Recipes, events and the like of a page. Chosen: a calendar of a month. At half such are cut; at double, pages of
nothing else are longer than what is read of them."""
_MAX_ITEMS = 100
"""Items of a list. Chosen: shops show up to 96 on a page. At half, these are cut; at double, feeds of a whole shop come
with the page."""
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
    specifications as `properties`, the items of its lists, and the decoded objects of which `things` can tell."""

    products: list[Subject] = field(default_factory=list)
    items: list[Subject] = field(default_factory=list)
    things: list[Json] = field(default_factory=list)


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
    if not found.products and not found.items and _has_own_microdata(head):
        reader.read(microdata_of(root, _MAX_VALUES))
    if not found.products and head.meta.get("og:type", "").lower() in ("product", "og:product", "product.item"):
        product = _of_open_graph(head)
        found.products += [product] if product.facts else []  # every page has a title and a description there
    return found


def _has_own_microdata(head: Head) -> bool:
    """True for a document with an item of a type that is read: most microdata is menus and paths, not worth a walk."""
    names = " ".join(head.item_types).split()
    return not (_PRODUCTS | _LISTS).isdisjoint(types_of({"@type": names[:_MAX_VALUES]}))


def _of_open_graph(head: Head) -> Subject:
    def value(name: str) -> str:
        return short_text(head.meta.get(f"product:{name}") or head.meta.get(f"og:{name}", ""))

    price = " ".join(part for part in (value("price:amount"), value("price:currency")) if part)
    facts = {"brand": value("brand"), "price": price, "availability": term(value("availability"))}
    text = long_text(head.meta.get("og:description", ""))
    return Subject(
        short_text(head.meta.get("og:title", "")), "", text, {key: fact for key, fact in facts.items() if fact}
    )


class _Reader:
    """Collects the products and items of decoded structured data, without recursion and within _MAX_VALUES."""

    def __init__(self, head: Head, found: StructuredData) -> None:
        self._head, self._found, self._left = head, found, _MAX_VALUES

    def read(self, data: Any) -> None:
        waiting = [(data, False)]
        while waiting and self._left > 0:
            self._left -= 1
            value, is_told = waiting.pop()
            if isinstance(value, list):
                waiting += [(inner, is_told) for inner in reversed(value[: self._left])]
            if not isinstance(value, dict):
                continue
            types = types_of(value)
            if types & _APART:
                continue
            if types & _PRODUCTS:
                self._add(self._found.products, self._subject(value))
            elif types & _LISTS:
                self._read_list(value)
            else:
                if not is_told and is_thing(types) and len(self._found.things) < _MAX_THINGS:
                    self._found.things.append(value)
                    is_told = True  # what is inside it is told with it
                waiting += [(inner, is_told) for key, inner in value.items() if _is_own(key, inner)]

    def _read_list(self, value: Json) -> None:
        for entry in listed(value.get("itemListElement"))[: 2 * _MAX_ITEMS]:
            self._left -= 1
            inner = first_of(entry.get("item")) if isinstance(entry, dict) else None
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
            "brand": name_of(value.get("brand") or value.get("manufacturer")),
            "price": _price(value),
            "availability": term(first_named(_offers(value), "availability")),
            "rating": rating(object_of(value.get("aggregateRating"))),
        }
        return Subject(
            name_of(value.get("name")),
            self._link(first_of(value.get("url") or value.get("@id"))),
            long_text(first_of(value.get("description"))),
            {key: fact for key, fact in facts.items() if fact},
            _properties(value),
        )

    def _link(self, value: Any) -> str:
        return link_target(self._head.base, value[: 10 * MAX_NAME_CHARS]) or "" if isinstance(value, str) else ""


def _is_own(key: str, value: Any) -> bool:
    return isinstance(value, dict | list) and key.lower() not in _APART


def _offers(value: Json) -> list[Json]:
    """The offers of a product; those of an aggregate stand behind it."""
    found = [offer for offer in listed(value.get("offers"))[:_MAX_ITEMS] if isinstance(offer, dict)]
    inner = [each for offer in found for each in listed(offer.get("offers"))[:_MAX_ITEMS] if isinstance(each, dict)]
    return found + inner[:_MAX_ITEMS]


def _price(value: Json) -> str:
    """Such as "19.99 USD" or "10 to 25 EUR"."""
    offers = _offers(value) + [object_of(offer.get("priceSpecification")) for offer in _offers(value)]
    low, high = first_named(offers, "lowPrice"), first_named(offers, "highPrice")
    amount = first_named(offers, "price") or (f"{low} to {high}" if low and high and low != high else low or high)
    currency = first_named(offers, "priceCurrency")
    return f"{amount} {currency}".strip() if _DIGIT.search(amount) else ""


def _properties(value: Json) -> dict[str, str]:
    """The specifications of a product, by name."""
    found = {name.capitalize() if len(name) > 3 else name.upper(): quantity(value.get(name)) for name in _MEASURED}
    for each in listed(value.get("additionalProperty"))[:_MAX_PROPERTIES]:
        if isinstance(each, dict) and "value" in each:
            found.setdefault(name_of(each.get("name")), quantity(each))
    return {name: text for name, text in found.items() if name and text}
