"""Counts the values and the nesting of a JSON body before it is decoded, in slices that take a few milliseconds each.

The naive form decodes the body and walks it: 32 MB of tiny values take seconds and a gigabyte before the first one is
counted. Here strings are cut out by `bytes.split` and what remains is counted, all at C speed. Knows no JSON beyond
strings and the characters between values: a body that is no JSON is counted too, and refused by the decoder.
"""

from array import array
from collections.abc import Iterator
from itertools import accumulate

SLICE_BYTES = 1 << 17
"""Bytes that one slice splits at its quotes. Chosen: the worst slice (quotes alone) takes 4 ms; at half twice as many
turns of the loop for a long body, at double such a slice holds the loop for 8 ms."""
_COUNT_BYTES = 1 << 21
"""Bytes that one slice of the first look counts. Chosen: three counts of this size take 2 ms; at half twice as many
turns, at double twice the block."""
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""Brackets as signed bytes: one level down, one level up."""


class TooManyValues(Exception):
    """The body has at least `values` values, more than allowed."""

    def __init__(self, values: int) -> None:
        super().__init__(values)
        self.values = values


class TooDeep(Exception):
    """The body is nested deeper than allowed."""


def measure(raw: bytes, max_values: int, max_depth: int, slice_bytes: int = SLICE_BYTES) -> Iterator[int]:
    """Yields after each slice how many values there are at most so far. Raises TooManyValues, TooDeep.

    A value is the body itself, an item of a list or a member of an object; an empty list or object counts as two.
    """
    commas = brackets = 0
    for start in range(0, len(raw), _COUNT_BYTES):
        end = start + _COUNT_BYTES
        commas += raw.count(b",", start, end)
        brackets += raw.count(b"[", start, end) + raw.count(b"{", start, end)
        yield 1 + commas + brackets
    if brackets > max_depth or commas + brackets >= max_values:  # else even with those in strings there are few enough
        yield from _measure_outside_strings(raw, max_values, max_depth, slice_bytes)


def _measure_outside_strings(raw: bytes, max_values: int, max_depth: int, slice_bytes: int) -> Iterator[int]:
    values, depth, is_inside, start = 1, 0, False, 0
    while start < len(raw):
        end = _end_of_slice(raw, start, slice_bytes)
        text = raw[start:end]
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = text.split(b'"')
        outside = b"".join(pieces[is_inside::2])
        is_inside ^= len(pieces) % 2 == 0
        opened = outside.count(b"[") + outside.count(b"{")
        values += outside.count(b",") + opened
        if values > max_values:
            raise TooManyValues(values)
        deepest = depth + opened
        if opened and deepest > max_depth:
            steps = array("b", outside.translate(_STEPS, _NOT_BRACKETS))
            deepest = max(accumulate(steps, initial=depth))
        if deepest > max_depth:
            raise TooDeep
        depth += opened - outside.count(b"]") - outside.count(b"}")
        start = end
        yield values


def _end_of_slice(raw: bytes, start: int, slice_bytes: int) -> int:
    """The end of the slice that begins at `start`: never between a backslash and what it escapes."""
    end = start + slice_bytes
    if end >= len(raw) or raw[end - 1] != 0x5C:
        return end
    run_start = end - 1
    while run_start > start and raw[run_start - 1] == 0x5C:
        run_start -= 1
    return end + 1 if (end - run_start) % 2 else end
