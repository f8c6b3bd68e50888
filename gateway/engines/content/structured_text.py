"""Adds to a page's text what its structured data says beyond it: facts of a product, the items of a list; and of a
page that shows next to nothing what it is about (`things`).

Runs in the parsing processes. Does not know where the data stood in the page.
"""

import itertools
import re

from gateway.engines.content.blocks import WORD
from gateway.engines.content.structured_data import StructuredData, Subject
from gateway.engines.content.things import write_things
from gateway.engines.markdown.inline import Inline, InlineStyle
from gateway.engines.markdown.writer import WriterOptions

_HELD_SHARE = 0.75
"""Share of the word pairs of a value from which the text has it. Chosen: descriptions are cut or quoted in part; at
half, a summary hides the description, and nothing is held at 1 if a mark differs."""
_HELD_ITEMS = 0.5
"""Share of a list's items that the text has from which the list adds nothing. Chosen: the text shows this list, with
names shortened; at double, each shortened name would come twice."""
_OWN_DESCRIPTION = 2
"""A text so many times as long as the description describes the product in its own words. Chosen: at half, a text with
reviews alone passes for one; at double, short advertising lines for search engines are added to long texts."""
THIN_CHARS = 200
"""Text shorter than this is next to nothing. Chosen: a short paragraph; at double, real short pages are padded, at half
a cookie notice hides an article drawn by scripts."""
_TOLD_TIMES = 2
"""Structured data so many times as long as such a text says more than the page. Chosen: at half, the data of a short
notice that is read repeats it in other words; at double, a cookie notice hides a short recipe."""
_LABELS = (("brand", "Brand: "), ("price", "Price: "), ("availability", ""), ("rating", "Rating: "))
_NUMBER = re.compile(r"\d(?:[\d.,]{0,30}\d)?")


class _Held:
    """What a text has already: its words, pairs of neighbouring words, and numbers without their marks."""

    def __init__(self, text: str) -> None:
        words = WORD.findall(text.lower())
        self.chars = len(text)
        self._words, self._pairs = set(words), set(itertools.pairwise(words))
        self._numbers = {_digits(number) for number in _NUMBER.findall(text)}

    def has(self, value: str) -> bool:
        words = WORD.findall(value.lower())
        if len(words) < 2:
            return self._words.issuperset(words)
        pairs = list(itertools.pairwise(words))
        return sum(pair in self._pairs for pair in pairs) >= _HELD_SHARE * len(pairs)

    def has_number(self, value: str) -> bool:
        match = _NUMBER.search(value)
        return match is not None and _digits(match[0]) in self._numbers


def _digits(number: str) -> str:
    """A number to compare by: "1,299.00", "1299" and "1.299,0" are one, so are "19.9" and "19,90"."""
    whole, mark, part = number, "", ""
    at = max(number.rfind("."), number.rfind(","))
    if at >= 0 and len(number) - at - 1 <= 2:
        whole, mark, part = number[:at], ".", number[at + 1 :].rstrip("0")
    return re.sub(r"\D", "", whole) + (mark + part if part else "")


def completed(text: str, data: StructuredData, page_type: str, plain: bool) -> str:
    """The text, and behind it what the structured data of a product or a list says beyond it.

    Articles, documentation and forums are left as they are: a product in their data is a shop's beside them.
    """
    if page_type in ("article", "documentation", "forum") or not (data.products or data.items):
        return text
    held = _Held(text)
    inline = Inline(InlineStyle("", plain))
    added: list[str] = []
    if len(data.products) == 1:
        added += _product_lines(data.products[0], held, inline)
    items = data.items or (data.products if len(data.products) > 1 else [])
    if items and sum(held.has(item.name) for item in items) < _HELD_ITEMS * len(items):
        added += ["\n".join(_item_line(item, inline, plain) for item in items)]
    return "\n\n".join([text, *added] if text else added)


def with_things(text: str, data: StructuredData, options: WriterOptions) -> str:
    """The text of a page that shows next to nothing, and behind it what its structured data says of recipes, jobs,
    events and the like; the text alone where that is not much more."""
    if len(text) >= THIN_CHARS or not data.things:
        return text
    told = write_things(data.things, _Held(text).has, options)
    return "\n\n".join(part for part in (text, told) if part) if len(told) > _TOLD_TIMES * len(text) else text


def _product_lines(product: Subject, held: _Held, inline: Inline) -> list[str]:
    """What of the product the text lacks: name and description, the facts in one line, the specifications as a list."""
    facts: list[str] = []
    for key, label in _LABELS:
        fact = product.facts.get(key, "")
        is_held = held.has_number(fact) if key in ("price", "rating") else held.has(fact)
        if fact and not is_held:
            facts.append(label + fact)
    is_told = len(product.description) * _OWN_DESCRIPTION <= held.chars or held.has(product.description)
    texts = ["" if held.has(product.name) else product.name, "" if is_told else product.description, "; ".join(facts)]
    rows = [f"- {inline.escape(f'{name}: {value}')}" for name, value in _lacking(product.properties, held)]
    return [*(inline.escape(text) for text in texts if text), *(["\n".join(rows)] if rows else [])]


def _lacking(properties: dict[str, str], held: _Held) -> list[tuple[str, str]]:
    """The properties whose value the text lacks: a page names them in other words."""
    return [(name, value) for name, value in properties.items() if not held.has(value)]


def _item_line(item: Subject, inline: Inline, plain: bool) -> str:
    price = f", {item.facts['price']}" if "price" in item.facts else ""
    if plain:
        return item.name + price
    name = inline.escape(item.name).replace("[", "\\[").replace("]", "\\]")
    url = item.url.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
    return f"- [{name}]({url}){inline.escape(price)}" if url else f"- {name}{inline.escape(price)}"
