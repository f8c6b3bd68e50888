"""Recognises the links of a manual's page to the pages before, behind and above it. Runs in the parsing processes."""

import itertools
import re

from gateway.engines.content.blocks import TextBlock

_NAMES = frozenset({"next", "prev", "previous", "up", "home", "contents", "index", "top"})
"""What manuals call these links, as Texinfo, LaTeX2HTML and DocBook write them."""
_ARROWED = re.compile(r"\[? ?(?:<<? |up ?: )|\[ ?[^\[\]]{1,200} >>? ?\]$", re.IGNORECASE)
"""Arrows to the pages around one, or the way up, with the title of the page: "[ << Music ]", "[ Notes > ]"."""
_BY = re.compile(
    r"(?:(?:prev|next|previous) (?:by |in )?(?:date|thread|message|topic)|messages sorted by)\b[^:]{0,20}:",
    re.IGNORECASE,
)
_BY_WORDS = 8
"""Words outside the links of a line that leads to the next message of an archive. Chosen: "Previous message (by
thread):" and the name of the sender. At half, lines with long names stay; at double, sentences with a link count."""


def is_manual_navigation(block: TextBlock) -> bool:
    """True for a line of such links, with or without the titles of the pages."""
    words = block.words
    if block.text[0] in "[<" and block.link_words == len(words):
        return _ARROWED.match(block.text) is not None or all(word in _NAMES for word in words)
    if _BY.match(block.text) and block.link_words:
        return len(words) - block.link_words <= _BY_WORDS
    named = sum(word in _NAMES for word in words)
    if named == len(words) == block.link_words:
        return True
    loose = len(words) - block.link_words
    return words[0] in _NAMES and 1 < named >= loose and len(list(itertools.islice(block.element.iter("a"), 2))) > 1


def is_manual_link(text: str) -> bool:
    """Whether the description of a picture is the name of such a link."""
    return text.strip("[]() ").lower() in _NAMES
