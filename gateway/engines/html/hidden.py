"""Removes from a document what people cannot see, so that a model does not read it either.

Hidden is an element with `hidden`, `aria-hidden`, `inert`, a closed `dialog` or `popover`, or a style that hides it:
not displayed, transparent, off the screen, clipped, without size, too small, or of the colour of its ground. Hidden
text that a visible control opens is kept, such as a tab panel or the answer below a question; no control reveals what
is off the screen, clipped, too small or of its ground's colour. See `styles` for the rules that are read. Runs in the
parsing processes.
"""

import functools
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.html.notes import NOTE_MARK, is_mark
from gateway.engines.html.styles import (
    TRANSPARENT,
    Colour,
    Declarations,
    Styles,
    colour,
    first_colour,
    number,
    pixels,
    same,
)
from gateway.engines.html.tree import BLOCKS, put_in, remove_all, take_out, text_of, text_size, values_of
from gateway.engines.words.text import hides_too_much

_AWAY_PX = 900.0  # from the screen's edge; the usual ways to hide move by 999 pixels and more
_TINY_PX = 1.0
_FAINT = 0.05  # opacity up to which a text is not seen
_MAX_ARIA_SHARE = 0.3
"""Share of a page's text up to which `aria-hidden` and `inert` are believed. Neither hides anything from the eye; pages
set them on all but an open dialog."""
_MAX_PAGE_SHARE, _MIN_PAGE_CHARS = 0.6, 2_000
"""One box with more of a page's text than both is the page itself, hidden until a script has run."""
_ACCORDION_ITEMS = 3  # boxes of one kind, each with a visible line and a hidden last part: questions and answers
_LINE_CHARS = 300  # longest visible line of such a box
_NEVER = frozenset({"html", "body", "head", "main"})
_NAMING = ("aria-controls", "data-target", "data-bs-target", "popovertarget", "commandfor", "for")
"""Attributes by which a control names what it reveals; `href` does it with `#`."""
_OPENING = frozenset({"aria-expanded", "onclick", "role"})
_CONTROLLING = frozenset({*_NAMING, "href"})
_ATTRIBUTES = frozenset({"style", "hidden", "aria-hidden", "inert", "popover", "color"})
_CANVAS: Colour = (255, 255, 255)
_STATING = frozenset({"color", "background-color"})
_WORST = {"position": "absolute", "overflow": "hidden"}
"""What another rule may say of an element, so that declarations hide it which do not alone."""
_PICTURES = ("img", "picture", "video", "canvas", "svg")
_NOTHING_CLIPPED = re.compile(
    r"inset\(\s{0,9}(?:100|[5-9]\d)%|(?:circle|ellipse)\(\s{0,9}0(?:px|%)?[\s)]|"
    r"polygon\([0px%,\s]{1,200}\)|rect\([0px%,\s]{1,200}\)"
)
_PAINTS_BESIDE = re.compile(r":(?:before|after)[^{}]{0,200}\{[^{}]{0,2000}background")
_RECT = re.compile(r"rect\(([^()]*)\)")
_SCALED_AWAY = re.compile(r"scale(?:3d|x|y)?\(\s*0?\.?0*\s*[,)]|matrix\(\s*0\s*,\s*0\s*,\s*0\s*,\s*0\s*,")
_MOVED = re.compile(r"translate(?:3d|x|y)?\(([^()]*)\)")
_FAINT_FILTER = re.compile(r"opacity\(\s*(?:0?\.0[0-5]?\d*|0)%?\s*\)")


@dataclass(slots=True)
class _Findings:
    """Elements to remove, with whether only a rule hides them; which of them a script animates; elements whose own text
    is unseen, with whether only a rule says so and the test that ends it."""

    boxes: dict[Any, bool] = field(default_factory=dict)
    animated: set[Any] = field(default_factory=set)
    texts: list[tuple[Any, bool, Callable[[Declarations], bool | None]]] = field(default_factory=list)

    def without(self, is_left_out: Callable[[Any, bool], bool]) -> "_Findings":
        return _Findings(
            {box: ruled for box, ruled in self.boxes.items() if not is_left_out(box, ruled)},
            texts=[text for text in self.texts if not is_left_out(*text[:2])],
        )


