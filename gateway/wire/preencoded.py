"""JSON that is remembered in no more memory than its length, and objects whose lists are encoded once."""

from typing import Any

import orjson

from gateway.domain import Json
from gateway.texts import ScanToken


def snug(encoded: bytes) -> bytes:
    """The same bytes in an object of just their size. For whatever `orjson.dumps` made and a cache keeps.

    orjson 3.13 gives out the buffer in which it wrote: 3 times the JSON of short values, 13 times that of a long string
    (`malloc_usable_size`, read 2026-11-23), so that a cache of 32 MB by its own count held 130.
    """
    return bytes(memoryview(encoded))


class PackedJson(dict[str, Any]):
    """An object whose lists stay encoded until `unpack`. The naive form is a deep copy: orjson dumps both alike.

    `scan_token` is shared by all copies of one object and by nothing else; `unpack` sets it to None, since the copy may
    be changed then. With it an answer that was scanned clean is neither unpacked nor scanned again: without it a keyed,
    sanitized, cached search of ten results takes twice the instructions (cachegrind over 1,500 requests, 2026-11-22).
    """

    __slots__ = ("_packed", "scan_token")

    _packed: dict[str, bytes]
    scan_token: ScanToken | None

    @classmethod
    def of(cls, whole: Json) -> "PackedJson":
        """A packed copy of an object. Raises TypeError when a string is not valid Unicode."""
        copy = cls(whole)
        copy._packed = {name: snug(orjson.dumps(value)) for name, value in whole.items() if isinstance(value, list)}
        copy.update((name, orjson.Fragment(packed)) for name, packed in copy._packed.items())
        copy.scan_token = ScanToken()
        return copy

    @property
    def size(self) -> int:
        """Bytes of the encoded lists."""
        return sum(map(len, self._packed.values()))

    def copy(self) -> "PackedJson":
        """A shallow copy: setting its members changes no other copy."""
        copy = PackedJson(self)
        copy._packed, copy.scan_token = self._packed, self.scan_token
        return copy

    def unpack(self) -> "PackedJson":
        """Decode the lists, in place: this copy may be changed at any depth from here on. Returns itself."""
        self.update((name, orjson.loads(packed)) for name, packed in self._packed.items())
        self._packed, self.scan_token = {}, None
        return self
