"""Slots of property names. Renaming one takes the slot of its value along. Knows no walk and no detector."""

from collections.abc import MutableMapping
from typing import Any

from gateway.texts import Form, TextSlot

_MOST_IN_PLACE = 64
"""Members of an object in which a renamed property keeps its place, for which the object is filled anew. Chosen: what
people read has fewer. In a larger one the property becomes the last: with many names to mask the time would grow
with the square of their number (4,000 keys as names: 4.4 s, measured 2026-11-22)."""


class PropertyNames:
    """What the slots of one body's property names have in common. `values`: the slot of a property's value, by the
    identity of the object and the name, where the name may be masked and the value is looked at alone."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, str], TextSlot] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def rename(self, holder: MutableMapping[str, Any], name: str, wanted: str) -> str:
        """Renames a property and returns its new name: `wanted`, with a number behind it where that name is taken."""
        new = wanted
        if new in holder:
            number = self._numbers.get((id(holder), wanted), 2)
            while (new := f"{wanted}_{number}") in holder:
                number += 1
            self._numbers[id(holder), wanted] = number + 1
        if len(holder) > _MOST_IN_PLACE:
            holder[new] = holder.pop(name)
        else:
            members = [(new if key == name else key, member) for key, member in holder.items()]
            holder.clear()
            holder.update(members)
        value = self.values.pop((id(holder), name), None)
        if value is not None:
            value.key = new
            self.values[id(holder), new] = value
        return new


class KeySlot(TextSlot):
    """A property name. Setting it renames the property."""

    __slots__ = ("_names",)

    _names: PropertyNames

    @classmethod
    def of(cls, holder: MutableMapping[str, Any], name: str, where: str, form: Form, names: PropertyNames) -> "KeySlot":
        """The slot of one name. `names`: those of the same body."""
        slot = cls(holder, name, where, form, name="text")
        slot._names = names
        return slot

    @property
    def text(self) -> str:
        return str(self.key)

    @text.setter
    def text(self, value: str) -> None:
        if value != self.key and isinstance(self.holder, dict):
            self.key = self._names.rename(self.holder, self.key, value)