def styles_of(root: Any) -> Styles:
    """The styles of a document, whose shadow trees are put in the place of what they hide."""
    trees = take_out(root)
    styles = Styles(root)
    put_in(trees)
    return styles


def drop_hidden(root: Any, known: Styles | None = None) -> bool:
    """Removes hidden elements and texts. True when what would hide too much of the page was ignored. `known`: the
    document's styles, if they were read before."""
    body = root.find("body")
    if body is None:
        return False
    styles = known or styles_of(root)
    found = _Search(root, styles).find()
    if not found.boxes and not found.texts:
        return styles.is_cut
    total = _text_chars(body)
    is_drawn_late = hides_too_much(_chars_of(found.animated & found.boxes.keys()), total)
    if is_drawn_late:
        animated = found.animated
        found = found.without(lambda box, _: box in animated)
    ruled = [box for box, is_ruled in found.boxes.items() if is_ruled]
    ruled_text = sum(_text_chars(element) for element, is_ruled, _ in found.texts if is_ruled)
    is_ignored = hides_too_much(_chars_of(ruled) + ruled_text, total)
    if is_ignored:
        found = found.without(lambda _, is_ruled: is_ruled)
    for element, _, ends in found.texts:
        _blank(element, ends, styles)
    outermost = _outermost(list(found.boxes))
    by_aria = {box for box in outermost if _is_hidden_by_aria(box)}
    is_decorative = not _has_more(by_aria, _MAX_ARIA_SHARE * total)
    removed: list[Any] = []
    for box in outermost:
        is_page = _has_more([box], max(_MAX_PAGE_SHARE * total, _MIN_PAGE_CHARS))
        if is_page or (box in by_aria and not is_decorative):
            is_ignored = is_ignored or box not in by_aria
        else:
            removed.append(box)
    remove_all(removed)
    return is_ignored or is_drawn_late or styles.is_cut


def _chars_of(boxes: Collection[Any]) -> int:
    return sum(map(_text_chars, _outermost(boxes)))


def _text_chars(box: Any) -> int:
    """Characters of text outside scripts and styles."""
    return text_size(box) - sum(map(text_size, box.iter("script", "style", "noscript", "template")))


def _has_more(boxes: Collection[Any], chars: float) -> bool:
    """Whether boxes hold more text outside scripts and styles. Most hold less with these, which is counted in C."""
    return sum(map(text_size, boxes)) > chars and sum(map(_text_chars, boxes)) > chars


def _outermost(boxes: Collection[Any]) -> list[Any]:
    members = set(boxes)
    return [box for box in boxes if members.isdisjoint(box.iterancestors())]


def _is_hidden_by_aria(box: Any) -> bool:
    return box.get("hidden") is None and (box.get("aria-hidden") is not None or box.get("inert") is not None)


def _blank(element: Any, ends: Callable[[Declarations], bool | None], styles: Styles) -> None:
    """Removes the text inside, except in elements whose own style shows it again."""
    stack = [element]
    while stack:
        box = stack.pop()
        box.text = None
        for child in box:
            child.tail = None
            if isinstance(child.tag, str) and ends(styles.of(child)) is not False:
                stack.append(child)


