"""Functions of engines.content, html.hidden and documents on one page: rows of `hostile_functions`."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import Any

from gateway.engines.content import blocks
from gateway.engines.content.parts import in_comments, own_text
from gateway.engines.documents.document_text import running_lines
from gateway.engines.documents.pdf import entries, without_leaders
from gateway.engines.documents.reader import read_document
from gateway.engines.html import encoding
from gateway.engines.html.cleaning import open_frames
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.scripts import EmbeddedState, read_signs

_XML_ODD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no document holds."""


Make = Callable[[int], Any]


def comments(root: Any) -> int:
    """Words outside the comments."""
    found = blocks.collect(root)
    return own_text(found, in_comments(found))


def contents(text: str) -> object:
    """The entries of a contents list, the text without its rows of dots, and its lines that are on every page."""
    return entries(text), without_leaders(text), running_lines([line.split("\r") for line in text.split("\n")])


def hidden(root: Any) -> bool:
    """Opens frames and removes what people cannot see."""
    open_frames(root)
    return drop_hidden(root)


def structured(root: Any) -> str:
    """What structured data says in sentences."""
    return EmbeddedState(root).described()


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
    return EmbeddedState(root).text()


def text_document(body: bytes) -> object:
    """The text of an .odt."""
    return read_document("odt", body, plain=False)


def text_documents(texts: Mapping[str, Make]) -> dict[str, Make]:
    """.odt files with one paragraph, a text of each kind."""
    head, end = '<a xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:p>', "</text:p></a>"
    return {name: partial(_packed, text, head, end) for name, text in texts.items()}


def odd_documents(pages: Mapping[str, Make]) -> dict[str, Make]:
    """.odt files whose content is any markup."""
    return {name: partial(_packed, page, "", "") for name, page in pages.items()}


def _packed(make: Make, head: str, end: str, size: int) -> bytes:
    content = escape(str(make(size))) if head else str(make(size))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("content.xml", (head + content + end).encode("utf-8", "replace"))
    return out.getvalue()


def encoded_text(body: bytes) -> tuple[str, str | None]:
    """A text in an encoding that has to be found, and what its letters say."""
    return encoding.decode(body, ""), encoding.guess(body)
