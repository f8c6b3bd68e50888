"""JSON objects that are given out many times: what is large in them is packed once and dumped as it is."""

from typing import Any

import orjson

from gateway.domain import Json, ScanToken


class PackedJson(dict[str, Any]):
    """An object whose lists stay packed until `unpack`; orjson dumps it like any other.

    `scan_token`: the same in all copies of one object and nowhere else; None once it was unpacked, and may differ.
    `size` is that of its lists in bytes.
    """

    __slots__ = ("_packed", "scan_token")

    _packed: dict[str, bytes]
    scan_token: ScanToken | None

    @classmethod
    def of(cls, whole: Json) -> "PackedJson":
        """Raises TypeError when a text is no Unicode."""
        made = cls(whole)
        made._packed = {name: orjson.dumps(value) for name, value in whole.items() if isinstance(value, list)}
        made.update((name, orjson.Fragment(packed)) for name, packed in made._packed.items())
        made.scan_token = ScanToken()
        return made

    @property
    def size(self) -> int:
        return sum(map(len, self._packed.values()))

    def copy(self) -> "PackedJson":
        """Its members may be set anew without any other copy seeing it."""
        made = PackedJson(self)
        made._packed, made.scan_token = self._packed, self.scan_token
        return made

    def unpack(self) -> "PackedJson":
        """Turn this copy into a plain object, free to change at any depth."""
        self.update((name, orjson.loads(packed)) for name, packed in self._packed.items())
        self._packed, self.scan_token = {}, None
        return self
