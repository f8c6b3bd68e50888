"""Finds hidden boxes that the style rules of a page show in another state: on hover or focus, when an input is checked,
after an animation, or once a script has added a class.

A rule with `:hover`, `:checked` and the like is read as if the state held, but not where it is a state of the hidden
box itself, at which nobody can point. A cloak (`v-cloak`, `x-cloak`, `ng-cloak`) is an attribute that hides a box until
a framework removes it, which is the first thing that it does. Of an animation the last frame counts, if it stays. A
class that a script adds counts for opacity alone: dialogs and menus, which it shows as well, are opened by a control.
Nothing is compared on a page without hidden boxes. Runs in the parsing processes.
"""

import re
from collections.abc import Iterator
from typing import Any

from gateway.engines.html import hiding
from gateway.engines.html.cascade import Cascade
from gateway.engines.html.css import Declarations, declared
from gateway.engines.html.css_rules import CssRule, split_list
from gateway.engines.html.selector_matcher import SelectorMatcher
from gateway.engines.html.selectors import NotValidError, read_selectors

_CHOSEN = re.compile(r":not\(\s*+:checked\s*+\)|:checked(?![\w-])", re.IGNORECASE)
_CHOOSABLE = ":is(input[type=checkbox i],input[type=radio i],option)"
_ENTERED = re.compile(r":(?:hover|active|focus(?:-within|-visible)?)(?![\w-])", re.IGNORECASE)
_OF_THE_BOX = re.compile(r":(?:hover|active|focus(?:-within|-visible)?)(?![\w-])[^\s>+~]*+\Z", re.IGNORECASE)
_ANYWHERE = ":defined"
"""Holds for every element, and leaves a selector that began with the state a selector."""
_LAST = re.compile(r"[^\s>+~]++\Z")
_CLASS = re.compile(r"\.[A-Za-z_-][\w-]*")
_MOST_CLASSES = 4
"""Classes of one element in a selector that are left out in turn. Chosen: rules that show something name two or three;
at double a hostile sheet takes twice the time."""
_KEYFRAMES = re.compile(r"@(?:-webkit-)?keyframes\s+([\w-]{1,80})\s*+\{((?:[^{}]*+\{[^{}]*+\}){1,40})", re.IGNORECASE)
_FRAME = re.compile(r"(?<![^{}])([^{}]*+)\{([^{}]*+)\}")
_STAYS = re.compile(r"(?<![\w-])(?:forwards|both|infinite)(?![\w-])", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")
_MOST_RULES = 500
"""Rules that are compared with a page. Chosen: pages with menus in CSS have some ten that show something; at half those
of large frameworks are cut, at double a hostile page takes twice the time."""
_MOST_LOOKS = 50_000
"""Rules put together with the styles of hidden boxes. Chosen: pages come to some hundred; at half long menus are near,
at double a hostile page takes twice the .2 s."""
_Shown = tuple[str, Declarations]
"""(selectors, declarations) of a rule that shows something."""


class ReachableStates:
    """The rules of one document that hold in another state. `elements`: all of the document, in its order; `boxes`:
    the hidden ones among them; `styles`: those without any such state."""

    def __init__(self, elements: list[Any], boxes: list[Any], styles: Cascade) -> None:
        self._elements = elements
        self._boxes = boxes
        self._styles = styles
        self._shown: dict[Any, list[Declarations]] | None = None
        self._left = _MOST_LOOKS

    def show(self, box: Any) -> bool:
        """Whether a rule shows a hidden box in another state, or a framework will remove the cloak that hides it."""
        if any(name.endswith("-cloak") for name in box.attrib) and _is_seen(self._styles.own_style(box)):
            return True
        if self._shown is None:
            self._shown = self._read()
        given = self._shown.get(box)
        if not given:
            return False
        style = self._styles.style(box)
        self._left -= len(given)
        return self._left >= 0 and any(_is_seen({**style, **more}) for more in given)

    def _read(self) -> dict[Any, list[Declarations]]:
        matcher, present = SelectorMatcher(), self._styles.present
        stated: list[Declarations] = []
        frames = dict(frame for css in self._styles.sheets for frame in _last_frames(css))
        for rule in self._styles.read:
            for selectors, found in _shown_by(rule, frames):
                if len(stated) < _MOST_RULES and present is not None and present.may_match(selectors):
                    _add(matcher, selectors, self._styles.strings, len(stated))
                    stated.append(found)
        if not stated:
            return {}
        groups_of, groups = matcher.match(self._elements, self._boxes)
        return {box: [stated[rule] for rule in groups[group]] for box, group in groups_of.items()}


def _add(matcher: SelectorMatcher, selectors: str, strings: list[str], rule: int) -> None:
    try:
        for selector in read_selectors(selectors, strings):
            matcher.add(selector, rule)
    except NotValidError:
        return


def _shown_by(rule: CssRule, frames: dict[str, Declarations]) -> Iterator[_Shown]:
    """The selectors and declarations by which a rule shows boxes in another state."""
    if frames and "animation" in rule.body.lower() and _STAYS.search(rule.body):
        for name in frames.keys() & set(_WORD.findall(rule.body)):
            yield rule.selectors, frames[name]
    has_state = ":" in rule.selectors and (_ENTERED.search(rule.selectors) or _CHOSEN.search(rule.selectors))
    if not has_state and ("opacity" not in rule.body or "." not in rule.selectors):
        return
    found = _declarations(rule.body)
    if not found or not _is_seen(found):
        return
    for selector in split_list(rule.selectors):
        if has_state and not _OF_THE_BOX.search(selector.strip()):
            yield _ENTERED.sub(_ANYWHERE, _CHOSEN.sub(_CHOOSABLE, selector)), found
        elif "opacity" in found and not has_state:
            yield from ((other, {"opacity": found["opacity"]}) for other in _without_a_class(selector.strip()))


def _without_a_class(selector: str) -> Iterator[str]:
    """The selectors of the boxes that lack one class, where more than a tag still tells them from others."""
    last = _LAST.search(selector)
    names = list(_CLASS.finditer(selector, last.start())) if last is not None and "(" not in last[0] else []
    if last is None or len(names) > _MOST_CLASSES or len(names) + ("[" in last[0]) + ("#" in last[0]) < 2:
        return
    for name in names:
        yield selector[: name.start()] + selector[name.end() :]


def _last_frames(css: str) -> Iterator[tuple[str, Declarations]]:
    """The animations of a sheet with what their last frame says."""
    for animation in _KEYFRAMES.finditer(css) if "keyframes" in css else ():
        for places, body in _FRAME.findall(animation[2]):
            if {"to", "100%"} & {place.strip().lower() for place in places.split(",")}:
                yield animation[1], _declarations(body)


def _declarations(body: str) -> Declarations:
    return {name: value for name, (_, value) in declared(body).items() if name in hiding.PROPERTIES}


def _is_seen(style: Declarations) -> bool:
    return not (hiding.hides_until_shown(style) or hiding.hides_for_good(style) or hiding.text_invisible(style))
