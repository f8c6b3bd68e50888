"""Decides which blocks of a page are its content, from the block model's probabilities and the page's type.

Runs in the parsing processes. The rules: the cells of a table and the items of a list are kept or dropped together; a
table of data below a kept sentence is kept; blocks at the same place of repeated boxes are judged alike; code near
content is kept; comments below a text are dropped, unless the page is a forum; documentation loses only what is marked
as furniture or is very unlikely to be content; on other pages a second rendering of a text is dropped (`repeats`).
"""

import itertools
import operator
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.engines.content import block_model, page_parts, repeats, short_pages
from gateway.engines.content.blocks import TAG_BITS, TextBlock
from gateway.engines.content.data_tables import keep_tables
from gateway.engines.content.furniture import SHARE, furniture_of
from gateway.engines.content.short_pages import SHORT_WORDS

_CODE_FLOOR = 0.1
_HEADING_FLOOR = 0.1
_STRUCTURE_FLOOR = 0.04
"""Least probability of a block that its neighbourhood speaks for: code beside content, a heading over content, a block
inside documentation. Chosen on the pages of bench/extract.py. At double, code samples and short headings inside kept
text start to go; at half, menus inside documentation and headings of link lists start to stay."""
_FIELD_FLOOR = 0.15
"""The same for a field of a record that is kept. Measured on the development part of bench.extract: at a third and at
this value lists gain the same; at double the names of goods beside kept prices are lost."""
_TITLE_FLOOR = 0.02
"""The same for the title of documentation, of which `_doubted_before_title` halves nothing. Chosen: half of
_STRUCTURE_FLOOR, as titles beside menus and alone above a table of contents are rare where the model learnt. At half,
names of sites in a banner are titles, at double the titles of chapters in other scripts than the Latin one go."""
_CODE_REACH = 3
"""Blocks before and after code among which one must be content. Chosen: a code sample follows its explanation directly
or after a caption; at double, code of a neighbouring section counts."""
_HEADING_REACH = 12
"""Blocks after a heading among which content must follow. Chosen: enough for a table of contents or a picture's caption
below the heading; at half, headings over long lists of dropped blocks go, at double nearly no heading does."""
_OWN_TEXT_WORDS = 150
"""Words of running text outside comments from which comments are an addition. Chosen: a short article. At half, pages
whose comments are the content (a link with a discussion) lose them; at double, short news keep readers' letters."""
_DECLARED_TEXT_WORDS = 30
"""The same on a page whose structured data calls it an article or a recipe. Chosen: two sentences over a list of steps.
At half a teaser over a discussion counts; at double recipes keep the comments below them."""
_SURE_FORUM = 0.8
"""Probability of the type forum from which posts are content although the page has a text of its own. Chosen above
_LIKELY: an article with many comments looks like a forum, too."""
_MAX_POSTS_ALIKE = 4
"""Equal texts in a forum above which they are its labels ("Reply", a user's rank), no posts. Chosen: a quote of a quote
is the third or fourth. At half, quotes go; at double, labels of short threads stay."""
_LIKELY = 0.5
"""Probability from which a page type decides: no other type can be likelier."""
_OF_GOODS = ("product", "listing", "collection")
"""Types of pages on which the labels of buttons stand beside each article."""
_LIKELIEST_SHARE = 0.1
"""Share of a page's words outside its furniture that its likeliest blocks must hold, where none is likely. Chosen: the
names in a list of cards are a sixth. At half, the headings over a list of links are the answer; at double, such names
give way to the whole text."""
_SHARE_WORDS = 20
"""Most words of what invites to share or to like a post: a line with the address of the post. Chosen: at half long
addresses stay, at double short posts inside a box with such a name go."""
_HEADING = re.compile(r"^h[1-6]$")


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """Input of the decision. `comments` marks the blocks of a comment section, `parts` has the bits of page_parts;
    `own_words` counts the running text outside comments; `types` has the probability of each page type
    (page_types.TYPES); `scripted`: the page has scripts; `is_product`: it declares one product; `is_article`:
    it declares an article."""

    blocks: Sequence[TextBlock]
    comments: Sequence[bool]
    parts: Sequence[int]
    own_words: int
    types: dict[str, float]
    scripted: bool = False
    is_product: bool = False
    is_article: bool = False


def select_blocks(page: PageEvidence, probabilities: list[float]) -> list[bool]:
    """For each block, whether to keep it. `probabilities`: the block model's, one for each block.

    The blocks of one table or list share their mean probability; then the greatest expected F1 decides. Where next to
    nothing is kept, comments and the like are what the page is about; and where that is nothing either, everything but
    the furniture is kept.
    """
    labels = [_is_of_goods(page) and bool(part & page_parts.ACTIONS) for part in page.parts]
    # `judged_alike` then lowers the other blocks at the same place of repeated boxes, which are labels too.
    probabilities = [0.0 if label else each for label, each in zip(labels, probabilities, strict=True)]
    if page.types["documentation"] < _LIKELY:
        probabilities = repeats.judged_alike(page.blocks, probabilities)
    furniture = furniture_of(page.blocks)
    if max(page.parts, default=0) >= (way := page_parts.NAVIGATION):  # the highest bit
        furniture = [mark or part >= way for mark, part in zip(furniture, page.parts, strict=True)]
    first, always = _set_aside(page), [bool(part & page_parts.NEVER) for part in page.parts]
    attempts = [(aside, block_model.LOWEST_LIMIT) for aside in ([first] if first == always else [first, always])]
    sizes = [len(block.words) for block in page.blocks]
    if (own := sum(itertools.compress(sizes, map(operator.not_, furniture)))) > SHORT_WORDS:
        attempts.append((first, 0.0))  # a list of which no block is likely, but some are likelier than others
    for aside, lowest in attempts:
        likely = [0.0 if is_aside else probability for probability, is_aside in zip(probabilities, aside, strict=True)]
        keep = _likely_content(page, likely, furniture, lowest)
        others = [any(marks) for marks in zip(furniture, aside, labels, strict=True)]
        keep_tables(page.blocks, keep, others)
        least = 0 if lowest else _LIKELIEST_SHARE * own
        if short_pages.is_enough(page.blocks, keep, furniture) and least <= sum(itertools.compress(sizes, keep)):
            return keep
    return short_pages.whole_text(page.blocks, keep, furniture, page.scripted)


