"""Reads untrusted XML as events, without a tree, and so that entities, references and external files do nothing.

Runs in the parsing processes. Knows no format.
"""

import re
from html import unescape
from typing import Any, Protocol

from gateway.engines.html.tree_builder import MISSING
from gateway.errors import EngineMissing

_FED_BYTES = 65_536
"""Bytes given to the parser at once. Changes no result; a full target is noticed at most this many bytes late."""
_REFERENCE = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


class Target(Protocol):
    """Gets the events, as a parser target of lxml does; names of elements are `{namespace}name`."""

    @property
    def is_full(self) -> bool:
        """True when nothing of the rest is needed."""
        ...

    def start(self, tag: str, attributes: Any) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def data(self, text: str) -> None:
        """Text in which references stand as they were written: see `resolved`."""

    def close(self) -> None:
        """The document ends."""


def read_events(target: Target, markup: bytes) -> None:
    """Gives the target the events of a document in UTF-8, up to where it cannot be read any further.

    Every `&` is written as `&#38;` for the parser. So it meets no entity: it would expand those of the document
    (libxml2 does so for a parser target whatever `resolve_entities` says) and lose a bare `&` as in `?a=1&b=2`.
    Elements nest as deeply as libxml2 allows without `huge_tree`. Raises EngineMissing.
    """
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra, and only in the parsing processes
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    parser = etree.XMLParser(
        target=target,
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
    )
    markup = markup.lstrip().replace(b"&", b"&#38;")
    try:
        for start in range(0, len(markup), _FED_BYTES):
            parser.feed(markup[start : start + _FED_BYTES])
            if target.is_full:
                break
        parser.close()
    except etree.LxmlError:
        pass  # what came before the fault counts


def resolved(text: str) -> str:
    """Text of events with its references resolved once: the characters of numbers and of HTML's names."""
    return _REFERENCE.sub(lambda match: unescape(match[0]), text)
