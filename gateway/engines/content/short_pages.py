"""Reads pages with too few words for the model to separate content from menus.

Runs in the parsing processes. Knows neither models nor page types.
"""

import itertools
import operator
from collections.abc import Sequence

from gateway.engines.answer.word_count import unparted_words
from gateway.engines.content.blocks import TAG_BITS, TextBlock
from gateway.engines.content.furniture import FURNITURE_TAGS

SHORT_WORDS = 300
_KEPT_SHARE = 0.3
"""A page of at most so many words outside its furniture, of which the model keeps a smaller share than this, is read
whole: there is too little to tell the content by. Chosen: one screen of text. At half, short notices and indexes still
come back empty; at double, the menus of short articles stay. Of the share half leaves out most of a short list; double
reads short product pages with everything around them."""
_TINY_WORDS = 40
"""A page of at most so many words outside its furniture is read whole. Chosen: a notice, an error, a small table. At
half, single cells and lines of such pages are lost; at double, menus that are not marked as such come with short
reference pages (5 of 80 of SQLite's documentation)."""
SENTENCE_WORDS = 5
"""Words of a sentence. Chosen: at half the words "please wait" are a page, at double a short sentence is none."""
_OWN_SHARE = 0.25
"""Share of a page's words outside its furniture from which these are content without a sentence among them: lists of
links, tables of numbers. At half, the contacts on pages that scripts draw are content; at double, short lists under
long menus are lost."""
_LISTED_WORDS = 100
"""Words outside the furniture from which a page with scripts is a list, though it has no sentence. Chosen: the page of
a program that draws itself has some labels and an address. At half these are read as lists, at double short lists of
links on sites with scripts are refused."""
_MARKED_WORDS = 10
"""Kept words inside `main` from which a short page with scripts is no empty frame. Chosen: at half "please wait while
the page loads" passes, at double a contents page of ten commands is refused."""
_INDEX_SHARE = 0.8
"""Share of a page's words inside `nav` from which these are its content. Chosen: an index has a title and a footer
beside it. Its half reads the menus of pages that scripts draw; at most 1 can be asked for."""
_LOST_SHARE = 0.04
"""A longer page of which less is kept is a list of links or a table that the model takes for menus. Chosen: a heading
over a long index. At double, teasers around a short article come with it; at half, the heading alone is the answer."""
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
