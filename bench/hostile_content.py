"""Functions of `engines.content` and `engines.html.hidden` on one parsed page: rows of `hostile_functions`."""

import itertools
import json
import re
from typing import Any

from gateway.engines.content import blocks
from gateway.engines.content.comment_sections import in_comments, own_text
from gateway.engines.content.opinion import follow
from gateway.engines.content.structured_data import read_structured_data
from gateway.engines.content.structured_text import completed
from gateway.engines.html.embedded_state import embedded_text
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.metadata import read_head
from gateway.engines.html.script_signs import read_signs

_XML_ODD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no document holds."""


def comments(root: Any) -> int:
    """Words outside the comments."""
    found = blocks.collect(root)
    return own_text(found, in_comments(found))


def hidden(root: Any) -> bool:
    """Removes what people cannot see."""
    return drop_hidden(root)


def opinion(root: Any) -> None:
    """Follows a second opinion that has every other block of the page."""
    found = blocks.collect(root)
    pairs = {pair for block in found[::2] for pair in itertools.pairwise(block.words)}
    follow(pairs, found, [0.5] * len(found), [True] * len(found))


def structured(root: Any) -> str:
    """What structured data adds to a short text."""
    data = read_structured_data(root, read_head(root, "https://example.org/a/b"))
    return completed("a text of 19.99", data, "product", plain=False)


def signs(root: Any) -> object:
    """Whether a page seems to need a browser."""
    return read_signs(root).needs_browser("")


def state(text: str) -> str:
    """The prose in the data of an application, as one string, as markup and as an element of flight data."""
    from lxml import etree

    root = etree.Element("html")
    packed = json.dumps([text, {"title": text}])
    etree.SubElement(root, "script", id="__NEXT_DATA__").text = _XML_ODD.sub("", packed)
    element = json.dumps(["$", "p", None, {"children": [text]}])
    pushed = f"self.__next_f.push({json.dumps([1, '0:' + element])})"
    etree.SubElement(root, "script").text = _XML_ODD.sub("", pushed)
    return embedded_text(root)
