"""Where the brackets and commas of a part of a JSON document are, without those in its strings. Decodes nothing."""

import re
from array import array
from collections import deque
from itertools import accumulate, islice

_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_BRACKET = re.compile(rb"[\[\]{}]")


class Window:
    """A part of a document that begins outside strings, without what is in them.

    `levels`: after each bracket, how many more were opened than closed.
    """

    __slots__ = ("_outside", "_pieces", "levels")

    def __init__(self, text: bytes) -> None:
        if b"\\" in text:
            text = text.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\0\0")
        self._pieces = text.split(b'"')
        self._outside = b'"'.join(self._pieces[::2])
        self.levels = list(accumulate(array("b", self._outside.translate(_STEPS, _NOT_BRACKETS))))

    def bracket(self, number: int) -> tuple[int, bytes]:
        """The place of a bracket in the document's part, and the bracket."""
        found = next(islice(_BRACKET.finditer(self._outside), number, None))
        return self._place(found.start()), found[0]

    def last_comma(self) -> int | None:
        """The place of the last comma at level 0; None when there is none."""
        outside, levels = self._outside, self.levels
        if 0 not in levels:
            first = _BRACKET.search(outside)
            return self._comma_in(0, first.start() if first else len(outside))
        above = levels[::-1].index(0)  # brackets after the last one that leads back to level 0
        brackets = _BRACKET.finditer(outside[::-1])
        end = len(outside) - deque(islice(brackets, above), 1)[0].start() if above else len(outside)
        for bracket, level in zip(brackets, islice(reversed(levels), above, None), strict=True):
            start = len(outside) - bracket.start()
            if level == 0 and (comma := self._comma_in(start, end)) is not None:
                return comma
            end = start
        return self._comma_in(0, end)

    def _comma_in(self, start: int, end: int) -> int | None:
        comma = self._outside.rfind(b",", start, end)
        return None if comma < 0 else self._place(comma)

    def _place(self, at: int) -> int:
        strings = self._outside.count(b'"', 0, at)
        return at + strings + sum(map(len, islice(self._pieces, 1, 2 * strings, 2)))
