"""Measures a page, lets `selection` choose its content block by block, and removes the rest from the document.

Runs in the parsing processes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from gateway.engines.content import blocks, models
from gateway.engines.content.blocks import WORD, TextBlock
from gateway.engines.content.models import BlockFeatures, BlockModel, Column, PageTypes, signals
from gateway.engines.content.parts import in_comments, is_manual_link, own_text, parts_of
from gateway.engines.content.selection import PageEvidence, select_blocks
from gateway.engines.html.cleaning import drop_code, open_frames, write_formulas
from gateway.engines.html.head import PICTURES, Head, declares_product
from gateway.engines.html.hidden import drop_hidden, styles_of
from gateway.engines.html.notes import link_notes
from gateway.engines.html.shapes import set_shapes
from gateway.engines.html.tree import (
    BLOCKS,
    PREFORMATTED,
    drop_furniture,
    raw_text,
    region_of,
    remove_all,
    remove_apart,
    values_of,
)

MAX_BLOCKS = 12_000
"""A page with more blocks is not measured and loses only marked furniture. 12,000 blocks with 132 features take up to
20 MB and, at 0.12 ms a block (bench.extract), 1.5 s."""
_OWN_TEXT_WORDS = 100  # words of running text outside comments from which the comments do not count for the page's type


SHOWCASES = frozenset({"product", "listing", "collection"})
"""Types of pages that show goods or teasers, each with its name, picture and buttons. Measured on the development part
of bench.extract: without the descriptions of pictures listing gains .024 of word F1, collection .019, product .009; the
other types keep theirs."""
_HEADING = re.compile(r"^h[1-6]$")
_ROWS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_CELLS, _ITEMS = frozenset({"td", "th"}), frozenset({"li", "dt", "dd"})


@dataclass(frozen=True, slots=True)
class Content:
    """The pruned region, an element, and the page's type; the type is empty for a page too large or too empty.
    `styles_ignored` and `for_no_scripts`: see PageMeasures."""

    region: Any
    page_type: str = ""
    styles_ignored: bool = False
    for_no_scripts: bool = False


@dataclass(frozen=True, slots=True)
class PageMeasures:
    """A measured page: its blocks, the region from which it was measured, whether it has scripts, whether the rules of
    its `style` elements were ignored (see html.hidden), and whether it has only short texts for browsers without
    scripts. Of a page that has neither none nor too many blocks also: the columns of their features, which are
    comments, the bits of `parts` of each, the words outside comments, the page's signals, whether it declares one
    product, and its footnotes with their marks."""

    blocks: list[TextBlock]
    region: Any
    scripted: bool = False
    styles_ignored: bool = False
    for_no_scripts: bool = False
    columns: list[Column] = field(default_factory=list)
    comments: list[bool] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    own_words: int = 0
    signals: list[float] = field(default_factory=list)
    is_product: bool = False
    notes: Sequence[tuple[Any, Any]] = ()

    def evidence(self, types: dict[str, float]) -> PageEvidence:
        """Input of `select_blocks`. `types`: the probability of each page type."""
        return PageEvidence(
            self.blocks, self.comments, self.parts, self.own_words, types, self.scripted, self.is_product
        )


def measure_page(root: Any, head: Head) -> PageMeasures:
    """Cuts the page into blocks and measures them; removes hidden elements and those without text from the
    document, and sets `head.semantic`."""
    open_frames(root)
    write_formulas(root)
    styles = styles_of(root)
    styles_ignored = drop_hidden(root, styles)
    set_shapes(root, styles)
    has_scripts = root.find(".//script") is not None
    for_no_scripts = drop_code(root)
    notes = link_notes(root)
    region = region_of(root)
    head.semantic = region.semantic
    found = blocks.collect(_body_of(root))
    scripted = has_scripts and not for_no_scripts  # scripts draw nothing of such a text
    page = PageMeasures(found, region.element, scripted, styles_ignored, for_no_scripts)
    if not found or len(found) > MAX_BLOCKS:
        return page
    models.read_credit(found, head)
    around = blocks.Surroundings(found, blocks.wrappers_of(found))
    features = BlockFeatures(found, around, region.element, head, head.base)
    comments = in_comments(found, around)
    own_words = own_text(found, comments)
    return replace(
        page,
        columns=features.columns(),
        comments=comments,
        parts=parts_of(found, around),
        own_words=own_words,
        signals=_signals(features, comments, own_words, head),
        is_product=declares_product(head),
        notes=notes,
    )


def _body_of(root: Any) -> Any:
    body = root.find("body")
    return root if body is None else body


def _signals(features: BlockFeatures, comments: list[bool], own_words: int, head: Head) -> list[float]:
    """The page's signals; where it has a text of its own, its comments do not count."""
    marked = list(zip(features.blocks, features.signatures, features.prices, strict=True))
    if own_words >= _OWN_TEXT_WORDS:
        marked = [each for each, comment in zip(marked, comments, strict=True) if not comment]
    return signals(marked, head, head.base)


