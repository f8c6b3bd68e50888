"""Decides which blocks of a page are its content, from the block model's probabilities and the page's type.

Cells of a table and items of a list are kept or dropped together; a table of data below a kept sentence is kept, and
code beside a kept block; blocks at the same place of repeated boxes are judged alike; comments below a text are
dropped, unless the page is a forum; documentation loses only what is marked as furniture or is very unlikely to be
content; on other pages a second rendering of a text is dropped (`repeats`). A page with too few words for the model is
read whole. Runs in the parsing processes.
"""

import itertools
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.engines.content import models, parts, repeats
from gateway.engines.content.blocks import CATEGORY_BITS, MESSAGES, TAG_BITS, TextBlock
from gateway.engines.content.parts import FURNITURE_TAGS, furniture_of
from gateway.engines.markdown.tables import is_data, rows_of
from gateway.engines.words.text import unparted_words

_NEAR_FLOOR = 0.1
_STRUCTURE_FLOOR = 0.04
"""Least probability of a block that its neighbourhood speaks for: a heading over content or code beside it, in whose
words there is little to tell them by; a block inside documentation."""
_FIELD_FLOOR = 0.15  # the same for a field of a record that is kept
_INSIDE_FLOOR, _BEFORE_FLOOR = 0.01, 0.1
"""The same for a block among the paragraphs of a text, and between the title and the text."""
_TEXT_PARAGRAPHS = 2  # kept paragraphs in a box from which it holds a text
_LEAD_BLOCKS = 6  # most blocks between the title and the text
_PARTS_OF_TEXT = frozenset(
    {"p", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption",
     "details", "summary", "fieldset", "legend", "table", "tbody", "tr"}
)  # fmt: skip
_CELLS = frozenset({"td", "th", "caption"})
_NAMING = frozenset({"class", "id", "role"})
_PART_LEVELS = 40  # lists and quotations one inside the other through which the box of a text is searched
_TITLE_FLOOR = 0.02  # the same for the title
_HEADING_REACH = 12  # blocks after a heading among which content must follow
_OWN_TEXT_WORDS = 150  # words of running text outside comments from which comments are an addition
_SURE_FORUM = 0.8  # probability of the type forum from which posts are content although the page has a text of its own
_LIKELY = 0.5  # probability from which a page type decides: no other type can be likelier
_OF_GOODS = ("product", "listing", "collection")
"""Types of pages on which the labels of buttons stand beside each article."""
_LIKELIEST_SHARE = 0.1
"""Share of a page's words outside its furniture that its likeliest blocks must hold, where none is likely."""
_HEADING = re.compile(r"^h[1-6]$")


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """Input of the decision. `comments` marks the blocks of a comment section, `parts` has the bits of page_parts;
    `own_words` counts the running text outside comments; `types` has the probability of each page type
    (page_types.TYPES); `scripted`: the page has scripts; `is_product`: it declares one product."""

    blocks: Sequence[TextBlock]
    comments: Sequence[bool]
    parts: Sequence[int]
    own_words: int
    types: dict[str, float]
    scripted: bool = False
    is_product: bool = False


