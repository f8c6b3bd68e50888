"""Removes elements without readable text from a document; keeps the alternative text of pictures and programs.

Runs in the parsing processes. Knows neither content nor furniture.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from gateway.engines.html.dom import remove_all, text_of, text_size

_DROPPED = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map",
    "select", "textarea", "input", "datalist", "link", "meta", "head", "title", "noembed",
)  # fmt: skip
_MARK_CLASSES = re.compile(r"headerlink|anchorjs|viewcode-link|mw-editsection|srclink")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_MARK_ELEMENTS = 8
"""Most elements of a mark, itself included. Chosen: real ones have one to three (`<a><span>[edit]`)."""
_MARKS = frozenset(
    {"\u00b6", "#", "\u00a7", "\U0001f517", "\u2693", "[source]", "[src]", "[edit]", "[\u6e90\u4ee3\u7801]"}
)
_FALLBACK_CHARS, _FALLBACK_SHARE = 400, 0.5
"""A `noscript` with more characters than both (in all, and of the page's) is the page's content for browsers without
scripts. At half, notices such as "enable JavaScript" count; at double (the whole page), none does. What an `object`
shows in its own place is content from the share alone: browsers of today show it where a plug-in would have to run."""


def drop_code(root: Any) -> None:
    """Removes elements without text for readers. Text for browsers without scripts, or without the program that an
    `object` needs, stays if it is most of the page."""
    body = root.find("body")
    if body is not None:
        remove_all(list(body.iter("noframes")))  # of a frameset inline_frames has made a box
        _keep_drawn_text(body)
        for frame in list(body.iter("iframe")):
            if len(frame):  # see inline_frames
                frame.tag = "div"
    fallback = [] if body is None else list(body.iter("noscript", "object"))
    remove_all(element for element in list(root.iter(*_DROPPED)) if element.tag not in ("noscript", "object"))
    content = _content_in_place(body, fallback) if fallback else set()
    for element in content:
        element.tag = "div"
    remove_all(element for element in fallback if element not in content)
    _drop_marks(root)


def _content_in_place(body: Any, fallback: list[Any]) -> set[Any]:
    """The outermost of the elements that hold most of the page's text."""
    inside = set[Any]()
    outermost = []
    for each in fallback:
        if each not in inside:
            inside.update(each.iter("noscript", "object"))
            outermost.append((each, text_size(each)))
    total = text_size(body) - sum(size for each, size in outermost if each.tag == "object")
    least = {"object": _FALLBACK_SHARE * total, "noscript": max(_FALLBACK_CHARS, _FALLBACK_SHARE * total)}
    return {each for each, size in outermost if size > least[each.tag]}


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
    inside: dict[Any, None] = {}  # in document order
    for heading in root.iter(*_HEADINGS):
        if heading not in inside:  # headings may be nested: each part of them is looked at once
            inside |= dict.fromkeys(heading.iter("a", *_HEADINGS))
    remove_all(link for link in inside if link.tag == "a" and _is_small(link) and text_of(link) in _MARKS)


def _is_small(element: Any) -> bool:
    """Whether an element holds so few others that it can be a mark: so no text is read more often than that, however
    elements are nested."""
    return sum(1 for _ in itertools.islice(element.iter(), _MARK_ELEMENTS + 1)) <= _MARK_ELEMENTS
