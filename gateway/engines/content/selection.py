"""Decides which blocks of a page are its content, from the block model's chances and the page's type.

Runs in the parsing processes. Tables and lists are judged as wholes and code is never cut; comments below a text go,
unless the page is a forum; documentation keeps its structure and loses only what is marked as furniture or judged so;
elsewhere a text that stands on the page twice is kept once.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.engines.content import block_model
from gateway.engines.content.blocks import CATEGORIES, HIDDEN, MASKS, ROLE, TAG_BITS, TextBlock

_CODE_FLOOR = 0.1
_HEADING_FLOOR = 0.1
_HEADING_REACH = 12
_HEADING = re.compile(r"^h[1-6]$")
_OWN_TEXT_WORDS = 150
_SURE_FORUM = 0.8
_LIKELY = 0.5
_STRUCTURE_FLOOR = 0.04
_COPY_WORDS = 3
_MAX_COPIES = 4
_BITS = {name: bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True)}
_FURNITURE_TAGS = TAG_BITS["nav"] | TAG_BITS["footer"] | TAG_BITS["aside"] | TAG_BITS["form"] | HIDDEN | ROLE
_FURNITURE_NAMES = _BITS["foot"] | _BITS["side"] | _BITS["modal"] | _BITS["share"] | _BITS["advert"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the choice stands on. `comments` marks blocks of a comment section; `own_words` is the running text outside
    it; `types` are the chances of each page type."""

    blocks: Sequence[TextBlock]
    comments: Sequence[bool]
    own_words: int
    types: dict[str, float]


def decide(page: Judged, chances: list[float]) -> list[bool]:
    """Which blocks to keep: groups share their members' mean chance, then the best expected F1 decides."""
    found = page.blocks
    if _drops_comments(page):
        chances = [0.0 if comment else chance for chance, comment in zip(chances, page.comments, strict=True)]
    sizes = [len(block.words) for block in found]
    if page.types["service"] < _LIKELY:
        chances = _doubted_before_title(found, sizes, chances)
    shared = list(chances)
    for members in _grouped(found).values():
        weight = sum(sizes[at] for at in members)
        mean = sum(chances[at] * sizes[at] for at in members) / weight
        for at in members:
            shared[at] = mean
    keep = block_model.chosen(shared, sizes)
    if page.types["documentation"] >= _LIKELY:
        _keep_structure(found, keep, chances)
    for at, block in enumerate(found):
        tag = block.element.tag
        if not keep[at] and tag == "pre":
            keep[at] = chances[at] >= _CODE_FLOOR and any(keep[max(0, at - 3) : at + 4])
        elif not keep[at] and _HEADING.match(tag):
            keep[at] = chances[at] >= _HEADING_FLOOR and _leads(found, keep, at)
    if page.types["documentation"] < _LIKELY and page.types["service"] < _LIKELY:
        _drop_copies(found, keep)
    return keep


def _doubted_before_title(found: Sequence[TextBlock], sizes: list[int], chances: list[float]) -> list[float]:
    """Half the chance for what stands before the page's title, unless that is most of the page."""
    title = next((at for at, block in enumerate(found) if block.element.tag == "h1"), 0)
    if 2 * sum(sizes[:title]) > sum(sizes):
        return chances
    return [chance / 2 if at < title else chance for at, chance in enumerate(chances)]


def _drop_copies(found: Sequence[TextBlock], keep: list[bool]) -> None:
    """Pages often hold a text twice, for wide and for narrow screens: of copies in different boxes the first stays.

    What comes more often than that is data that items share, such as "free shipping", and stays with each.
    """
    counts = Counter(block.text for block, kept in zip(found, keep, strict=True) if kept)
    first: dict[str, Any] = {}
    for at, block in enumerate(found):
        wordy = len(block.words) >= _COPY_WORDS and block.element.tag not in ("td", "th", "pre")
        if keep[at] and wordy and counts[block.text] <= _MAX_COPIES:
            box = block.element.getparent()
            keep[at] = first.setdefault(block.text, box) is box


def _drops_comments(page: Judged) -> bool:
    """Comments are content where they are the page; below an article or a product they are not."""
    types = page.types
    return page.own_words >= _OWN_TEXT_WORDS and types["forum"] < _SURE_FORUM and types["documentation"] < _LIKELY


def _keep_structure(found: Sequence[TextBlock], keep: list[bool], chances: list[float]) -> None:
    """Between the first and the last kept block of documentation everything stays that is not marked as furniture."""
    kept = [at for at, kept in enumerate(keep) if kept]
    if not kept:
        return
    for at in range(kept[0], kept[-1] + 1):
        block = found[at]
        marked = block.tags & _FURNITURE_TAGS or block.far & _FURNITURE_NAMES
        if not keep[at] and not marked and chances[at] >= _STRUCTURE_FLOOR:
            keep[at] = True


def _leads(found: Sequence[TextBlock], keep: list[bool], at: int) -> bool:
    """True when content is kept under this heading, before the next of its rank."""
    level = found[at].element.tag
    for later in range(at + 1, min(len(found), at + _HEADING_REACH)):
        tag = found[later].element.tag
        if _HEADING.match(tag) and tag <= level:
            return False
        if keep[later]:
            return True
    return False


def _grouped(found: Sequence[TextBlock]) -> dict[Any, list[int]]:
    """Blocks by the table or list they directly belong to."""
    groups: dict[Any, list[int]] = {}
    for at, block in enumerate(found):
        if block.element.tag in ("td", "th"):
            box = next(block.element.iterancestors("table"), None)
        elif block.element.tag in ("li", "dt", "dd"):
            box = block.element.getparent()
        else:
            continue
        if box is not None:
            groups.setdefault(box, []).append(at)
    return groups
