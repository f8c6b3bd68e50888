"""Removes elements without readable text from a document; keeps the alternative text of pictures and programs.

Runs in the parsing processes. Knows neither content nor furniture.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from gateway.engines.html.dom import remove_all, text_of, text_size

_PARAGRAPHS = frozenset(
    {"p", "div", "section", "article", "li", "dt", "dd", "td", "th", "blockquote", "center", "pre", "figcaption",
     "h1", "h2", "h3", "h4", "h5", "h6"}
)  # fmt: skip
_NOTICE = re.compile(r"java\s?script|\bscripting\b|\benable (?:js|scripts)\b|\byour browser\b", re.IGNORECASE)
_BESIDE_CHARS = 100
"""Text beside a `noscript` up to which it is all there is. Chosen: a notice that the page loads. At half, such notices
hide the text; at double, a short page gives way to the text for readers without scripts."""
_DROPPED = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map",
    "select", "textarea", "input", "datalist", "link", "meta", "head", "title", "noembed",
)  # fmt: skip
_MARK_CLASSES = re.compile(r"headerlink|anchorjs|viewcode-link|mw-editsection|srclink|link-target")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_MARK_ELEMENTS = 8
"""Most elements of a mark, itself included. Chosen: real ones have one to three (`<a><span>[edit]`)."""
_MARKS = frozenset(
    {"\u00b6", "#", "\u00a7", "\U0001f517", "\u2693", "[source]", "[src]", "[edit]", "[\u6e90\u4ee3\u7801]"}
)
_TASK_BOXES = 3
"""Elements around a check box among which the item of its task is. Chosen: it may be inside a label in a paragraph. At
half such tasks lose their marks, at double choices in forms of lists are tasks."""
_FALLBACK_CHARS, _FALLBACK_SHARE = 400, 0.5
"""A `noscript` with more characters than both (in all, and of the page's) is the page's content for browsers without
scripts. At half, notices such as "enable JavaScript" count; at double (the whole page), none does. What an `object`
shows in its own place is content from the share alone: browsers of today show it where a plug-in would have to run."""


def drop_code(root: Any) -> bool:
    """Removes elements without text for readers. Text for browsers without scripts, or without the program that an
    `object` needs, stays if it is most of the page. True for a page that has nothing but short texts of the first kind:
    a browser may show more."""
    body = root.find("body")
    if body is not None:
        remove_all(list(body.iter("noframes")))  # of a frameset inline_frames has made a box
        _keep_drawn_text(body)
        for frame in list(body.iter("iframe")):
            if len(frame):  # see inline_frames
                frame.tag = "div"
    fallback = [] if body is None else list(body.iter("noscript", "object"))
    dropped = [element for element in root.iter(*_DROPPED) if element.tag not in ("noscript", "object")]
    remove_all(element for element in dropped if element.tag != "input" or not _mark_task(element))
    content, is_alone = _content_in_place(body, fallback) if fallback else (set(), False)
    for element in content:
        element.tag = "div"
    remove_all(element for element in fallback if element not in content)
    _drop_marks(root)
    return is_alone


def _mark_task(box: Any) -> bool:
    """Makes a check box in a list that nobody can use the mark of a task, as GitHub writes it; else returns False."""
    if box.get("disabled") is None or (box.get("type") or "").lower() != "checkbox":
        return False
    if not any(each.tag == "li" for each in itertools.islice(box.iterancestors(), _TASK_BOXES)):
        return False
    box.tag, box.text = "span", "[ ] " if box.get("checked") is None else "[x] "
    return True


def _content_in_place(body: Any, fallback: list[Any]) -> tuple[set[Any], bool]:
    """The outermost of the elements that hold most of the page's text; or, where the page has next to nothing beside
    short texts for browsers without scripts, these, and True."""
    inside = set[Any]()
    outermost = []
    for each in fallback:
        if each not in inside:
            inside.update(each.iter("noscript", "object"))
            outermost.append(each)
    sizes = {each: text_size(each) for each in outermost}
    notes = [each for each in outermost if each.tag == "noscript" and sizes[each]]
    beside = text_size(body) - sum(sizes.values())
    total = beside + sum(sizes[each] for each in notes)
    least = {"object": _FALLBACK_SHARE * total, "noscript": max(_FALLBACK_CHARS, _FALLBACK_SHARE * total)}
    content = {each for each in outermost if sizes[each] > least[each.tag]}
    if content or beside > _BESIDE_CHARS:
        return content, False
    _drop_notices(notes)
    sizes = {each: text_size(each) for each in notes}
    return ({each for each in notes if sizes[each]}, True) if sum(sizes.values()) > beside else (set(), False)


def _drop_notices(notes: list[Any]) -> None:
    """Takes the paragraphs that ask for scripts out of texts for browsers without them: they are no answer."""
    for note in notes:
        paragraph: dict[Any, Any] = {}
        pieces: dict[Any, list[str]] = {}
        for element in note.iter():
            outer = paragraph.get(element.getparent())
            own = paragraph[element] = element if outer is None or element.tag in _PARAGRAPHS else outer
            pieces.setdefault(own, []).append(element.text or "")
            if outer is not None:
                pieces[outer].append(element.tail or "")
        texts = {own: "".join(found) for own, found in pieces.items()}
        notices = {own for own, text in texts.items() if len(text) <= _FALLBACK_CHARS and _NOTICE.search(text)}
        for element, own in paragraph.items():
            if own in notices:
                element.text = None
            if paragraph.get(element.getparent()) in notices:
                element.tail = None


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
