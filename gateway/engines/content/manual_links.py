"""Recognises the links of a manual's page to the pages before, behind and above it. Runs in the parsing processes."""

import itertools

from gateway.engines.content.blocks import TextBlock

_NAMES = frozenset({"next", "prev", "previous", "up", "home", "contents", "index", "top"})
"""What manuals call these links, as Texinfo, LaTeX2HTML and DocBook write them."""


def is_manual_navigation(block: TextBlock) -> bool:
    """True for a line of such links, with or without the titles of the pages."""
    words = block.words
    named = sum(word in _NAMES for word in words)
    if named == len(words) == block.link_words:
        return True
    loose = len(words) - block.link_words
    return words[0] in _NAMES and 1 < named >= loose and len(list(itertools.islice(block.element.iter("a"), 2))) > 1


def is_manual_link(text: str) -> bool:
    """Whether the description of a picture is the name of such a link."""
    return text.strip("[]() ").lower() in _NAMES
