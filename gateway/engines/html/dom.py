"""Parses HTML and finds the region of a page that holds its content.

Runs in the parsing processes only. Elements are lxml's and typed Any. Knows nothing of models and Markdown. The
thresholds were set on the labelled pages of bench/extract.py, not on any one site; no single measurement is recorded.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.engines.html.holdable import holdable_bytes
from gateway.engines.html.tree_builder import MISSING, normalised
from gateway.errors import EngineMissing

FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar",
     "toolbar", "tooltip", "alert", "status"}
)  # fmt: skip
_CONTENT_IDS = re.compile(
    r"^(main|content|main-?content|page-?content|primary|bodyContent|mw-content-text|content-?main|maincontent|"
    r"article|article-?body|post|entry|skip-?content|site-?content|document|readme)$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_MAX_NESTING = 512
"""Depth of elements in pages beyond libxml2's limit of 2,048, after which it drops the rest of the page. 512 is the
limit of Chromium and WebKit. At half, real pages with many wrappers would be changed; at double, recursion gets deeper.
"""
_FORM_CHARS = 400
"""A form with more text is a page wrapped in a form (ASP.NET), not a search box. At half, long sign-up forms are
content; at double, short pages are lost."""
_MAIN_SHARE, _NAMED_SHARE = 0.25, 0.35
"""Share of the body's text that a marked main region must hold, and one named so by its id, which is a weaker sign. At
half, an empty `main` beside the text is taken; at double, pages with long menus or comments lose their main region."""


_MAX_HELD = 50_000
"""Elements of a page that are held, 2.5 MB. Chosen: large pages have 20,000. At half the largest are read slower, at
double a page made of tags takes 5 MB."""


class _Flattening:
    """A parser target that limits depth to `_MAX_NESTING`: deeper elements become siblings at that depth."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._depth = 0
        self._deepest: str | None = None

    def start(self, tag: str, attributes: Any) -> None:
        self._depth += 1
        if self._depth >= _MAX_NESTING:
            self._end_deepest()
            self._deepest = tag
        self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._depth >= _MAX_NESTING:
            self._end_deepest()
        else:
            self._builder.end(tag)
        self._depth -= 1

    def _end_deepest(self) -> None:
        if self._deepest is not None:
            self._builder.end(self._deepest)
            self._deepest = None

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> Any:
        return self._builder.close()


def parse(markup: str) -> Any:
    """The root element of a document as a browser builds it, without comments and characters that it cannot hold (see
    `holdable`); None for an empty or unreadable one. Elements are at most 2,048 deep. Raises EngineMissing without lxml
    and selectolax."""
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    options = {"encoding": "utf-8", "huge_tree": True, "collect_ids": False}  # nobody asks for an element by its id
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, **options)
    data = holdable_bytes(markup.encode("utf-8", "replace"))
    if data.isspace() or not data:
        return None
    data = normalised(data).encode()
    try:
        root = etree.fromstring(data, parser)
        if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
            target = _Flattening(etree.TreeBuilder())
            root = etree.fromstring(data, etree.HTMLParser(target=target, **options))
        return root
    except etree.XMLSyntaxError:
        return None


def first_elements(root: Any) -> list[Any]:
    """The first _MAX_HELD elements of a document. The caller keeps a reference to them while it reads the page, which
    saves a twentieth of the time: lxml creates the object of an element again in each pass if nothing refers to it."""
    return list(itertools.islice(root.iter(), _MAX_HELD))


def markup_of(root: Any) -> str:
    """The document as HTML."""
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return str(etree.tostring(root, encoding="unicode", method="html"))


def remove_all(elements: Iterable[Any]) -> None:
    """Removes elements from their parents; the texts that follow them stay. They come in document order.

    An element inside one that is gone stays there: taking it out would cost the square of their depth.
    """
    wanted = list(elements)
    tags = {element.tag for element in wanted}
    remove_apart(_outermost(wanted, tags) if len(wanted) > 1 else wanted)


