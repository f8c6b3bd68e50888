"""Finds the readers' comments below a page's own text, by class, id and heading.

Runs in the parsing processes. Does not decide whether comments are content: `selection` does, by the page's type.
"""

import re
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import TextBlock, is_running_text

_NAMED = re.compile(
    r"(?:^|[\s_-])(?:comments?|commentlist|commentwrap|disqus|disqus_thread)(?:$|[\s_-])", re.IGNORECASE
)
_OPINIONS = re.compile(r"review|testimonial|rating", re.IGNORECASE)
_HEADING = re.compile(
    r"^(?:\(?\d+\)?\s+)?(?:comments?\b|responses?\b|replies\b|thoughts on\b|discussion about this|"
    r"leave an? (?:comment|reply)|join the (?:discussion|conversation)|reader comments|what do you think|"
    r"(?:post|add|write) a comment)",
    re.IGNORECASE,
)
_HEADING_WORDS = 8
"""A longer heading that begins like "Comments" is a sentence of the text. At half, "What do you think about this?" is
missed; at double, headlines such as "Comments on the draft law by ..." open a comment section."""
_MAX_HEADINGS = 3
"""Headings that open a comment section. Chosen: a page has one, or one for each list of replies. It bounds the search,
which goes over all later blocks for each heading."""


def in_comments(blocks: Sequence[TextBlock]) -> list[bool]:
    """For each block, whether it is inside a comment section."""
    known: dict[Any, bool] = {}
    inside = [_in_named(block.element, known) for block in blocks]
    for at in _headings(blocks, inside):
        section = _common_ancestor(blocks[at].element, blocks[at + 1].element)
        for later in range(at, len(blocks)):
            if section is None or not _is_within(blocks[later].element, section):
                break
            inside[later] = True
    return inside


def _headings(blocks: Sequence[TextBlock], inside: Sequence[bool]) -> list[int]:
    found = [
        at
        for at, block in enumerate(blocks[:-1])
        if not inside[at]
        and len(block.words) <= _HEADING_WORDS
        and _is_heading(block.element.tag)
        and _HEADING.search(block.text)
    ]
    return found[:_MAX_HEADINGS]


def own_text(blocks: Sequence[TextBlock], inside: Sequence[bool]) -> int:
    """Words of the page's running text outside its comments. `inside`: the result of `in_comments`."""
    return sum(
        len(block.words)
        for block, comment in zip(blocks, inside, strict=True)
        if not comment and is_running_text(block)
    )


def _is_heading(tag: str) -> bool:
    return len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal()


def _in_named(element: Any, known: dict[Any, bool]) -> bool:
    """True when the element or an ancestor is named a comment section; `known` caches the result for every ancestor."""
    path = []
    named = False
    box = element
    while box is not None and box.tag not in ("body", "html", "main", "article"):
        if box in known:
            named = known[box]
            break
        path.append(box)
        name, identity = box.get("class"), box.get("id")
        label = f"{name or ''} {identity or ''}".lower() if name or identity else ""
        if ("comment" in label or "disqus" in label) and _NAMED.search(label) and not _OPINIONS.search(label):
            named = True
            break
        box = box.getparent()
    known.update(dict.fromkeys(path, named))
    return named


def _is_within(element: Any, section: Any) -> bool:
    return element is section or any(box is section for box in element.iterancestors())


def _common_ancestor(heading: Any, after: Any) -> Any:
    """The nearest ancestor of the heading that also contains `after`."""
    ancestors = {after, *after.iterancestors()}
    return next((box for box in heading.iterancestors() if box in ancestors), None)
