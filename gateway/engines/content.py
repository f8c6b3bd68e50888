"""Chooses what of a page is its content, block by block, and takes the rest out of the document.

Runs in the parsing processes. The block model judges; tables and lists are judged as wholes, code is never cut, and
documentation is cut only where the model is sure. `advanced` also asks trafilatura, a second, slower opinion.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.engines import block_model, blocks
from gateway.engines.blocks import WORD, Block
from gateway.engines.dom import drop_code, drop_furniture, region_of, remove
from gateway.engines.markdown import BLOCKS
from gateway.engines.measures import Measures
from gateway.engines.metadata import Head
from gateway.errors import EngineMissing

MAX_BLOCKS = 12_000
_MAX_ORACLE_CHARS = 1_500_000
_CODE_FLOOR = 0.1
_HEADING_FLOOR = 0.1
_HEADING_REACH = 12
_HEADING = re.compile(r"^h[1-6]$")


@dataclass(frozen=True, slots=True)
class Content:
    """The pruned region."""

    region: Any


def measured(root: Any, markup: str, head: Head, depth: str) -> tuple[list[Block], list[list[float]], Any]:
    """The page's blocks, their measures, and the region it marks as its main one."""
    opinion = oracle(markup) if depth == "advanced" else None
    drop_code(root)
    region = region_of(root)
    head.semantic = region.semantic
    body = root.find("body")
    found = blocks.collect(root if body is None else body)
    rows = Measures(found, region.element, head, head.base).rows() if len(found) <= MAX_BLOCKS else []
    for row, block in zip(rows, found, strict=False):
        row += _agreement(block, opinion)
    return found, rows, region.element


def oracle(markup: str) -> set[tuple[str, str]] | None:
    """Neighbouring words of what trafilatura takes for the content; None when it finds none."""
    try:
        import trafilatura  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(
            "extract_depth advanced needs the extra 'web'; the operator must install it (pip install 'gateway[web]')"
        ) from error
    try:
        text = trafilatura.extract(markup[:_MAX_ORACLE_CHARS], include_comments=False) or ""
    except Exception:  # a second opinion may fail on pages that we can read
        return None
    words = WORD.findall(text.lower())
    return set(itertools.pairwise(words)) if words else None


def _agreement(block: Block, opinion: set[tuple[str, str]] | None) -> list[float]:
    """Share of the block that the second opinion keeps; -1 without one."""
    if opinion is None:
        return [-1.0]
    words = [word.lower() for word in block.words]
    if len(words) < 2:
        return [-1.0]
    return [sum(pair in opinion for pair in itertools.pairwise(words)) / (len(words) - 1)]


def main_content(root: Any, markup: str, head: Head, depth: str) -> Content:
    """Prunes the document in place and returns its content region."""
    model = block_model.load(depth)
    found, rows, region = measured(root, markup, head, depth)
    if model is None or not rows:
        drop_furniture(root)
        return Content(region)
    keep = decide(found, model.chances(rows))
    body = root.find("body")
    body = root if body is None else body
    prune(body, [block for block, kept in zip(found, keep, strict=True) if kept])
    return Content(body)


def decide(found: Sequence[Block], chances: list[float]) -> list[bool]:
    """Which blocks to keep: groups share their members' mean chance, then the best expected F1 decides."""
    sizes = [len(block.words) for block in found]
    shared = list(chances)
    for members in _grouped(found).values():
        weight = sum(sizes[at] for at in members)
        mean = sum(chances[at] * sizes[at] for at in members) / weight
        for at in members:
            shared[at] = mean
    keep = block_model.chosen(shared, sizes)
    for at, block in enumerate(found):
        tag = block.element.tag
        if not keep[at] and tag == "pre":
            keep[at] = chances[at] >= _CODE_FLOOR and any(keep[max(0, at - 3) : at + 4])
        elif not keep[at] and _HEADING.match(tag):
            keep[at] = chances[at] >= _HEADING_FLOOR and _leads(found, keep, at)
    return keep


def _leads(found: Sequence[Block], keep: list[bool], at: int) -> bool:
    """True when content is kept under this heading, before the next of its rank."""
    level = found[at].element.tag
    for later in range(at + 1, min(len(found), at + _HEADING_REACH)):
        tag = found[later].element.tag
        if _HEADING.match(tag) and tag <= level:
            return False
        if keep[later]:
            return True
    return False


def _grouped(found: Sequence[Block]) -> dict[Any, list[int]]:
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


def prune(body: Any, kept: Sequence[Block]) -> None:
    """Takes out every block that is not kept and holds none that is; pictures between kept blocks stay."""
    alive = {body}
    texts = {block.element for block in kept}
    for element in texts:
        box: Any = element
        while box is not None and box not in alive:
            alive.add(box)
            box = box.getparent()
    doomed = [element for element in body.iter(*BLOCKS) if element not in alive and not _is_figure(element, alive)]
    for element in doomed:
        remove(element)
    for element in alive:
        if element not in texts and element.tag in BLOCKS:
            _strip_loose(element, alive)


def _is_figure(element: Any, alive: set[Any]) -> bool:
    """True for a picture's box next to kept content, without text that was judged."""
    if next(element.iter("img"), None) is None or WORD.search("".join(element.itertext())):
        return False
    return any(near is not None and near in alive for near in (element.getprevious(), element.getnext()))


def _strip_loose(element: Any, alive: set[Any]) -> None:
    """Removes the text that stands directly in a box kept only for what is inside it."""
    element.text = None
    for child in list(element):
        child.tail = None
        if child not in alive and child.tag not in BLOCKS and child.tag != "img":
            element.remove(child)