def _set_aside(page: PageEvidence) -> list[bool]:
    """Blocks that are no content on a page of this type, whatever the model says."""
    parts, types = page_parts.NEVER, page.types
    if types["documentation"] < _LIKELY:
        parts |= page_parts.NEWSLETTER | page_parts.REFERENCES | page_parts.THREADS
    if page.is_product or types["product"] >= _LIKELY:
        parts |= page_parts.REVIEWS | page_parts.TERMS | page_parts.SHOP
    if page.is_product:
        parts |= page_parts.DELIVERY
    if page.is_product or _is_of_goods(page):
        parts |= page_parts.QUESTIONS | page_parts.RELATED | page_parts.PROMISES
    if types["article"] >= _LIKELY:
        parts |= page_parts.RELATED
    if types["listing"] + types["collection"] >= _LIKELY:
        parts |= page_parts.FACETS
    aside = [bool(part & parts) for part in page.parts]
    if _drops_comments(page):
        aside = list(map(operator.or_, aside, page.comments))
    if types["forum"] >= _LIKELY:
        copies = Counter(block.text for block in page.blocks)
        for at, block in enumerate(page.blocks):
            is_about_poster = page.parts[at] & (page_parts.SIGNATURE | page_parts.POSTER)
            is_share = block.near & SHARE and len(block.words) <= _SHARE_WORDS
            aside[at] = aside[at] or bool(is_about_poster or is_share) or copies[block.text] > _MAX_POSTS_ALIKE
    return aside


def _is_of_goods(page: PageEvidence) -> bool:
    """True for a page about goods or with a list, whichever of these it is."""
    return sum(page.types[kind] for kind in _OF_GOODS) >= _LIKELY


def _likely_content(
    page: PageEvidence, probabilities: list[float], furniture: Sequence[bool], lowest: float
) -> list[bool]:
    """`lowest`: least probability of a block that is kept for itself."""
    blocks = page.blocks
    sizes = [len(block.words) for block in blocks]
    if page.types["service"] < _LIKELY:
        probabilities = _doubted_before_title(blocks, sizes, probabilities)
    shared = list(probabilities)
    for members in repeats.groups_of(blocks).values():
        weight = sum(sizes[at] for at in members)
        mean = sum(probabilities[at] * sizes[at] for at in members) / weight
        for at in members:
            shared[at] = mean
    keep = block_model.keep_likely(shared, sizes, lowest)
    if page.types["documentation"] >= _LIKELY:
        _drop_menus(blocks, keep, probabilities)
        _keep_structure(keep, probabilities, furniture)
        _keep_title(blocks, keep, probabilities, furniture)
    for at, block in enumerate(blocks):
        tag = block.element.tag
        if not keep[at] and tag == "pre":
            nearby = keep[max(0, at - _CODE_REACH) : at + _CODE_REACH + 1]
            keep[at] = probabilities[at] >= _CODE_FLOOR and any(nearby)
        elif not keep[at] and _HEADING.match(tag):
            keep[at] = probabilities[at] >= _HEADING_FLOOR and _leads_content(blocks, keep, at)
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
    least = _DECLARED_TEXT_WORDS if page.is_article else _OWN_TEXT_WORDS
    return page.own_words >= least and types["forum"] < _SURE_FORUM and types["documentation"] < _LIKELY


def _keep_structure(keep: list[bool], probabilities: list[float], furniture: Sequence[bool]) -> None:
    """Keeps everything between the first and the last kept block that is neither marked as furniture nor unlikely."""
    places = [at for at, is_kept in enumerate(keep) if is_kept]
    if not places:
        return
    for at in range(places[0], places[-1] + 1):
        if not keep[at] and not furniture[at] and probabilities[at] >= _STRUCTURE_FLOOR:
            keep[at] = True


def _drop_menus(blocks: Sequence[TextBlock], keep: list[bool], probabilities: Sequence[float]) -> None:
    """Drops links inside `nav` that are not likely content: of long ones a low probability is expected words enough."""
    for at, block in enumerate(blocks):
        if keep[at] and block.tags & TAG_BITS["nav"] and block.link_words == len(block.words):
            keep[at] = probabilities[at] >= _LIKELY


def _keep_title(
    blocks: Sequence[TextBlock], keep: list[bool], probabilities: Sequence[float], furniture: Sequence[bool]
) -> None:
    """Keeps the last title before the first kept block, which a table of contents may part from its text."""
    for at in range(keep.index(True) - 1 if True in keep else -1, -1, -1):
        if blocks[at].element.tag == "h1":
            keep[at] = not furniture[at] and probabilities[at] >= _TITLE_FLOOR
            return


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