class _Search:
    """Finds what is hidden in one document."""

    def __init__(self, root: Any, styles: Styles) -> None:
        self._root, self._styles = root, styles
        self._grounds = _Grounds(root, styles)
        self._has_scripts = next(root.iter("script"), None) is not None
        self._controls: list[tuple[Any, list[str]]] = []
        self._openers: list[Any] = []
        self._targets: dict[str, list[Any]] | None = None

    def find(self) -> _Findings:
        found = _Findings()
        suspects = dict.fromkeys(self._root.iter("dialog"))
        for element in self._root.iter():
            names = element.keys()
            if names and not _ATTRIBUTES.isdisjoint(names):
                suspects[element] = None
            if names and not _CONTROLLING.isdisjoint(names):
                self._controls.append((element, names))
            if names and not _OPENING.isdisjoint(names):
                self._openers.append(element)
        colours = _page_colours(self._root, self._styles)
        suspects |= dict.fromkeys(self._styles.ruled(lambda style: _may_hide(style, *colours)))
        for element in suspects:
            if element.tag not in _NEVER and isinstance(element.tag, str):
                self._judge(element, found)
        if found.boxes or found.texts:
            self._keep_revealed(found)
        return found

    def _judge(self, element: Any, found: _Findings) -> None:
        style = self._styles.of(element)
        own = self._styles.own(element)
        if _hidden_by_attribute(element) and not (self._is_displayed(element, style) or _is_only_form(element)):
            found.boxes[element] = False
        elif not _hides_anywhere(tuple(style.items())):
            self._judge_colour(element, style, found)
        elif _hides_for_good(style):
            found.boxes[element] = not _hides_for_good(own)
        elif _hides_until_shown(style):
            found.boxes[element] = not _hides_until_shown(own)
            if self._has_scripts and _awaits_script(own):
                found.animated.add(element)
        else:
            for unseen in (_letters_unseen, _text_invisible):
                if unseen(style):
                    found.texts.append((element, not unseen(own), unseen))
            self._judge_colour(element, style, found)
        if element.tag == "font" and (stated := element.get("color")):
            self._judge_colour(element, {"color": stated}, found)

    def _is_displayed(self, element: Any, style: Declarations) -> bool:
        """Whether the page's style shows an element that an attribute hides: a `display` of the page wins over that of
        the browser's own sheet. False where a style sheet is linked, since its rules are not known."""
        shown = style.get("display", "none") not in ("none", "revert")
        is_aria = element.get("aria-hidden") is not None or element.get("inert") is not None
        return shown and not is_aria and not self._grounds.is_linked

    def _judge_colour(self, element: Any, style: Declarations, found: _Findings) -> None:
        if _STATING.isdisjoint(style):
            return
        text, (is_stated, ground) = _text_colour(style), _ground_of(element, style)
        if text is None and style.get("color", "inherit") == "inherit" and ground is not None:
            text = self._grounds.letters(element)
        if text is None:
            return
        in_doubt = False
        if text != TRANSPARENT:
            if not is_stated:
                ground, in_doubt = self._grounds.under(element)
            if ground is None or not same(text, ground):
                return
        is_ruled = element.tag != "font" and _STATING.isdisjoint(self._styles.own(element))
        found.texts.append((element, in_doubt or is_ruled, _states_colour))

    def _keep_revealed(self, found: _Findings) -> None:
        invisible = {element for element, _, ends in found.texts if ends is _text_invisible}
        openers = self._around_openers()
        kept = {
            box
            for box in (*found.boxes, *invisible)
            if not _hides_for_good(self._styles.of(box)) and self._is_revealed(box, found, invisible, openers)
        }
        found.boxes = {box: is_ruled for box, is_ruled in found.boxes.items() if box not in kept}
        found.texts = [text for text in found.texts if text[0] not in kept or text[2] is not _text_invisible]

    def _around_openers(self) -> set[Any]:
        """The controls that may open something, and the elements around them."""
        around: set[Any] = set()
        for element in (*self._root.iter("button", "summary", "label"), *self._openers):
            if _is_opener(element):
                box = element
                while box is not None and box not in around:
                    around.add(box)
                    box = box.getparent()
        return around

    def _is_revealed(self, box: Any, found: _Findings, invisible: set[Any], openers: set[Any]) -> bool:
        """Whether a visible control of the page reveals the box."""
        if (box.get("role") or "").strip().lower() == "tabpanel" or _follows_opener(box, found, openers):
            return True
        if _is_beside_mark(box):
            box.set("role", "doc-footnote")
            return True
        if _is_answer(box, found, invisible) or self._is_streamed(box):
            return True
        if self._targets is None:
            self._targets = self._controls_by_target()
        names = {f"#{box.get('id')}", *(f".{name}" for name in (box.get("class") or "").split())}
        return any(_is_seen(control, found) for name in names for control in self._targets.get(name, ()))

    def _is_streamed(self, box: Any) -> bool:
        """True for a part that React sends late and moves to its place: `<div hidden id="S:1">` for `B:1`."""
        name = box.get("id") or ""
        return name.startswith("S:") and bool(self._root.xpath("//*[@id=$name]", name=f"B:{name[2:]}"))

    def _controls_by_target(self) -> dict[str, list[Any]]:
        """The elements that name others, by what they name (`#id`, `.class`)."""
        controls: dict[str, list[Any]] = {}
        for control, names in self._controls:
            for name in (*_NAMING, "href"):
                for word in (control.get(name) or "").split() if name in names else ():
                    if word[0] in "#.":
                        controls.setdefault(word, []).append(control)
                    elif name in ("aria-controls", "popovertarget", "commandfor", "for"):
                        controls.setdefault(f"#{word}", []).append(control)
        return controls


