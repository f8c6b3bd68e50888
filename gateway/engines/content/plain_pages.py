"""Keeps the text of pages written by hand, whose elements have no names.

The block model learnt on the pages of today, where names of boxes tell much; of a page without any it drops tables,
lists and labels. Such a page has little around its text, and marks that as a menu or footer, or as links. Runs in the
parsing processes. Knows neither models nor page types.
"""

from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import TextBlock
from gateway.engines.content.short_pages import SENTENCE_WORDS

_PLAIN_SHARE = 0.9
"""Share of the words that may be content of a page which must have no class or id around them. Chosen: all but a line
or two. At half, pages of today that name all boxes but those of their text are taken for such; at 1 one name decides.
"""
_NAMES = ("class", "id", "role")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def keep_plain(blocks: Sequence[TextBlock], keep: list[bool], others: Sequence[bool]) -> None:
    """Keeps every text of such a page, but for lines of links; a sentence may be one link. `others`: the blocks that
    are known to be no content."""
    own = [block for block, is_other in zip(blocks, others, strict=True) if not is_other]
    left = (1 - _PLAIN_SHARE) * sum(len(block.words) for block in own)
    known: dict[Any, bool] = {}
    for block in own:
        if _is_named(block.element, known):
            left -= len(block.words)
            if left < 0:
                return
    for at, block in enumerate(blocks):
        keep[at] = keep[at] or not (others[at] or _is_line_of_links(block) or _is_named(block.element, known))


def _is_line_of_links(block: TextBlock) -> bool:
    if 2 * block.link_words < len(block.words) or block.element.tag in _HEADINGS:
        return False
    return len(block.words) < SENTENCE_WORDS or sum(1 for _ in block.element.iter("a")) > 1


def _is_named(element: Any, known: dict[Any, bool]) -> bool:
    """True when the element or one around it, below the body, has a name; `known` caches it for every element."""
    path = []
    named = False
    box = element
    while box is not None and box.tag not in ("body", "html"):
        if box in known:
            named = known[box]
            break
        path.append(box)
        if any(box.get(name) for name in _NAMES):
            named = True
            break
        box = box.getparent()
    known.update(dict.fromkeys(path, named))
    return named
