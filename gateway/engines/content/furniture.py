"""Tells which blocks a page marks as furniture: menus, footers, sidebars, forms, hidden parts, advertisements.

Runs in the parsing processes. Decides nothing: `selection` does.
"""

from collections.abc import Sequence

from gateway.engines.content.blocks import CATEGORIES, HIDDEN, MASKS, ROLE, TAG_BITS, TextBlock

_BITS = {name: bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True)}
SHARE = _BITS["share"]
FURNITURE_TAGS = TAG_BITS["nav"] | TAG_BITS["footer"] | TAG_BITS["aside"] | TAG_BITS["form"] | HIDDEN | ROLE
_AROUND_NAMES = (_BITS["foot"], _BITS["side"], _BITS["modal"], _BITS["share"], _BITS["advert"])
_FURNITURE_NAMES = _BITS["foot"] | _BITS["side"] | _BITS["modal"] | _BITS["share"] | _BITS["advert"]
_AROUND_SHARE = 0.8
"""Share of a page's words from which a form or a name around them is the page's own box. Chosen: all but a header and a
footer. At half, a long sidebar is content; at most 1 can be asked for."""


def furniture_of(blocks: Sequence[TextBlock]) -> list[bool]:
    """For each block, whether a tag, role or name around it says that it is no content. A form or a name around most of
    the page says nothing: some programs put every page into one form, some stylesheets name every box."""
    total = sum(len(block.words) for block in blocks)
    tags, names = FURNITURE_TAGS, _FURNITURE_NAMES
    if sum(len(block.words) for block in blocks if block.tags & TAG_BITS["form"]) >= _AROUND_SHARE * total:
        tags &= ~TAG_BITS["form"]
    for name in _AROUND_NAMES:
        if sum(len(block.words) for block in blocks if block.far & name) >= _AROUND_SHARE * total:
            names &= ~name
    return [bool(block.tags & tags or block.far & names) for block in blocks]