def select_blocks(page: PageEvidence, probabilities: list[float]) -> list[bool]:
    """For each block, whether to keep it. `probabilities`: the block model's, one for each block.

    The blocks of one table or list share their mean probability; then the greatest expected F1 decides. Where next to
    nothing is kept, comments and the like are what the page is about; and where that is nothing either, everything but
    the furniture is kept.
    """
    labels = [_is_of_goods(page) and bool(part & parts.ACTIONS) for part in page.parts]
    # `judged_alike` then lowers the other blocks at the same place of repeated boxes, which are labels too.
    probabilities = [0.0 if label else each for label, each in zip(labels, probabilities, strict=True)]
    if page.types["documentation"] < _LIKELY:
        probabilities = repeats.judged_alike(page.blocks, probabilities)
    furniture, tables = furniture_of(page.blocks), data_tables(page.blocks)
    if max(page.parts, default=0) >= (way := parts.NAVIGATION):  # the highest bit
        furniture = [mark or part >= way for mark, part in zip(furniture, page.parts, strict=True)]
    first, always = _set_aside(page), [bool(part & parts.NEVER) for part in page.parts]
    attempts = [(aside, models.LOWEST_LIMIT) for aside in ([first] if first == always else [first, always])]
    sizes = [len(block.words) for block in page.blocks]
    if (own := sum(itertools.compress(sizes, map(operator.not_, furniture)))) > SHORT_WORDS:
        attempts.append((first, 0.0))  # a list of which no block is likely, but some are likelier than others
    for aside, lowest in attempts:
        likely = [0.0 if is_aside else probability for probability, is_aside in zip(probabilities, aside, strict=True)]
        keep = _likely_content(page, likely, furniture, lowest, tables)
        others = [any(marks) for marks in zip(furniture, aside, labels, strict=True)]
        keep_tables(page.blocks, keep, others, tables)
        _keep_inside_text(page.blocks, keep, probabilities, others, tables)
        _keep_before_text(page.blocks, keep, probabilities, others)
        least = 0 if lowest else _LIKELIEST_SHARE * own
        if is_enough(page.blocks, keep, furniture) and least <= sum(itertools.compress(sizes, keep)):
            return keep
    is_drawn = page.scripted and page.types["documentation"] < _LIKELY  # by scripts, perhaps
    return whole_text(page.blocks, keep, furniture, is_drawn)


def _keep_inside_text(
    blocks: Sequence[TextBlock],
    keep: list[bool],
    probabilities: Sequence[float],
    others: Sequence[bool],
    tables: Sequence[Any],
) -> None:
    """Keeps short blocks that stand as paragraphs, lists, tables or headings among or behind those of a kept text, in
    the same box: a line of links, thanks at the end, "See also" with its list."""
    members: dict[Any, list[int]] = {}
    for at, block in enumerate(blocks):
        element = block.paragraph
        if element.tag == "div" and element.getparent().tag in _PARTS_OF_TEXT:
            element = element.getparent()
        if element.tag in _CELLS:
            element = next(element.iterancestors("table"), element)
        elif tables[at] is not None:
            element = tables[at]
        part = element
        for _ in range(_PART_LEVELS):
            if not _is_part(element):
                break
            element = element.getparent()
        if element is not part:
            members.setdefault(element, []).append(at)
    for places in members.values():
        text = [
            at for at in places if keep[at] and blocks[at].paragraph.tag in ("p", "div") and _is_sentence(blocks[at])
        ]
        if len(text) < _TEXT_PARAGRAPHS:
            continue
        for at in places:
            if at > text[0] and not keep[at] and not others[at] and probabilities[at] >= _INSIDE_FLOOR:
                keep[at] = True


def _is_part(element: Any) -> bool:
    """Whether an element is a part of the text around it; so is a cell that holds one table and nothing else, with the
    table around it, and a box that nothing names."""
    if element.tag == "div" and _NAMING.isdisjoint(element.keys()):
        return True
    if element.tag in _CELLS:
        return len(element) == 1 and element[0].tag == "table" and not (element.text or element[0].tail or "").strip()
    return element.tag in _PARTS_OF_TEXT or (element.get("role") or "").lower() in MESSAGES


def _keep_before_text(
    blocks: Sequence[TextBlock], keep: list[bool], probabilities: Sequence[float], others: Sequence[bool]
) -> None:
    """Keeps the title of the page and what stands between it and the first kept block: an abstract, a name with its
    heading, as manuals have it outside of their main box."""
    title = next((at for at, block in enumerate(blocks) if block.element.tag == "h1" and not others[at]), len(blocks))
    first = next((at for at in range(title + 1, len(blocks)) if keep[at]), 0)
    if not title < first <= title + _LEAD_BLOCKS or True in keep[:title]:
        return
    for at in range(first - 1, title, -1):
        block = blocks[at]
        is_heading = bool(_HEADING.match(block.element.tag)) and keep[at + 1]
        if not others[at] and not block.link_words and (is_heading or probabilities[at] >= _BEFORE_FLOOR):
            keep[at] = True
    keep[title] = keep[title] or probabilities[title] >= _TITLE_FLOOR


