"""Finds the elements whose attributes may hide them, colour them, or name others, in one pass over a document.

A predicate of XPath for each kind takes as long as the whole pass. Runs in the parsing processes.
"""

from typing import Any

NAMING = ("aria-controls", "data-target", "data-bs-target", "popovertarget", "commandfor")
"""Attributes by which a control names what it reveals; `href` does it with `#`."""
_MARKS = frozenset({"style", "hidden", "aria-hidden", "inert", "popover", "color"})
_READ = _MARKS | {*NAMING, "href", "bgcolor"}


class MarkedElements:
    """In document order: `suspects` may be hidden by an attribute, `boxes` have a ground, `controls` name others."""

    def __init__(self, root: Any) -> None:
        self.suspects: list[Any] = []
        self.boxes: list[Any] = []
        self.controls: list[Any] = []
        for element in root.iter():
            names = element.keys()
            if (names and not _READ.isdisjoint(names)) or element.tag == "dialog":
                self._add(element, names)

    def _add(self, element: Any, names: list[str]) -> None:
        if not _MARKS.isdisjoint(names) or element.tag == "dialog":
            self.suspects.append(element)
        if "bgcolor" in names:
            self.boxes.append(element)
        if (element.get("href") or "").startswith("#") or any(name in names for name in NAMING):
            self.controls.append(element)
