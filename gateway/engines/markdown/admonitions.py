"""Finds the notes and warnings that documentation sets apart, and their labels. Knows nothing of Markdown.

Classes of docutils, MkDocs, DocBook, AsciiDoc, Docusaurus, GitHub and MDN, read 2026-11-22.
"""

import itertools
from typing import Any

_FRAMES = frozenset({"admonition", "admonitionblock", "theme-admonition", "markdown-alert", "notecard", "callout"})
_KINDS = {
    name: name.capitalize()
    for name in ("note", "warning", "tip", "caution", "important", "danger", "hint", "attention", "error", "info")
} | {"seealso": "See also"}
_TITLE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "th", "summary"})
_TITLES = ("title", "heading", "label")
_MAX_TITLE_CHARS = 80
"""Longest label. Chosen: labels are a word or a short headline; at half some headlines stay below "Note", at double
sentences become labels."""
_MAX_BEFORE_TITLE = 8
"""Elements of a note among which its label is, the note included. Chosen: DocBook lays notes out as tables, with an
icon in the cell before the label. At half these are not found; at double only empty boxes are passed."""
_MAX_CHARS = 4_000
"""Longest note: a longer box is a part of the page that is called so. Chosen: at half long warnings are not framed, at
double chapters with such a class are."""


def label_of(element: Any) -> tuple[str, Any | None] | None:
    """(the label, the element that holds it, if one does) of an admonition; None for any other element."""
    if element.tag not in ("div", "aside", "section", "blockquote", "details"):
        return None
    classes = (element.get("class") or "").lower().split()
    is_framed = not _FRAMES.isdisjoint(classes)
    if not is_framed and _KINDS.keys().isdisjoint(classes):
        return None
    words = {part for name in classes for part in (name, name.rpartition("-")[2])}
    kind = next((_KINDS[word] for word in _KINDS if word in words), None)
    title = _title(element)
    if not is_framed and title is None:
        return None
    if len("".join(element.itertext())) > _MAX_CHARS:
        return None
    text = " ".join("".join(title.itertext()).split()) if title is not None else kind
    return (text.rstrip(" :"), title) if text else None


def _title(element: Any) -> Any | None:
    """The first element inside that is a heading or is called a title, before any other text."""
    for inner in itertools.islice(element.iter(), 1, _MAX_BEFORE_TITLE):
        if not isinstance(inner.tag, str):
            continue
        is_named = any(name in (inner.get("class") or "").lower() for name in _TITLES)
        if is_named or inner.tag in _TITLE_TAGS:
            size = len("".join(inner.itertext()).strip())
            return inner if 0 < size <= _MAX_TITLE_CHARS else None
        if (inner.text or "").strip():
            return None
    return None


def clear_label(element: Any, title: Any, text: str) -> None:
    """Empties the label's element, as the label is written before the note. A table around it only lays the note out,
    with an icon that is called as the label is."""
    title.text = None
    for child in list(title):
        title.remove(child)
    if title.tag == "th":
        title.tag = "td"
        for table in title.iterancestors("table"):
            table.set("role", "presentation")
            break
        for icon in list(element.iter("img")):
            if (icon.get("alt") or "").strip("[]() ").lower() == text.lower():
                icon.set("alt", "")
