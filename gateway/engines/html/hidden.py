"""Removes from a document what people cannot see, so that a model does not read it either.

Hidden is an element with `hidden`, `aria-hidden`, `inert`, a closed `dialog` or `popover`, or with a style that hides
(see `hiding`), from its attribute or from the rules of `style` elements (see `cascade`). Kept is what a control of the
page reveals: `details`, `hidden="until-found"`, tab panels, targets of visible buttons and links, what follows one.
A control reveals no text that is off the screen, clipped, too small, or of the colour of its ground. Style sheets
elsewhere are not fetched: what they hide stays. Runs in the parsing processes.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.answer.hidden_share import hides_too_much
from gateway.engines.html import colours, hiding
from gateway.engines.html.cascade import Cascade
from gateway.engines.html.css import Declarations
from gateway.engines.html.dom import remove_all, text_size
from gateway.engines.html.marked_elements import NAMING, OPENER, MarkedElements
from gateway.engines.html.page_colours import PageColours, may_hide
from gateway.engines.html.reachable_states import ReachableStates
from gateway.engines.html.selector_frames import mark
from gateway.engines.html.shadow_trees import flatten
from gateway.engines.html.surroundings import CANVAS, Surroundings

_MAX_ARIA_SHARE = 0.3
"""Share of a page's text up to which `aria-hidden` and `inert` are believed. Both alone hide nothing from the eye;
pages set them on all but an open dialog, and on links around their teasers. Chosen: as
for rules (hides_too_much)."""
_MAX_SCRIPTED_SHARE, _MIN_SCRIPTED_CHARS = 0.6, 2_000
"""One box that holds more of a page's text than both is the page itself, hidden until a script has run; it is read, and
the note says so. Chosen: at half the share long menus count as pages, at double (the whole page) none does; at half the
size a text could be smuggled into a short page, at double short articles come back empty."""
_ACCORDION_ITEMS = 3
"""Boxes of one kind, each with a visible line and a hidden last part, from which they are questions and answers that
open. Chosen: at half two hidden texts pass for it, at double short lists of questions lose their answers."""
_LINE_CHARS = 300
"""Longest visible line of such a box: a question. At half long ones are missed, at double paragraphs count."""
_MOST_OPENED = 8
"""Boxes inside one another that are opened for their drawings. Chosen: diagrams of syntax nest four deep. At half, the
innermost are lost; double only costs time."""
_NEVER = frozenset({"html", "body", "head", "main"})


@dataclass(slots=True)
class _Findings:
    """Elements to remove, with whether only a rule hides them; which of them a script animates; elements whose text
    alone is unseen, with the test that ends it."""

    boxes: dict[Any, bool] = field(default_factory=dict)
    animated: set[Any] = field(default_factory=set)
    texts: list[tuple[Any, bool, Callable[[Declarations], bool | None]]] = field(default_factory=list)

    def shown_animated(self) -> "_Findings":
        """The same without what a script would animate."""
        return _Findings(
            {box: ruled for box, ruled in self.boxes.items() if box not in self.animated}, texts=self.texts
        )


def drop_hidden(root: Any) -> bool:
    """Removes hidden elements and texts. True when the rules of its `style` elements were ignored because they would
    hide too much of the page, or partly because they are too many."""
    body = root.find("body")
    if body is None:
        return False
    flatten(root)
    marked = MarkedElements(root)
    styles = Cascade(root, marked)
    if not marked.suspects and not styles:
        return styles.is_cut
    walk = _Walk(root, styles, marked)
    found = walk.find()
    if not found.boxes and not found.texts:
        return styles.is_cut
    total = _text_chars(body)
    is_drawn_late = hides_too_much(_box_chars(found.animated & found.boxes.keys()), total)
    found = found.shown_animated() if is_drawn_late else found
    is_ignored = hides_too_much(_ruled_chars(found), total)
    if is_ignored:
        walk = _Walk(root, Cascade(root, marked, rules=False), marked)
        found = walk.find().shown_animated() if is_drawn_late else walk.find()
    for element, _, ends in found.texts:
        walk.blank(element, ends)
    outermost = _outermost(list(found.boxes))
    by_aria = {box for box in outermost if _is_hidden_by_aria(box)}
    is_decorative = not _has_more(by_aria, _MAX_ARIA_SHARE * total)
    removed: list[Any] = []
    for box in outermost:
        is_page = _has_more([box], max(_MAX_SCRIPTED_SHARE * total, _MIN_SCRIPTED_CHARS))
        if is_page or (box in by_aria and not is_decorative):
            is_ignored = is_ignored or box not in by_aria
        else:
            removed.append(box)
    remove_all(removed)
    return is_ignored or is_drawn_late or styles.is_cut


def _ruled_chars(found: "_Findings") -> int:
    """Characters that rules alone hide."""
    boxes = [box for box, is_ruled in found.boxes.items() if is_ruled]
    return _box_chars(boxes) + sum(_text_chars(element) for element, is_ruled, _ in found.texts if is_ruled)


def _box_chars(boxes: Collection[Any]) -> int:
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


class _Walk:
    """One pass over a document. `styles`: the rules that hold."""

    def __init__(self, root: Any, styles: Cascade, marked: MarkedElements) -> None:
        self._root = root
        self._styles = styles
        self._marked = marked
        self._surroundings = Surroundings(root, styles)
        self._states = ReachableStates([], [], styles)
        self._controls: dict[str, list[Any]] | None = None
        self._openers: set[Any] = set()

    def find(self) -> _Findings:
        """Everything that people cannot see."""
        found = _Findings()
        for element in self._suspects():
            if element.tag not in _NEVER:
                self._judge(element, found)
        if found.boxes or found.texts:
            self._keep_revealed(found)
        return found

    def _suspects(self) -> set[Any]:
        """The elements that an attribute or a rule may hide: a few of the page's thousands."""
        marked = set(self._marked.suspects)
        if not self._styles:
            return marked
        stated = [*map(self._styles.own_style, marked), *self._styles.declarations()]
        grounds = {colours.ground(style)[1] for style in stated}
        grounds |= {CANVAS, *(colours.colour(box.get("bgcolor")) for box in self._marked.boxes)}
        texts = {colours.text_colour(style) for style in stated}
        known = PageColours(colours.near(grounds), colours.near(texts))
        return marked | (self._styles.suspects(lambda style: may_hide(style, known)) - {self._root})

    def _keep_revealed(self, found: _Findings) -> None:
        self._openers = self._marked.around_openers()
        invisible = {element for element, _, ends in found.texts if ends is hiding.text_invisible}
        hidden = [*found.boxes, *invisible]
        self._states = ReachableStates(self._marked.elements, hidden, self._styles)
        revealed = {box for box in hidden if self._is_revealed(box, found, invisible)}
        kept = {box for box in revealed if not hiding.hides_for_good(self._styles.style(box))}
        kept |= _drawings_in_opened(self._root, found, kept, self._openers)
        found.boxes = {box: is_ruled for box, is_ruled in found.boxes.items() if box not in kept}
        found.texts = [text for text in found.texts if text[0] not in kept or text[2] is not hiding.text_invisible]

    def _judge(self, element: Any, found: _Findings) -> None:
        if hiding.hidden_by_attribute(element) and not self._is_displayed(element):
            found.boxes[element] = False
        elif style := self._styles.style(element):
            if hiding.hides_for_good(style):
                found.boxes[element] = not hiding.hides_for_good(self._styles.own_style(element))
            elif hiding.hides_until_shown(style):
                found.boxes[element] = not hiding.hides_until_shown(own := self._styles.own_style(element))
                if "script" in self._marked.tags and hiding.awaits_script(own):
                    found.animated.add(element)
            else:
                for unseen in (hiding.letters_unseen, hiding.text_invisible):
                    if unseen(style):
                        found.texts.append((element, not unseen(self._styles.own_style(element)), unseen))
                self._judge_colour(element, style, found)
        if element.tag == "font" and (stated := element.get("color")):
            self._judge_colour(element, {"color": stated}, found, by_attribute=True)

    def _is_displayed(self, element: Any) -> bool:
        """Whether the page's style shows an element that an attribute hides. False where a style sheet is linked, since
        its rules are not known."""
        return not self._surroundings.is_linked and hiding.shown_by_display(element, self._styles.style(element))

    def _judge_colour(self, element: Any, style: Declarations, found: _Findings, *, by_attribute: bool = False) -> None:
        text = colours.text_colour(style)
        stated, under = colours.ground(style)
        if text is None and under is not None:
            text = self._surroundings.letters(element)
        if text is None:
            return
        under = None if text == colours.TRANSPARENT else under if stated else self._surroundings.ground(element, style)
        if text == colours.TRANSPARENT or (under is not None and colours.same(text, under)):
            is_ruled = not by_attribute and not _STATING & self._styles.own_style(element).keys()
            in_doubt = under == CANVAS and self._surroundings.is_bare(element, style)
            found.texts.append((element, in_doubt or is_ruled, _states_colour))

    def blank(self, element: Any, ends: Callable[[Declarations], bool | None]) -> None:
        """Removes the text inside, except in elements whose own style shows it again."""
        stack = [element]
        while stack:
            box = stack.pop()
            box.text = None
            for child in box:
                child.tail = None
                if isinstance(child.tag, str) and ends(self._styles.style(child)) is not False:
                    stack.append(child)

    def _is_revealed(self, box: Any, found: _Findings, invisible: set[Any]) -> bool:
        """True when a control reveals the box."""
        if (box.get("role") or "").strip().lower() == "tabpanel" or _follows_button(box, found, self._openers):
            return True
        if _is_answer(box, found, invisible) or self._is_streamed(box) or self._states.show(box):
            return True
        if self._controls is None:
            self._controls = self._controls_by_target()
        names = {f"#{box.get('id')}", *(f".{name}" for name in (box.get("class") or "").split())}
        return any(_is_seen(control, found) for name in names for control in self._controls.get(name, ()))

    def _is_streamed(self, box: Any) -> bool:
        """True for a part that React sends late and moves to its place: `<div hidden id="S:1">` for `B:1`."""
        name = box.get("id") or ""
        return name.startswith("S:") and bool(self._root.xpath("//*[@id=$name]", name=f"B:{name[2:]}"))

    def _controls_by_target(self) -> dict[str, list[Any]]:
        """The elements that name others, by what they name (`#id`, `.class`)."""
        controls: dict[str, list[Any]] = {}
        for control in self._marked.controls:
            for name in (*NAMING, "href"):
                for word in (control.get(name) or "").split():
                    if word[0] in "#." or name in ("aria-controls", "popovertarget", "commandfor"):
                        controls.setdefault(word if word[0] in "#." else f"#{word}", []).append(control)
        return controls


