"""The places of a page that an address can point at: headings and definitions' terms, with the ids that lead to them.

Runs in the parsing processes over the tree of a page's content. Elements are lxml's and typed Any. An id counts for
the heading or term that it stands on, in or right before; any other id counts for the section that it stands in.
"""

from typing import Any

from gateway.engines.answer.sections import LAST_HEADING_LEVEL, Anchor
from gateway.engines.html.tree import text_of

_MAX_IDS = 20_000
"""Ids read of one page. Chosen: ten times those of the longest reference pages; half cuts some of these, double costs
memory that no page needs."""

_MARK = "data-gateway-ids"
_PERMALINKS = "#¶§ "
"""Signs of links to a heading itself, at its end."""


def mark_anchors(root: Any) -> None:
    """Writes onto every heading and term of a page which ids lead to it. Call it before the page is pruned, which
    removes the empty elements that many ids stand on."""
    marked: list[tuple[Any, list[str]]] = []
    waiting: list[str] = []  # ids before which no text has come since
    inside: set[Any] = set()
    count = 0
    for element in root.iter():
        if not isinstance(element.tag, str):
            continue
        if element.getparent() in inside:
            inside.add(element)
        name = element.get("id") or (element.get("name") if element.tag == "a" else None)
        if name and name.isprintable() and " " not in name and count < _MAX_IDS:
            count += 1
            (marked[-1][1] if element in inside else waiting).append(name)
        if _level(element) and element not in inside:
            inside.add(element)
            marked.append((element, waiting[::-1]))
            waiting = []
        elif waiting and marked and element not in inside and (element.text or "").strip():
            marked[-1][1].extend(waiting)
            waiting = []
    if marked:
        marked[-1][1].extend(waiting)
    for element, ids in marked:
        element.set(_MARK, " ".join(ids))


def anchors_of(region: Any) -> list[Anchor]:
    """The headings and terms of a page's content that was marked, in its order."""
    found: list[Anchor] = []
    inside: set[Any] = set()
    for element in region.iter():
        level = _level(element) if isinstance(element.tag, str) else 0
        if element.getparent() in inside:
            inside.add(element)
        elif level:
            inside.add(element)
            ids = (element.get(_MARK) or "").split()
            if found and _is_another_term(element):
                found[-1].ids += ids
            else:
                found.append(Anchor(text_of(element).rstrip(_PERMALINKS), level, ids))
    return found


def _is_another_term(element: Any) -> bool:
    """True for a term right after another one, which one description explains together."""
    before = element.getprevious()
    return element.tag == "dt" and before is not None and before.tag == "dt"


def _level(element: Any) -> int:
    """1 to 6 for a heading, more for a definition's term, 0 for any other element."""
    tag = element.tag
    if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
        return int(tag[1])
    if tag == "dt":
        return LAST_HEADING_LEVEL + sum(1 for _ in element.iterancestors("dl"))
    return 0
