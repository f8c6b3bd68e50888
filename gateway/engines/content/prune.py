"""Measures a page, has its content chosen block by block, and takes the rest out of the document.

Runs in the parsing processes. `selection` chooses. `advanced` also asks trafilatura, a second, slower opinion.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.engines.content import block_model, blocks, page_types
from gateway.engines.content.block_features import Measures
from gateway.engines.content.block_model import BlockModel
from gateway.engines.content.blocks import WORD, TextBlock
from gateway.engines.content.comment_sections import in_comments, own_text
from gateway.engines.content.page_features import signals
from gateway.engines.content.page_types import PageTypes
from gateway.engines.content.selection import Judged, decide
from gateway.engines.html.dom import drop_code, drop_furniture, region_of, remove
from gateway.engines.html.metadata import Head
from gateway.engines.markdown.writer import BLOCKS
from gateway.errors import EngineMissing

MAX_BLOCKS = 12_000
_MAX_ORACLE_CHARS = 1_500_000
_OWN_TEXT_WORDS = 100


@dataclass(frozen=True, slots=True)
class Content:
    """The pruned region and the page's type; no type for a page too large or too empty to judge."""

    region: Any
    page_type: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """A page's blocks, their measures (none for a page with too many blocks), its comment section, its signals."""

    blocks: list[TextBlock]
    rows: list[list[float]]
    comments: list[bool]
    own_words: int
    signals: list[float]
    region: Any

    def judged(self, types: dict[str, float]) -> Judged:
        """What the choice of blocks stands on."""
        return Judged(self.blocks, self.comments, self.own_words, types)


def measured(root: Any, markup: str, head: Head, depth: str) -> Measured:
    """Cuts the page into blocks and measures them; takes out of the document what holds no text."""
    opinion = oracle(markup) if depth == "advanced" else None
    drop_code(root)
    region = region_of(root)
    head.semantic = region.semantic
    body = root.find("body")
    found = blocks.collect(root if body is None else body)
    if not found or len(found) > MAX_BLOCKS:
        return Measured(found, [], [], 0, [], region.element)
    measures = Measures(found, region.element, head, head.base)
    rows = measures.rows()
    for row, block in zip(rows, found, strict=True):
        row += _agreement(block, opinion)
    comments = in_comments(found)
    own_words = own_text(found, comments)
    return Measured(found, rows, comments, own_words, _signals(measures, comments, own_words, head), region.element)


def _signals(measures: Measures, comments: list[bool], own_words: int, head: Head) -> list[float]:
    """The page's signals; where it has a text of its own, what its readers wrote below does not count."""
    marked = list(zip(measures.blocks, measures.signatures, measures.prices, strict=True))
    if own_words >= _OWN_TEXT_WORDS:
        marked = [each for each, comment in zip(marked, comments, strict=True) if not comment]
    return signals(marked, head, head.base)


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


def _agreement(block: TextBlock, opinion: set[tuple[str, str]] | None) -> list[float]:
    """Share of the block that the second opinion keeps; -1 without one."""
    if opinion is None:
        return [-1.0]
    words = block.words
    if len(words) < 2:
        return [-1.0]
    return [sum(pair in opinion for pair in itertools.pairwise(words)) / (len(words) - 1)]


def main_content(root: Any, markup: str, head: Head, depth: str) -> Content:
    """Prunes the document in place and returns its content region."""
    return pruned(root, measured(root, markup, head, depth), head, (block_model.load(depth), page_types.load()))


def pruned(root: Any, page: Measured, head: Head, models: tuple[BlockModel | None, PageTypes | None]) -> Content:
    """Takes everything but the content out of a measured document, as these models see it."""
    model, types = models
    if model is None or types is None or not page.rows:
        drop_furniture(root)
        return Content(page.region)
    kinds = types.chances(page.signals, head)
    keep = decide(page.judged(kinds), model.chances(page.rows))
    body = root.find("body")
    body = root if body is None else body
    prune(body, [block for block, kept in zip(page.blocks, keep, strict=True) if kept])
    return Content(body, page_types.likeliest(kinds))


def prune(body: Any, kept: Sequence[TextBlock]) -> None:
    """Takes out every block that is not kept and holds none that is; pictures between kept blocks stay."""
    alive = {body}
    texts = {block.element for block in kept}
    for element in texts:
        box: Any = element
        while box is not None and box not in alive:
            alive.add(box)
            box = box.getparent()
    pictured = {box for image in body.iter("img") for box in image.iterancestors()}
    doomed: set[Any] = set()
    for element in list(body.iter(*BLOCKS)):
        if element in alive or (element in pictured and _is_figure(element, alive)):
            continue
        doomed.add(element)
        if element.getparent() not in doomed:  # else it is gone already
            remove(element)
    for element in alive:
        if element not in texts and element.tag in BLOCKS:
            _strip_loose(element, alive)


def _is_figure(element: Any, alive: set[Any]) -> bool:
    """True for a picture's box next to kept content, without text that was judged."""
    if WORD.search("".join(element.itertext())):
        return False
    return any(near is not None and near in alive for near in (element.getprevious(), element.getnext()))


def _strip_loose(element: Any, alive: set[Any]) -> None:
    """Removes the text that stands directly in a box kept only for what is inside it."""
    element.text = None
    for child in list(element):
        child.tail = None
        if child not in alive and child.tag not in BLOCKS and child.tag != "img":
            element.remove(child)
