"""An element among its siblings and ancestors, as `selector_matcher` walks over them. Knows no rule."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gateway.engines.html.selector_parts import PlaceTest


@dataclass(slots=True)
class Frame:
    """An open element: its bits, those of it and its ancestors, and what its children have shown so far."""

    element: Any
    bits: int = 0
    inherited: int = 0
    last_child: int = 0
    children: int = 0
    count: int = 0
    tags: dict[str, int] | None = None
    totals: Counter[str] | None = None


def mark(element: Any, combinator: str, marked: set[Any]) -> None:
    """Marks the elements that `element` stands below or behind; what is marked has all beyond it marked too."""
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