def _page_colours(root: Any, styles: Styles) -> tuple[set[Colour], set[Colour]]:
    """(colours of texts, colours of grounds) that a page states somewhere."""
    texts, grounds = set[Colour](), {_CANVAS}
    for style in styles.declared():
        if (text := _text_colour(style)) is not None:
            texts.add(text)
        if (ground := first_colour(style.get("background-color", ""))) is not None:
            grounds.add(ground)
        if style.get("background-color") == "currentcolor":
            grounds |= texts
    grounds |= {ground for value in set(values_of("bgcolor", root)) if (ground := colour(value)) is not None}
    return texts, grounds


def _may_hide(style: Declarations, texts: set[Colour], grounds: set[Colour]) -> bool:
    """Whether declarations can hide an element, alone or with those of other rules."""
    if _hides_anywhere(tuple(style.items())):
        return True
    text, ground = colour(style.get("color")), first_colour(style.get("background-color", ""))
    if text is not None and (text == TRANSPARENT or any(same(text, each) for each in grounds)):
        return True
    is_of_text = style.get("background-color") == "currentcolor"
    return is_of_text or (ground is not None and any(same(each, ground) for each in texts))


@functools.lru_cache(maxsize=4_096)
def _hides_anywhere(declared: tuple[tuple[str, str], ...]) -> bool:
    style = dict(declared)
    worst = style | _WORST
    unseen = _letters_unseen(style) or _text_invisible(style)
    return bool(unseen) or _hides_for_good(worst) or _hides_until_shown(worst)


class _Grounds:
    """The colours around elements. A box with a class or an id may have others that are not known, where style sheets
    stand elsewhere or scripts run; so may one that stands over a picture."""

    def __init__(self, root: Any, styles: Styles) -> None:
        self._styles = styles
        sheets = [sheet.text or "" for sheet in root.iter("style")]
        self.is_linked = any("stylesheet" in (link.get("rel") or "") for link in root.iter("link")) or any(
            "@import" in sheet for sheet in sheets
        )
        schemes = [meta.get("content") or "" for meta in root.iter("meta") if meta.get("name") == "color-scheme"]
        is_dark = any("dark" in scheme for scheme in schemes) or any("color-scheme" in sheet for sheet in sheets)
        paints_beside = any(_PAINTS_BESIDE.search(sheet) for sheet in sheets)
        self._has_canvas = not (self.is_linked or is_dark or paints_beside)
        self._is_scripted = next(root.iter("script"), None) is not None
        self._known: dict[Any, tuple[Colour | None, bool]] = {}

    def under(self, element: Any) -> tuple[Colour | None, bool]:
        """(the ground under an element that states none, whether it is only the white of an empty page)."""
        path: list[Any] = []
        box = element
        while True:
            if box is None:
                found: tuple[Colour | None, bool] = (_CANVAS, True) if self._has_canvas else (None, True)
                break
            if box in self._known:
                found = self._known[box]
                break
            is_stated, ground = _ground_of(box, self._styles.of(box)) if box is not element else (False, None)
            path.append(box)
            if is_stated or self._stands_on_picture(box):
                found = ground, False
                break
            if self.is_linked and (box.get("class") or box.get("id")):
                found = None, True
                break
            box = box.getparent()
        for box in reversed(path):
            if found[1] and self._is_scripted and (box.get("class") or box.get("id")):
                found = None, True
            self._known[box] = found
        return found

    def _stands_on_picture(self, box: Any) -> bool:
        """Whether a picture of its box, or what follows it, is taken out of the flow: the text may stand on it."""
        pictures = list(box.iterchildren(*_PICTURES))
        beside = [each for picture in pictures for each in (picture, *picture.iterchildren("img"), picture.getnext())]
        return any(
            self._styles.of(each).get("position") in ("absolute", "fixed") for each in beside if each is not None
        )

    def letters(self, element: Any) -> Colour | None:
        """The colour of the text that the nearest box around an element states."""
        for box in element.iterancestors():
            style = self._styles.of(box)
            if "color" in style:
                return _text_colour(style)
            if self.is_linked and (box.get("class") or box.get("id")):
                return None
        return None


