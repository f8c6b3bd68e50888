"""Finds the elements whose attributes may hide them, colour them, or name others, in one pass over a document.

A predicate of XPath for each kind takes as long as the whole pass. Runs in the parsing processes.
"""

from typing import Any

from gateway.engines.html.selector_frames import mark

NAMING = ("aria-controls", "data-target", "data-bs-target", "popovertarget", "commandfor")
"""Attributes by which a control names what it reveals; `href` does it with `#`."""
OPENER = "self::button or @aria-expanded or @onclick or @role='button'"
"""Condition of XPath: a control that may open something."""
_OPENING = frozenset({"aria-expanded", "onclick"})
_MARKS = frozenset({"style", "hidden", "aria-hidden", "inert", "popover", "color"})
_READ = _MARKS | _OPENING | {*NAMING, "href", "bgcolor", "role"}


class MarkedElements:
    """In document order: `suspects` may be hidden by an attribute, `boxes` have a ground, `controls` name others,
    `openers` may open something (`OPENER`; some stand twice). `tags`: those of all elements."""

    def __init__(self, root: Any) -> None:
        self.suspects: list[Any] = []
        self.boxes: list[Any] = []
        self.controls: list[Any] = []
        self.openers: list[Any] = []
        self.tags: set[Any] = set()
        for element in root.iter():
            names = element.keys()
            tag = element.tag
            self.tags.add(tag)
            if tag == "button":
                self.openers.append(element)
            if (names and not _READ.isdisjoint(names)) or tag == "dialog":
                self._add(element, names)

    def _add(self, element: Any, names: list[str]) -> None:
        if not _MARKS.isdisjoint(names) or element.tag == "dialog":
            self.suspects.append(element)
        if not _OPENING.isdisjoint(names) or element.get("role") == "button":
            self.openers.append(element)
        if "bgcolor" in names:
            self.boxes.append(element)
        if (element.get("href") or "").startswith("#") or any(name in names for name in NAMING):
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