def _set_aside(page: PageEvidence) -> list[bool]:
    """Blocks that are no content on a page of this type, whatever the model says."""
    marks, types = parts.NEVER, page.types
    if page.is_product or _is_of_goods(page) or types["article"] >= _LIKELY:
        marks |= parts.RELATED
    if types["listing"] + types["collection"] >= _LIKELY:
        marks |= parts.FACETS
    if types["forum"] >= _LIKELY:
        marks |= parts.SIGNATURE
    aside = [bool(part & marks) for part in page.parts]
    return list(map(operator.or_, aside, page.comments)) if _drops_comments(page) else aside


def _is_of_goods(page: PageEvidence) -> bool:
    """True for a page about goods or with a list, whichever of these it is."""
    return sum(page.types[kind] for kind in _OF_GOODS) >= _LIKELY


def _likely_content(
    page: PageEvidence, probabilities: list[float], furniture: Sequence[bool], lowest: float, tables: Sequence[Any]
) -> list[bool]:
    """`lowest`: least probability of a block that is kept for itself."""
    blocks = page.blocks
    sizes = [len(block.words) for block in blocks]
    if page.types["service"] < _LIKELY:
        probabilities = _doubted_before_title(blocks, sizes, probabilities)
    shared = list(probabilities)
    for members in repeats.groups_of(blocks, tables).values():
        weight = sum(sizes[at] for at in members)
        mean = sum(probabilities[at] * sizes[at] for at in members) / weight
        for at in members:
            shared[at] = mean
    keep = models.keep_likely(shared, sizes, lowest)
    if page.types["documentation"] >= _LIKELY:
        _keep_structure(blocks, keep, probabilities, furniture)
    for at, block in enumerate(blocks):
        if keep[at] or probabilities[at] < _NEAR_FLOOR:
            continue
        if block.element.tag == "pre":
            keep[at] = any(keep[max(0, at - 1) : at + 2])
        elif _HEADING.match(block.element.tag):
            keep[at] = _leads_content(blocks, keep, at)
    if page.types["documentation"] < _LIKELY and page.types["service"] < _LIKELY:
        repeats.drop_copies(blocks, keep)
    if page.types["listing"] + page.types["collection"] >= _LIKELY:
        wanted = [
            (likely >= _FIELD_FLOOR or bool(_HEADING.match(block.element.tag))) and not outside
            for block, likely, outside in zip(blocks, probabilities, furniture, strict=True)
        ]
        records = repeats.records_of(blocks)
        repeats.complete_records(blocks, keep, wanted, records)
        repeats.drop_said_twice(blocks, keep, records)
    return keep


def _doubted_before_title(blocks: Sequence[TextBlock], sizes: list[int], probabilities: list[float]) -> list[float]:
    """Halves the probability of the blocks before the page's title, unless they are most of the page."""
    title = next((at for at, block in enumerate(blocks) if block.element.tag == "h1"), 0)
    if 2 * sum(sizes[:title]) > sum(sizes):
        return probabilities
    return [probability / 2 if at < title else probability for at, probability in enumerate(probabilities)]


def _drops_comments(page: PageEvidence) -> bool:
    """True for comments below an article or a product; in a forum and in documentation they are content."""
    types = page.types
    return page.own_words >= _OWN_TEXT_WORDS and types["forum"] < _SURE_FORUM and types["documentation"] < _LIKELY


