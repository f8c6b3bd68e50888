"""Tells which colours surround an element: of the ground under it and of the letters around it.

What was found for one element is remembered for all that it went past. Runs in the parsing processes.
"""

from typing import Any

from gateway.engines.html import colours
from gateway.engines.html.cascade import Cascade
from gateway.engines.html.css import Declarations
from gateway.engines.html.css_rules import CssRule

CANVAS: colours.Colour = (255, 255, 255)
"""The ground of a page that states none."""


_PICTURES = ("img", "picture", "video", "canvas", "svg")


class Surroundings:
    """The stated colours of one document. With style sheets elsewhere, a box with a class or an id may have others that
    are not known: the search ends there. Where nothing states a ground, the page is white, as browsers draw it, unless
    a script may have given one of the boxes another."""

    def __init__(self, root: Any, styles: Cascade) -> None:
        self._styles = styles
        self.is_linked = any("stylesheet" in (link.get("rel") or "") for link in root.iter("link")) or any(
            "@import" in (style.text or "") for style in root.iter("style")
        )
        self._has_canvas = not (self.is_linked or _is_dark(root) or any(map(_paints_beside, styles.read)))
        self._is_scripted = next(root.iter("script"), None) is not None
        self._grounds: dict[Any, colours.Colour | None] = {}
        self._bare: dict[Any, bool] = {}
        self._letters: dict[Any, colours.Colour | None] = {}

    def ground(self, element: Any, style: Declarations) -> colours.Colour | None:
        """The ground under an element with this style: its own, or that of the nearest box that states one."""
        stated, under = _ground_of(element, style)
        if stated:
            return under
        found = None if self._may_differ(element) else self._ground_in(element.getparent())
        return CANVAS if found is None and self.is_bare(element, style) else found

    def is_bare(self, element: Any, style: Declarations) -> bool:
        """Whether the ground under an element is the empty page: nothing states another."""
        if self._has_canvas and not (self._is_scripted and _is_named(element)):
            return not _ground_of(element, style)[0] and self._is_bare_in(element.getparent())
        return False

    def _is_bare_in(self, box: Any) -> bool:
        passed = []
        while box is not None and box not in self._bare:
            passed.append(box)
            box = box.getparent()
        is_bare = box is None or self._bare[box]
        for each in reversed(passed):
            is_other = (self._is_scripted and _is_named(each)) or _ground_of(each, self._styles.style(each))[0]
            is_bare = self._bare[each] = is_bare and not is_other and not self._has_picture_under(each)
        return is_bare

    def _has_picture_under(self, box: Any) -> bool:
        """Whether a picture of its box, or what follows it, is taken out of the flow: the text may stand on it."""
        pictures = list(box.iterchildren(*_PICTURES))
        beside = [each for picture in pictures for each in (picture, *picture.iterchildren("img"), picture.getnext())]
        return any(
            self._styles.style(each).get("position") in ("absolute", "fixed") for each in beside if each is not None
        )

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
            if stated or self._has_picture_under(box):
                found = under if stated else None
                break
            box = None if self._may_differ(box) else box.getparent()
        self._grounds.update(dict.fromkeys(passed, found))
        return found

    def _may_differ(self, box: Any) -> bool:
        return self.is_linked and _is_named(box)


def _ground_of(box: Any, style: Declarations) -> tuple[bool, colours.Colour | None]:
    stated, under = colours.ground(style)
    if not stated and box.get("background"):
        return True, None
    if not stated and box.get("bgcolor"):
        return True, colours.colour(box.get("bgcolor"))
    return stated, under


def _is_named(box: Any) -> bool:
    """Whether a sheet elsewhere, or one that a script adds, may speak of a box."""
    return bool(box.get("class") or box.get("id"))


def _paints_beside(rule: CssRule) -> bool:
    """Whether a rule gives a `::before` or `::after`, which often lies under its box, a ground."""
    return "background" in rule.body and (":before" in rule.selectors or ":after" in rule.selectors)


def _is_dark(root: Any) -> bool:
    """Whether the page asks for the browser's dark colours, by a `meta` or a rule."""
    return any(
        "dark" in (meta.get("content") or "") for meta in root.iter("meta") if meta.get("name") == "color-scheme"
    ) or any("color-scheme" in (style.text or "") for style in root.iter("style"))
