"""Recognises the links of a manual's page to the pages before, behind and above it. Runs in the parsing processes."""

import itertools
import re

from gateway.engines.content.blocks import TextBlock

_NAMES = frozenset({"next", "prev", "previous", "up", "home", "contents", "index", "top"})
"""What manuals call these links, as Texinfo, LaTeX2HTML and DocBook write them."""
_ARROWED = re.compile(r"\[? ?(?:<<? |up ?: )|\[ ?[^\[\]]{1,200} >>? ?\]$", re.IGNORECASE)
"""Arrows to the pages around one, or the way up, with the title of the page: "[ << Music ]", "[ Notes > ]"."""


def is_manual_navigation(block: TextBlock) -> bool:
    """True for a line of such links, with or without the titles of the pages."""
    words = block.words
    if block.text[0] in "[<" and block.link_words == len(words):
        return _ARROWED.match(block.text) is not None or all(word in _NAMES for word in words)
    named = sum(word in _NAMES for word in words)
    if named == len(words) == block.link_words:
        return True
    loose = len(words) - block.link_words
    return words[0] in _NAMES and 1 < named >= loose and len(list(itertools.islice(block.element.iter("a"), 2))) > 1


def is_manual_link(text: str) -> bool:
    """Whether the description of a picture is the name of such a link."""
    return text.strip("[]() ").lower() in _NAMES