def _keep_structure(
    blocks: Sequence[TextBlock], keep: list[bool], probabilities: list[float], furniture: Sequence[bool]
) -> None:
    """Keeps everything between the first and the last kept block that is neither marked as furniture nor unlikely, and
    what stands before and behind them up to the first block that is one of both, or to the title; a line of links to
    the pages around ends no text that goes on with a heading."""
    places = [at for at, is_kept in enumerate(keep) if is_kept]
    if not places:
        return
    fits = [not mark and likely >= _STRUCTURE_FLOOR for mark, likely in zip(furniture, probabilities, strict=True)]
    first, end = places[0], places[-1] + 1
    while first and fits[first - 1] and blocks[first].element.tag != "h1":
        first -= 1
    while end < len(keep) and (fits[end] or _parts_sections(blocks, end)):
        end += 1
    for at in range(first, end):
        keep[at] = keep[at] or fits[at]


def _parts_sections(blocks: Sequence[TextBlock], at: int) -> bool:
    is_followed = at + 1 < len(blocks) and bool(_HEADING.match(blocks[at + 1].element.tag))
    return is_followed and blocks[at].link_words > 0 and parts.is_manual_navigation(blocks[at])


def _leads_content(blocks: Sequence[TextBlock], keep: list[bool], at: int) -> bool:
    """True when content is kept under this heading, before the next heading of its level or above."""
    level = blocks[at].element.tag
    for later in range(at + 1, min(len(blocks), at + _HEADING_REACH)):
        tag = blocks[later].element.tag
        if _HEADING.match(tag) and tag <= level:
            return False
        if keep[later]:
            return True
    return False


SHORT_WORDS = 300
_KEPT_SHARE = 0.3
"""A page of at most so many words outside its furniture, of which the model keeps a smaller share than this, is read
whole: there is too little to tell the content by."""
_TINY_WORDS = 40  # a page of at most so many words outside its furniture is read whole
SENTENCE_WORDS = 5  # words of a sentence
_OWN_SHARE = 0.25
"""Share of a page's words outside its furniture from which these are content without a sentence among them: lists of
links, tables of numbers."""
_LISTED_WORDS = 100  # words outside the furniture from which a page with scripts is a list, though it has no sentence
_MARKED_WORDS = 10  # kept words inside `main` from which a short page with scripts is no empty frame
_INDEX_SHARE = 0.8  # share of a page's words inside `nav` from which these are its content
_LOST_SHARE = 0.04  # a longer page of which less is kept is a list of links or a table that the model takes for menus
_INDEX_TAGS = FURNITURE_TAGS | TAG_BITS["header"]


def is_enough(blocks: Sequence[TextBlock], keep: Sequence[bool], furniture: Sequence[bool]) -> bool:
    """Whether what the model keeps is the content of the page, and not next to nothing of it."""
    own = _words(blocks, list(map(operator.not_, furniture)))
    kept = _words(blocks, keep)
    if kept < own <= _TINY_WORDS:
        return False
    if not own and kept < _LISTED_WORDS and not any(map(_is_sentence, itertools.compress(blocks, keep))):
        return False  # labels of a footer, of a page that scripts draw
    return kept > 0 and kept >= (_KEPT_SHARE if own <= SHORT_WORDS else _LOST_SHARE) * own


def whole_text(
    blocks: Sequence[TextBlock], keep: Sequence[bool], furniture: Sequence[bool], scripted: bool
) -> list[bool]:
    """Everything but the furniture; where the furniture holds all sentences, that too. A page that is nearly all
    furniture, without a sentence beside it, is an index inside a `nav`, or a short text that it marks as its main part
    and of which the model keeps something, or unreadable."""
    others = list(map(operator.not_, furniture))
    own, total = _words(blocks, others), _words(blocks, [True] * len(others))
    sentences = [is_own and _is_sentence(block) for block, is_own in zip(blocks, others, strict=True)]
    is_list = own >= _OWN_SHARE * total and (not scripted or own >= _LISTED_WORDS)
    if any(sentences) or is_list:
        return others
    if not own and not scripted and any(map(_is_sentence, blocks)):
        return [True] * len(others)  # all the text stands in a footer or an aside
    menus = [block.tags & _INDEX_TAGS == TAG_BITS["nav"] for block in blocks]
    if _words(blocks, menus) >= _INDEX_SHARE * total:
        return [True] * len(others)
    marked = [is_own and bool(block.tags & TAG_BITS["main"]) for block, is_own in zip(blocks, others, strict=True)]
    is_page = _words(blocks, list(map(operator.and_, marked, keep))) >= _MARKED_WORDS
    return [is_page and is_marked for is_marked in marked]