def _text_colour(style: Declarations) -> Colour | None:
    """The stated colour of the text; None where letters show a picture through them, or have a shadow that differs."""
    if style.get("background-clip") == "text":
        return None
    found = colour(style.get("color"))
    shadow = first_colour(style["text-shadow"]) if found and "text-shadow" in style else None
    return None if found and shadow and not same(found, shadow) else found


def _ground_of(box: Any, style: Declarations) -> tuple[bool, Colour | None]:
    """(whether the box states a ground, its colour). The colour is None for pictures and what is not known."""
    if style.get("background-image", "none") != "none" or box.get("background"):
        return True, None
    stated = style.get("background-color")
    if stated == "currentcolor":
        return True, _text_colour(style)
    if stated is None or stated in ("none", "inherit", "initial", "unset"):
        return (True, colour(box.get("bgcolor"))) if box.get("bgcolor") else (False, None)
    ground = first_colour(stated)
    return ground != TRANSPARENT, ground


def _states_colour(style: Declarations) -> bool | None:
    """False for an element with a colour or ground of its own: it is judged for itself."""
    return False if _STATING & style.keys() else None


def _is_opener(element: Any) -> bool:
    if not isinstance(element.tag, str):
        return False
    if element.tag in ("button", "summary"):
        return True
    if element.tag == "label":  # of a check box, by whose state a style opens what follows
        inputs = (*element.iter("input"), *element.itersiblings("input", preceding=True))
        return any((each.get("type") or "").lower() in ("checkbox", "radio") for each in inputs)
    names = element.keys()
    return bool(names) and ("aria-expanded" in names or "onclick" in names or element.get("role") in ("button", "tab"))


def _is_seen(control: Any, found: _Findings) -> bool:
    """True for a control with a label that is not hidden itself."""
    if control in found.boxes or not found.boxes.keys().isdisjoint(control.iterancestors()):
        return False
    return bool(len(control) or (control.text or "").strip() or control.get("aria-label") or control.get("value"))


def _follows_opener(box: Any, found: _Findings, openers: set[Any]) -> bool:
    """True for a box directly behind a control that opens something: a button, or a heading with one."""
    before = box.getprevious()
    if before is None or before not in openers or box.tag in ("button", "a", "span"):
        return False
    controls = [each for each in before.iter() if _is_opener(each)]
    return any(_is_seen(control, found) for control in controls[:3])


def _is_beside_mark(box: Any) -> bool:
    """True for a note inside a line, directly behind its number or inside the element of it, that a touch shows."""
    if box.tag not in ("span", "small") or not len(text_of(box).split()) > 1:
        return False
    before, around = box.getprevious(), box.getparent()
    if before is None:
        return around.tag not in BLOCKS and NOTE_MARK.fullmatch((around.text or "").strip()) is not None
    return not (before.tail or "").strip() and is_mark(before)


def _is_answer(box: Any, found: _Findings, invisible: set[Any]) -> bool:
    """True for the hidden end of one of several boxes of a kind that each begin with a visible line."""
    parent = box.getparent()
    if parent is None or box.getnext() is not None or not 0 < text_size(parent) - text_size(box) <= _LINE_CHARS:
        return False
    kind = (parent.tag, parent.get("class"))
    alike = 0
    for other in parent.getparent() if parent.getparent() is not None else ():
        if (other.tag, other.get("class")) == kind and len(other) > 1:
            alike += other[-1] in found.boxes or other[-1] in invisible
        if alike >= _ACCORDION_ITEMS:
            return True
    return False


def _hidden_by_attribute(element: Any) -> bool:
    value = element.get
    if (hidden := value("hidden")) is not None:
        return bool(hidden.strip().lower() != "until-found")
    if (value("aria-hidden") or "").strip().lower() == "true" or value("inert") is not None:
        return True
    return value("popover") is not None or (element.tag == "dialog" and value("open") is None)


def _is_only_form(element: Any) -> bool:
    """True for a `span` in a text that only `aria-hidden` hides, which the eye sees, and that has no other form for the
    ear beside it: a formula drawn with letters."""
    box = element.getparent()
    if element.tag != "span" or box is None or box.tag != "span":
        return False
    if any(element.get(name) is not None for name in ("hidden", "inert", "popover", "style")):
        return False
    return text_size(box) == text_size(element) and not box.get("aria-label")