def _outermost(elements: list[Any], tags: set[str]) -> Iterator[Any]:
    gone: set[Any] = set()
    for element in elements:
        if element not in gone:
            if len(element):
                gone.update(element.iter(*tags))
            yield element


def remove_apart(elements: Iterable[Any]) -> None:
    """`remove_all` for elements of which none is inside another one.

    The texts that follow them are joined at the end: after each removal that would cost the square of their number.
    """
    texts: dict[tuple[Any, bool], list[str]] = {}
    for element in elements:
        parent = element.getparent()
        if parent is None:
            continue
        if tail := element.tail:
            before = element.getprevious()
            texts.setdefault((parent, False) if before is None else (before, True), []).append(tail)
        parent.remove(element)
    for (element, is_tail), pieces in texts.items():
        if is_tail:
            element.tail = "".join((element.tail or "", *pieces))
        else:
            element.text = "".join((element.text or "", *pieces))


def text_of(element: Any) -> str:
    """All text inside an element, runs of blanks as one space."""
    return _SPACE.sub(" ", raw_text(element)).strip()


def raw_text(element: Any) -> str:
    """All text inside an element, unchanged, joined in C."""
    if not len(element):  # in a twentieth of the time
        return element.text or ""
    found: str = _string()(element)
    return found


def text_size(element: Any) -> int:
    """Characters of text inside an element, runs of blanks counted once: `len(text_of(element))`, computed in C."""
    if not len(element) and (text := element.text or "").isascii():  # in a tenth of the time
        return len(" ".join(text.split()))
    return int(_text_length()(element))


def values_of(name: str, root: Any) -> list[str]:
    """All values of an attribute of an element and of those in it, in their order, computed in C."""
    found: list[str] = _values(name)(root)
    return found


@functools.cache
def _values(name: str) -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath(f"descendant-or-self::*/@{name}", smart_strings=False)


@functools.cache
def _string() -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath("string()", smart_strings=False)


@functools.cache
def _text_length() -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath("string-length(normalize-space(.))")


@dataclass(frozen=True, slots=True)
class ContentRegion:
    """The element that holds the content. `semantic`: the page marked it (main, role=main, a single article, an id)."""

    element: Any
    semantic: bool


def drop_furniture(root: Any) -> None:
    """Removes elements that the page marks as other than content: navigation, controls."""
    remove_all(list(root.iter("nav", "dialog", "button")))
    remove_all(element for element in list(root.xpath("//*[@role]")) if _is_furniture(element))
    remove_all(element for element in list(root.iter("header", "footer", "aside")) if _is_page_furniture(element))
    remove_all(element for element in list(root.iter("form")) if text_size(element) < _FORM_CHARS)


def _is_furniture(element: Any) -> bool:
    if element.tag in ("body", "html", "main"):
        return False
    return (element.get("role") or "").strip().lower() in FURNITURE_ROLES


def _is_page_furniture(element: Any) -> bool:
    """True for a footer, an aside, and a header of the whole page; an article's header may hold its title."""
    if element.tag != "header":
        return True
    return not any(parent.tag in ("article", "main", "section") for parent in element.iterancestors())


def region_of(root: Any) -> ContentRegion:
    """The content region: the element that the page marks as main, if it holds enough of the text; else the body."""
    body = root.find("body")
    if body is None:
        body = root
    total = text_size(body)
    for candidate in _marked(body):
        if text_size(candidate) >= _MAIN_SHARE * total:
            return ContentRegion(candidate, True)
    for candidate in body.iter("div", "section", "td"):
        if _CONTENT_IDS.match(candidate.get("id") or "") and text_size(candidate) >= _NAMED_SHARE * total:
            return ContentRegion(candidate, True)
    return ContentRegion(body, False)


def _marked(body: Any) -> list[Any]:
    mains = list(body.iter("main")) or body.xpath(".//*[@role='main']")
    articles = list(body.iter("article"))
    if len(articles) == 1:
        return [*mains, articles[0]] if mains else articles
    return list(mains)
