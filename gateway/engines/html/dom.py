"""Parses HTML and finds the region of a page that holds its content.

Runs in the parsing processes only. Elements are lxml's and typed Any. Knows nothing of models and Markdown. The
thresholds were set on the labelled pages of bench/extract.py, not on any one site; no single measurement is recorded.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.engines.html.tree_builder import MISSING, normalised
from gateway.errors import EngineMissing

_DROPPED = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map",
    "select", "textarea", "input", "datalist", "link", "meta", "head", "title", "noembed",
)  # fmt: skip
FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar",
     "toolbar", "tooltip", "alert", "status"}
)  # fmt: skip
_CONTENT_IDS = re.compile(
    r"^(main|content|main-?content|page-?content|primary|bodyContent|mw-content-text|content-?main|maincontent|"
    r"article|article-?body|post|entry|skip-?content|site-?content|document|readme)$",
    re.IGNORECASE,
)
_MARK_CLASSES = re.compile(r"headerlink|anchorjs|viewcode-link|mw-editsection|srclink")
_MARKS = frozenset(
    {"\u00b6", "#", "\u00a7", "\U0001f517", "\u2693", "[source]", "[src]", "[edit]", "[\u6e90\u4ee3\u7801]"}
)
_SPACE = re.compile(r"\s+")
_MAX_NESTING = 512
"""Depth of elements in pages beyond libxml2's limit of 2,048, after which it drops the rest of the page. 512 is the
limit of Chromium and WebKit. At half, real pages with many wrappers would be changed; at double, recursion gets deeper.
"""
_FALLBACK_CHARS, _FALLBACK_SHARE = 400, 0.5
"""A `noscript` with more characters than both (in all, and of the page's) is the page's content for browsers without
scripts. At half, notices such as "enable JavaScript" count; at double (the whole page), none does."""
_FORM_CHARS = 400
"""A form with more text is a page wrapped in a form (ASP.NET), not a search box. At half, long sign-up forms are
content; at double, short pages are lost."""
_MAIN_SHARE, _NAMED_SHARE = 0.25, 0.35
"""Share of the body's text that a marked main region must hold, and one named so by its id, which is a weaker sign. At
half, an empty `main` beside the text is taken; at double, pages with long menus or comments lose their main region."""


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
    """The root element of a document as a browser builds it, without comments; None for an empty or unreadable one.
    Elements are at most 2,048 deep. Raises EngineMissing without lxml and selectolax."""
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    if not markup.strip("\x00 \t\n\r\f"):
        return None
    data = normalised(markup).encode("utf-8", "replace").replace(b"\x00", b"")
    try:
        root = etree.fromstring(data, parser)
        if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
            target = _Flattening(etree.TreeBuilder())
            root = etree.fromstring(data, etree.HTMLParser(encoding="utf-8", huge_tree=True, target=target))
        return root
    except etree.XMLSyntaxError:
        return None


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
    """All text inside an element as it stands there, joined in C."""
    found: str = _string()(element)
    return found


def text_size(element: Any) -> int:
    """Characters of text inside an element, runs of blanks counted once: `len(text_of(element))`, computed in C."""
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


def drop_code(root: Any) -> None:
    """Removes elements without text for readers. Text for browsers without scripts stays if it is most of the page."""
    body = root.find("body")
    if body is not None:
        remove_all(list(body.iter("noframes")))  # browsers show it in place of a frameset alone
        _keep_drawn_text(body)
    fallback = [] if body is None else list(body.iter("noscript"))
    remove_all(element for element in list(root.iter(*_DROPPED)) if element.tag != "noscript")
    total = 0 if body is None else text_size(body)
    content, inner = set(), set[Any]()
    for each in fallback:
        if each not in inner:
            inner.update(each.iter("noscript"))
            if text_size(each) > max(_FALLBACK_CHARS, _FALLBACK_SHARE * total):
                content.add(each)
    for element in content:
        element.tag = "div"
    remove_all(element for element in fallback if element not in content)
    _drop_marks(root)


def _keep_drawn_text(body: Any) -> None:
    """Replaces by elements of text what a browser shows of drawings (labels and foreign objects in an `svg`)."""
    inner: set[Any] = set()
    for drawing in list(body.iter("svg")):
        if drawing in inner:
            continue
        inner.update(drawing.iter("svg"))
        shown = [each for each in _drawn(drawing) if text_size(each)]
        if shown:
            drawing.clear(keep_tail=True)
            drawing.tag = "div"
            drawing.text = " ".join(text_of(each) for each in shown if each.tag == "text")
            drawing.extend(each for each in shown if each.tag != "text")


def _drawn(drawing: Any) -> Iterator[Any]:
    """The outermost labels and foreign objects that a drawing shows, in document order; the latter become boxes."""
    stack = [drawing]
    while stack:
        element = stack.pop()
        if element.tag == "text":
            yield element
        elif element.tag == "foreignobject":
            element.tag, element.tail = "div", None
            yield element
        elif element.tag not in ("defs", "symbol"):
            stack += reversed(element)


def _drop_marks(root: Any) -> None:
    """Removes links that only serve the page: to a heading itself, to the source of what it names, to its editor."""
    remove_all([mark for mark in root.iter("a", "span") if _MARK_CLASSES.search(mark.get("class") or "")])
    headings = list(root.iter("h1", "h2", "h3", "h4", "h5", "h6", "dt"))
    links = [link for heading in headings for link in heading.iter("a")]
    remove_all(link for link in links if text_of(link) in _MARKS)


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