def _is_at_most(value: float | None, bound: float) -> bool:
    return value is not None and value <= bound


def _hides_until_shown(style: Declarations) -> bool:
    """True when the element and all inside it are unseen in a way that a control of the page can undo."""
    return (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or _is_at_most(number(style.get("opacity", "1")), _FAINT)
        or bool(_FAINT_FILTER.search(style.get("filter", "")))
        or bool(_SCALED_AWAY.search(style.get("transform", "")))
        or _is_closed_box(style)
    )


def _is_closed_box(style: Declarations) -> bool:
    """A box without width or height that shows nothing of what overflows."""
    if style.get("overflow", "").partition(" ")[0] not in ("hidden", "clip"):
        return False
    sides = (style.get(name) for name in ("width", "height", "max-width", "max-height", "line-height"))
    return any(_is_at_most(pixels(side), _TINY_PX) for side in sides)


def _awaits_script(style: Declarations) -> bool:
    """True for the first frame of an animation that a script runs: displayed, transparent, and moved or blurred."""
    is_faint = _is_at_most(number(style.get("opacity", "1")), _FAINT)
    is_moved = not {"transform", "translate", "filter"}.isdisjoint(style)
    return is_faint and is_moved and style.get("display") != "none" and not _hides_for_good(style)


def _hides_for_good(style: Declarations) -> bool:
    """True when the element and all inside it are outside what people see: off the screen, clipped, indented away."""
    position = style.get("position")
    if position in ("absolute", "fixed", "relative", "sticky"):
        places = [pixels(style.get(name)) for name in ("left", "right", "top", "bottom")]
        if any(_is_at_most(place, -_AWAY_PX) for place in places):
            return True
        if any(place is not None and place >= 3 * _AWAY_PX for place in places[:2]):
            return True
    if any(_is_at_most(pixels(style.get(name)), -3 * _AWAY_PX) for name in ("margin-left", "margin-top")):
        return True
    indent = pixels(style.get("text-indent"))
    if indent is not None and (indent <= -_AWAY_PX or indent >= 3 * _AWAY_PX or _is_indented_out(style)):
        return True
    if position in ("absolute", "fixed") and _is_clipped(style.get("clip", "")):
        return True
    return bool(_NOTHING_CLIPPED.match(style.get("clip-path", ""))) or _is_moved_away(style)


def _is_indented_out(style: Declarations) -> bool:
    """A line that begins where its box ends, and shows nothing beyond it."""
    is_cut = style.get("overflow", "").partition(" ")[0] in ("hidden", "clip")
    return is_cut and style["text-indent"].endswith("%") and (number(style["text-indent"]) or 0) >= 1


def _is_clipped(clip: str) -> bool:
    match = _RECT.fullmatch(clip)
    sides = [] if match is None else [pixels(side) for side in re.split(r"[\s,]+", match[1].strip())]
    if len(sides) != 4 or None in sides:
        return False
    top, right, bottom, left = (side or 0.0 for side in sides)
    return bottom - top <= _TINY_PX or right - left <= _TINY_PX


def _is_moved_away(style: Declarations) -> bool:
    moves = [part for move in _MOVED.findall(style.get("transform", "")) for part in move.split(",")]
    distances = [pixels(part.strip()) for part in (*moves, *style.get("translate", "").split())]
    return any(distance is not None and abs(distance) > 1.1 * _AWAY_PX for distance in distances)


def _letters_unseen(style: Declarations) -> bool | None:
    """Whether letters are too small to be seen; None when the style does not say. Inherited."""
    size = style.get("font-size", "")
    length = pixels(size)
    if length is None:
        return False if size and "(" not in size and size not in ("inherit", "smaller", "larger") else None
    if size.endswith("%"):
        length *= 0.016  # of the usual 16 pixels
    is_relative = size.endswith(("em", "%")) and not size.endswith("rem")
    return True if length <= _TINY_PX else None if is_relative else False


def _text_invisible(style: Declarations) -> bool | None:
    """Whether `visibility` hides the text; None when the style does not say. Inherited."""
    value = style.get("visibility")
    return None if value is None or value == "inherit" else value in ("hidden", "collapse")
