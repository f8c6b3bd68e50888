"""Tells which declarations can hide an element on a page, by all colours that the page states. Pure."""

from dataclasses import dataclass

from gateway.engines.html import colours, hiding
from gateway.engines.html.css import Declarations


@dataclass(frozen=True, slots=True)
class PageColours:
    """Which rounded colours may equal a ground, and a text, that a page states somewhere."""

    grounds: set[colours.Colour]
    texts: set[colours.Colour]


def may_hide(style: Declarations, known: PageColours) -> bool:
    """True for declarations that can hide an element on a page with these colours."""
    if hiding.hides_for_good(style) or hiding.hides_until_shown(style):
        return True
    if hiding.letters_unseen(style) or hiding.text_invisible(style):
        return True
    text, (_, under) = colours.text_colour(style), colours.ground(style)
    if text is not None:
        return text == colours.TRANSPARENT or colours.rounded(text) in known.grounds
    return under is not None and colours.rounded(under) in known.texts