_STATING = frozenset({"color", "background-color", "-webkit-text-fill-color"})


def _states_colour(style: Declarations) -> bool | None:
    """False for an element with a colour or ground of its own: it is judged for itself."""
    return False if _STATING & style.keys() else None


def _is_seen(control: Any, found: _Findings) -> bool:
    """True for a control with a label that is not hidden itself."""
    if control in found.boxes or not found.boxes.keys().isdisjoint(control.iterancestors()):
        return False
    return bool(len(control) or (control.text or "").strip() or control.get("aria-label") or control.get("value"))


def _follows_button(box: Any, found: _Findings, openers: set[Any]) -> bool:
    """True for a box directly behind a control that opens something: a button, or a heading with one."""
    before = box.getprevious()
    if before is None or before not in openers or box.tag in ("button", "a", "span"):
        return False
    controls = before.xpath(f"descendant-or-self::*[{OPENER}]")
    return any(_is_seen(control, found) for control in controls[:3])


def _drawings_in_opened(root: Any, found: _Findings, kept: set[Any], openers: set[Any]) -> set[Any]:
    """Boxes with a labelled drawing that a button opens inside a box which is opened itself, such as the diagrams of
    parts inside a diagram of syntax. Other boxes that open inside opened ones are mostly menus."""
    opened: set[Any] = set()
    drawn: set[Any] = set()
    for label in root.iter("text"):
        mark(label, " ", drawn)
    waiting = [box for box in found.boxes if box not in kept and box in drawn]
    for _ in range(_MOST_OPENED if waiting else 0):
        shut = _Findings({box: True for box in found.boxes if box not in kept and box not in opened})
        more = {box for box in waiting if box not in opened and _follows_button(box, shut, openers)}
        if not more:
            break
        opened |= more
    return opened


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
