"""An element among its siblings and ancestors, as `selector_matcher` walks over them. Knows no rule."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from gateway.engines.html.selector_parts import PlaceTest, Selector

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_MAX_KNOWN_BYTES = 20_000_000
"""Memory of what is remembered of equal elements. Chosen: at half long lists of rules are compared anew, at double a
parsing process grows by a tenth."""


class Remembered(dict[_Key, _Value]):
    """Answers for equal elements; all are forgotten when their keys, of so many bits each, take too much memory."""

    def keep(self, key: _Key, value: _Value, bits: int) -> None:
        if len(self) * (bits // 8 + 200) > _MAX_KNOWN_BYTES:
            self.clear()
        self[key] = value


@dataclass(slots=True)
class Frame:
    """An open element: the steps that it and its ancestors allow its children, and all below them; the bits of it and
    its ancestors; and what its children have shown so far."""

    element: Any
    steps: int
    below: int
    inherited: int = 0
    last_child: int = 0
    children: int = 0
    count: int = 0
    tags: dict[str, int] | None = None
    totals: Counter[str] | None = None

    def inside(self, element: Any, bits: int, firsts: int, joined: dict[str, int]) -> "Frame":
        """The frame of a child that has these bits. `firsts`: the steps that nothing need stand before; `joined`: those
        before the step that a combinator joins to them."""
        inherited, below = self.inherited | bits, self.below
        if inherited != self.inherited:
            below = firsts | (inherited & joined[" "]) << 1
        return Frame(element, below | (bits & joined[">"]) << 1 if bits else below, below, inherited)

    def add(self, child: Any) -> None:
        """Counts one more child."""
        self.count += 1
        self.tags = self.tags or {}
        self.tags[child.tag] = self.tags.get(child.tag, 0) + 1


def elements_before(found: list[set[Any]], selector: Selector) -> tuple[set[Any], int]:
    """The elements that match a `:has()` with this selector, and the number of elements examined. `found`: for each
    step of the selector, the elements that match it."""
    ahead: set[Any] = set()
    work = 0
    for number in reversed(range(len(found))):
        matched = found[number] & ahead if number < len(found) - 1 else found[number]
        ahead = set()
        for element in matched:
            mark(element, selector.steps[number].combinator, ahead)
        work += len(matched)
    return ahead, work


def with_boxes(elements: Iterable[Any], *, with_siblings: bool) -> set[Any]:
    """The elements and those around them, and with siblings those that stand before any of these."""
    found: set[Any] = set()
    for element in elements:
        mark(element, " ", found)
        found.add(element)
    if with_siblings:
        for element in list(found):
            mark(element, "~", found)
    return found


def mark(element: Any, combinator: str, marked: set[Any]) -> None:
    """Adds the ancestors or preceding siblings of `element` to `marked`, up to the first that is already there."""
    upwards = combinator in (" ", ">")
    box = element.getparent() if upwards else element.getprevious()
    while box is not None and box not in marked:
        marked.add(box)
        if combinator in (">", "+"):
            break
        box = box.getparent() if upwards else box.getprevious()


def stands_in(test: PlaceTest, element: Any, frame: Frame) -> bool:
    """Whether an element has the place; `frame` is that of its parent."""
    place, total = (frame.tags or {}).get(element.tag, 0) if test.of_type else frame.count, 0
    if test.from_end:
        if frame.totals is None:
            siblings = [element] if frame.element is None else frame.element
            frame.totals = Counter(each.tag for each in siblings)
            frame.totals[""] = frame.totals.total()
        total = frame.totals[element.tag if test.of_type else ""]
    return stands(test, (place, total))


def stands(test: PlaceTest, found: tuple[int, int] | None) -> bool:
    """Whether a place, and the number of all, are those of the test; None has no place."""
    if found is None:
        return False
    place = found[1] + 1 - found[0] if test.from_end else found[0]
    beyond = place - test.first
    return beyond == 0 if not test.step else beyond % test.step == 0 and beyond // test.step >= 0


def places_among(elements: set[Any], root: Any) -> dict[Any, tuple[int, int]]:
    """The place of each of the elements among those of them that are its siblings, and how many these are."""
    places: dict[Any, tuple[int, int]] = {}
    for parent in {element.getparent() for element in elements}:
        siblings = [element for element in (parent if parent is not None else [root]) if element in elements]
        places.update((each, (at, len(siblings))) for at, each in enumerate(siblings, 1))
    return places