def _is_sentence(block: TextBlock) -> bool:
    return _size(block) >= SENTENCE_WORDS and 2 * block.link_words < len(block.words)


def _words(blocks: Sequence[TextBlock], members: Sequence[bool]) -> int:
    return sum(_size(block) for block, is_member in zip(blocks, members, strict=True) if is_member)


def _size(block: TextBlock) -> int:
    """Words of a block, in scripts without blanks too."""
    return len(block.words) + unparted_words(block.text)


_SENTENCE_REACH = 40  # blocks before the table that are searched for a kept sentence in the same box
_WRAPPERS = 4  # boxes around a table alone that are looked through
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})


def keep_tables(blocks: Sequence[TextBlock], keep: list[bool], others: Sequence[bool], tables: Sequence[Any]) -> None:
    """Keeps the whole of a table of data of which most is kept, or that follows a kept sentence in the same box, and
    the heading directly above it; further tables in the box follow the first. `others`: the blocks that are known to be
    no content; a table with one of them, or one that is named a menu, stays as it is. `tables`: see `data_tables`."""
    cells: dict[Any, list[int]] = {}
    for at, table in enumerate(tables):
        if table is not None:
            cells.setdefault(table, []).append(at)
    after: tuple[Any, int] = (None, 0)
    for table, members in cells.items():
        kept = sum(keep[at] for at in members)
        is_menu = any(others[at] or blocks[at].far & CATEGORY_BITS["nav"] for at in members)
        if kept == len(members) or is_menu:
            continue
        box, first = _box_around(table), members[0]
        follows_table = box is not None and box is after[0] and first - after[1] <= _SENTENCE_REACH
        if 2 * kept > len(members) or follows_table or _follows_sentence(box, first, blocks, keep):
            for at in members:
                keep[at] = True
            if first and blocks[first - 1].element.tag in _HEADINGS and not others[first - 1]:
                keep[first - 1] = True
            after = box, members[-1]


def data_tables(blocks: Sequence[TextBlock]) -> list[Any]:
    """For each block the innermost table around it, if that is one of data; else None."""
    known: dict[Any, Any] = {}
    data: dict[Any, Any] = {None: None}
    found = []
    for block in blocks:
        table = _table_around(block.element, known) if block.tags & TAG_BITS["table"] else None
        if table not in data:
            data[table] = table if is_data(table, rows_of(table)) else None
        found.append(data[table])
    return found


def _table_around(element: Any, known: dict[Any, Any]) -> Any:
    """The innermost table around the element, or None; `known` caches it for every element."""
    path: list[Any] = []
    box = element
    while box is not None and box not in known:
        path.append(box)
        if box.tag == "table":
            known[box] = box
            break
        box = box.getparent()
    table = known.get(box)
    known.update(dict.fromkeys(path, table))
    return table


def _box_around(table: Any) -> Any:
    """The innermost box around the table, or None, that holds something else."""
    box = table.getparent()
    for _ in range(_WRAPPERS):
        if box is None or len(box) > 1:
            break
        box = box.getparent()
    return box


def _follows_sentence(box: Any, first: int, blocks: Sequence[TextBlock], keep: Sequence[bool]) -> bool:
    """True when a sentence or the title is kept before the table in the box around it. `first`: its first block."""
    return any(
        keep[at]
        and (len(blocks[at].words) >= SENTENCE_WORDS or blocks[at].element.tag == "h1")
        and any(around is box for around in blocks[at].element.iterancestors())
        for at in range(max(0, first - _SENTENCE_REACH), first)
    )
