"""Tells which colours surround an element: of the ground under it and of the letters around it.

What was found for one element is remembered for all that it went past. Runs in the parsing processes.
"""

from typing import Any

from gateway.engines.html import colours
from gateway.engines.html.cascade import Cascade
from gateway.engines.html.css import Declarations


class Surroundings:
    """The stated colours of one document. With style sheets elsewhere, a box with a class or an id may have others that
    are not known: the search ends there."""

    def __init__(self, root: Any, styles: Cascade) -> None:
        self._styles = styles
        self._linked = any("stylesheet" in (link.get("rel") or "") for link in root.iter("link"))
        self._grounds: dict[Any, colours.Colour | None] = {}
        self._letters: dict[Any, colours.Colour | None] = {}

    def ground(self, element: Any, style: Declarations) -> colours.Colour | None:
        """The ground under an element with this style: its own, or that of the nearest box that states one."""
        stated, under = _ground_of(element, style)
        if stated:
            return under
        return None if self._may_differ(element) else self._ground_in(element.getparent())

    def letters(self, element: Any) -> colours.Colour | None:
        """The colour of the text that the nearest box around an element states."""
        box, passed, found = element.getparent(), [], None
        while box is not None:
            if box in self._letters:
                found = self._letters[box]
                break
            passed.append(box)
            style = self._styles.style(box)
            if "color" in style or "-webkit-text-fill-color" in style:
                found = colours.text_colour(style)
                break
            box = None if self._may_differ(box) else box.getparent()
        self._letters.update(dict.fromkeys(passed, found))
        return found

    def _ground_in(self, box: Any) -> colours.Colour | None:
        passed, found = [], None
        while box is not None:
            if box in self._grounds:
                found = self._grounds[box]
                break
            passed.append(box)
            stated, under = _ground_of(box, self._styles.style(box))
            if stated:
                found = under
                break
            box = None if self._may_differ(box) else box.getparent()
        self._grounds.update(dict.fromkeys(passed, found))
        return found

    def _may_differ(self, box: Any) -> bool:
        return self._linked and bool(box.get("class") or box.get("id"))


def _ground_of(box: Any, style: Declarations) -> tuple[bool, colours.Colour | None]:
    stated, under = colours.ground(style)
    if not stated and box.get("bgcolor"):
        return True, colours.colour(box.get("bgcolor"))
    return stated, under
