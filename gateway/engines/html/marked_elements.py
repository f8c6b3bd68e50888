"""Finds the elements whose attributes may hide them, colour them, or name others, in one pass over a document.

A predicate of XPath for each kind takes as long as the whole pass. Runs in the parsing processes.
"""

from typing import Any

from gateway.engines.html.selector_frames import mark

NAMING = ("aria-controls", "data-target", "data-bs-target", "popovertarget", "commandfor")
"""Attributes by which a control names what it reveals; `href` does it with `#`."""
_NAMING = frozenset(NAMING)
OPENER = "self::button or @aria-expanded or @onclick or @role='button'"
"""Condition of XPath: a control that may open something."""
_OPENING = frozenset({"aria-expanded", "onclick"})
_MARKS = frozenset({"style", "hidden", "aria-hidden", "inert", "popover", "color"})
_READ = _MARKS | _OPENING | {*NAMING, "href", "bgcolor", "role"}


class MarkedElements:
    """`elements`: all, in document order. `suspects` may be hidden by an attribute, `boxes` have a ground, `controls`
    name others, `openers` may open something (`OPENER`; some stand twice). `tags`: those of all elements."""

    def __init__(self, root: Any) -> None:
        self.elements: list[Any] = list(root.iter())
        self.tags: set[Any] = {element.tag for element in self.elements}
        self.suspects: list[Any] = [box for box in root.iter("dialog") if _MARKS.isdisjoint(box.keys())]
        self.boxes: list[Any] = []
        self.controls: list[Any] = []
        self.openers: list[Any] = list(root.iter("button"))
        for element in self.elements:
            names = element.keys()
            if names and not _READ.isdisjoint(names):
                self._add(element, names)

    def _add(self, element: Any, names: list[str]) -> None:
        if not _MARKS.isdisjoint(names):
            self.suspects.append(element)
        if not _OPENING.isdisjoint(names) or ("role" in names and element.get("role") == "button"):
            self.openers.append(element)
        if "bgcolor" in names:
            self.boxes.append(element)
        if ("href" in names and element.get("href").startswith("#")) or not _NAMING.isdisjoint(names):
            self.controls.append(element)

    def values(self, name: str) -> set[str]:
        """The different values of `style`, `color` or `bgcolor`."""
        elements = self.boxes if name == "bgcolor" else self.suspects
        return {value for element in elements if (value := element.get(name)) is not None}

    def around_openers(self) -> set[Any]:
        """The controls that may open something, and the elements around them."""
        around: set[Any] = set()
        for control in self.openers:
            mark(control, " ", around)
            around.add(control)
        return around
