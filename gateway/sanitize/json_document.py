"""JSON documents (arguments of tool calls) as slots: their strings, large numbers and property names are masked.

They stay JSON. Short texts of a document are scanned together, as a group of slots.
"""

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from gateway.texts import GroupSlot, TextSlot

_MIN_NUMBER, _MIN_PIN = 100_000_000, 1_000
"""Integers of fewer than nine digits are not scanned: counts, years and times would cost a scan each. But for passwords
by their name of four digits and more."""
_MAX_PIN_NAMES = 1_000
"""Different names of such numbers that are looked at in a document (20 ms); arrays of records repeat theirs."""
_MAX_DEPTH = 100
"""Deeper documents are scanned as plain text."""
_NAME_NAMES, _VALUE_NAMES = ("name", "key", "Name", "Key"), frozenset(("value", "Value"))
"""Members that hold the name of another one: `{"name": "API_TOKEN", "value": "x"}` as in lists of settings."""
_SHORT_CHARS, _GROUP_CHARS = 128, 4_096
"""Longer strings are scanned alone; and characters that are scanned together. As in `wire.field_rules`."""


class TooDeep(Exception):
    """The document is nested deeper than _MAX_DEPTH."""


class JsonDocument:
    """A JSON document as slots: `values` are its strings and large numbers, `names` those of the properties.

    Names and numbers are masked in lists of their own, and written back by `encoded`.
    """

    def __init__(self, text: str, where: str) -> None:
        """Raises orjson.JSONDecodeError and TooDeep."""
        self._root = [orjson.loads(text)]
        self.values: list[TextSlot] = []
        self.names: list[TextSlot] = []
        self._objects: list[tuple[dict[str, Any], list[str]]] = []
        self._numbers: list[tuple[Any, Any, list[str]]] = []
        self._passwords: dict[str, bool] = {}
        self._read(self._root, "", where, 0)

    def _read(self, holder: Any, list_name: str, where: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise TooDeep
        is_object = type(holder) is dict
        members: Iterable[tuple[Any, Any]] = holder.items() if is_object else enumerate(holder)
        if is_object:
            names = list(holder)
            self._objects.append((holder, names))
            self.names += [TextSlot(names, index, f"{where}: a key") for index in range(len(names))]
        for key, value in members:
            kind, name, path = type(value), key if is_object else list_name, where
            if is_object:
                path = f"{where}.{key if key.isidentifier() else '*'}"
            if is_object and key in _VALUE_NAMES:
                name = next((holder[each] for each in _NAME_NAMES if type(holder.get(each)) is str), name)
            if kind is str:
                self.values.append(TextSlot(holder, key, path, name=name))
            elif kind is int and (abs(value) >= _MIN_NUMBER or (abs(value) >= _MIN_PIN and self._is_password(name))):
                digits = [str(value)]
                self._numbers.append((holder, key, digits))
                self.values.append(TextSlot(digits, 0, path, name=name))
            elif kind is dict or kind is list:
                self._read(value, name, path, depth + 1)

    def _is_password(self, name: str) -> bool:
        """Whether a number of this name is one, of the first _MAX_PIN_NAMES names of numbers."""
        if name not in self._passwords:
            if len(self._passwords) == _MAX_PIN_NAMES:
                return False
            detector = importlib.import_module("gateway.sanitize.detectors.named_secrets")  # loaded at first use
            self._passwords[name] = detector.is_password_name(name)
        return self._passwords[name]

    def groups(self) -> Iterator[TextSlot]:
        """The slots, the short ones in groups; names apart: among many values to be masked, all beside them is."""
        for slots in (self.values, self.names):
            short, size = list[TextSlot](), 0
            for slot in slots:
                if len(slot.text) > _SHORT_CHARS:
                    yield slot
                    continue
                short.append(slot)
                size += len(slot.text) + len(slot.name) + 3
                if size > _GROUP_CHARS:
                    yield GroupSlot.of(short)
                    short, size = [], 0
            if short:
                yield GroupSlot.of(short)

    def encoded(self) -> str:
        """The document with what was masked in it. The order of an object's members stays."""
        for holder, key, digits in self._numbers:
            if digits[0] != str(holder[key]):
                holder[key] = digits[0]
        for each, names in self._objects:
            if names != [*each]:
                members = [*zip(names, each.values(), strict=True)]
                each.clear()
                each.update(members)
        return orjson.dumps(self._root[0]).decode()