def main_content(root: Any, head: Head) -> Content:
    """Removes everything but the content from the document, in place."""
    return prune_page(root, measure_page(root, head), head, (models.load_model(), models.load_types()))


def prune_page(
    root: Any, page: PageMeasures, head: Head, trained: tuple[BlockModel | None, PageTypes | None]
) -> Content:
    """Removes everything but the content from a measured document. Without a model, or for a page that was not
    measured, removes only what the page marks as furniture."""
    model, types = trained
    if model is None or types is None or not page.columns:
        drop_furniture(root)
        return Content(page.region, "", page.styles_ignored, page.for_no_scripts)
    kinds = types.probabilities(page.signals, head)
    keep = select_blocks(page.evidence(kinds), model.probabilities(page.columns))
    _keep_notes(page, keep)
    body = _body_of(root)
    remove_others(body, [block for block, is_kept in zip(page.blocks, keep, strict=True) if is_kept])
    return Content(body, models.likeliest(kinds), page.styles_ignored, page.for_no_scripts)


def _keep_notes(page: PageMeasures, keep: list[bool]) -> None:
    """Keeps the notes of texts that are kept, and the heading above them; leaves those of others out."""
    places = {block.paragraph: at for at, block in enumerate(page.blocks)}
    for box, mark in page.notes:
        text = next((places[each] for each in mark.iterancestors() if each in places), None)
        members = [places[each] for each in box.iter() if each in places]
        for at in members:
            keep[at] = text is not None and keep[text]
        if members and keep[members[0]] and members[0] and _HEADING.match(page.blocks[members[0] - 1].element.tag):
            keep[members[0] - 1] = True


def remove_others(body: Any, content: Sequence[TextBlock]) -> None:
    """Removes every block element that neither is in `content` nor holds one of it; pictures beside content stay."""
    alive = {body}
    texts = {block.paragraph for block in content}
    for element in texts:
        box: Any = element
        while box is not None and box not in alive:
            alive.add(box)
            box = box.getparent()
    pictured: set[Any] = set()
    for image in body.iter(*PICTURES):
        for box in image.iterancestors():
            if box in pictured:
                break
            pictured.add(box)
    lines = {line for element in texts if element.tag in PREFORMATTED for line in element.iter(*BLOCKS)}
    texts |= lines
    alive |= lines
    remove_apart(_others(list(body.iter(*BLOCKS)), alive, pictured))
    _remove_dangling(body)


def _remove_dangling(body: Any) -> None:
    """Removes the numbers of notes that are left out."""
    numbers: list[tuple[Any, str]] = []
    for number in body.iter("sup"):
        link, box = next(number.iter("a"), None), number.getparent()
        if link is None and box.tag == "a" and len(box) == 1 and not box.text:
            link = number = box
        target = "" if link is None else link.get("href") or ""
        if target.startswith("#") and len(target) > 1:
            numbers.append((number, unquote(target[1:])))
    if numbers:
        here = {*values_of("id", body), *values_of("name", body)}
        remove_all(number for number, target in numbers if target not in here)


def _others(elements: list[Any], alive: set[Any], pictured: set[Any]) -> Iterator[Any]:
    """The elements, in document order, that are not alive and no figures; none that is inside another one of them."""
    doomed: set[Any] = set()
    spared: set[Any] = set()
    figures: set[Any] = set()  # tables of pictures, and their rows
    for element in elements:
        if element in alive:
            continue
        parent = element.getparent()
        if parent in doomed:  # it is gone already
            doomed.add(element)
            continue
        if element in pictured and (parent in figures or _is_figure(element, alive)):
            if element.tag in _ROWS:
                figures.add(element)
            continue
        if parent in spared or (parent in alive and _is_part(element, alive)):
            spared.add(element)
            for picture in list(element.iter("img")) if element in pictured and element.tag in _CELLS else ():
                picture.set("alt", "")
        elif element.tag != "hr" or parent not in alive:  # a rule parts the texts around it
            doomed.add(element)
            if element.tail:
                element.tail = f" {element.tail}"  # the words around a box are not one word
            yield element


def _is_part(element: Any, alive: set[Any]) -> bool:
    """True for an element without words that belongs to its box: a cell or row, without which the others move, or
    signs beside content, such as an item "\u263e", a line of code or a term "//"."""
    text = raw_text(element)
    if WORD.search(text):
        return False
    if element.tag in _CELLS or element.tag == "tr":
        return True
    if not text.strip() or next(element.iter("a"), None) is not None:
        return False
    near = (element.getprevious(), element.getnext())
    return element.tag in _ITEMS or any(each is not None and each in alive for each in near)


def _is_figure(element: Any, alive: set[Any]) -> bool:
    """True for the box of a picture next to content, without text of its own, that leads to no next page."""
    if WORD.search(raw_text(element)):
        return False
    leads = [is_manual_link(image.get("alt") or "") for image in element.iter(*PICTURES)]
    if all(leads) or 2 < len(leads) < 2 * sum(leads):
        return False
    return any(near is not None and near in alive for near in (element.getprevious(), element.getnext()))
