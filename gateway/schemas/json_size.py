"""Counts the values and the nesting of a JSON body before it is decoded, in slices that take a few milliseconds each,
and refuses one whose decoded values would take too many times its bytes.

The naive form decodes the body and walks it: 32 MB of tiny values take seconds and a gigabyte before the first one is
counted. Here strings are cut out by `bytes.split` and what remains is counted, all at C speed. Knows no JSON beyond
strings and the characters between values: a body that is no JSON is counted too, and refused by the decoder.
"""

import sys
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


_OBJECT_BYTES, _LIST_BYTES, _STRING_BYTES, _MEMBER_BYTES, _COMMA_BYTES = 184, 72, 56, 24, 24
_OBJECT_MEMBERS, _FURTHER_MEMBER_BYTES = 5, 80
"""What Python holds for an object of up to five members, a list, a string beside its characters, the name of a member
(orjson shares equal ones of small objects), the place of a value and a number; and for each further member its entry
and a name of its own (measured with CPython 3.11 and orjson)."""
_MOST_QUOTE_BYTES = (_MEMBER_BYTES + _FURTHER_MEMBER_BYTES) // 2
"""What a quote can stand for at most: half of a member's name. Colons are not counted in the first look."""
_MAX_TIMES, _FREE_BYTES = 8, 6_000_000
"""Decoded values may take so many times the body's bytes, and so much beside. Ordinary bodies take two to six times
theirs: they are texts. The second is chosen so that 20,000 values of any kind pass in a body of any size, and 35,000
text parts of two letters in one of 1 MB; at half those are refused, at double 1 MB of empty lists takes 20 MB."""


class TooManyValues(Exception):
    """The body has at least `values` values, more than allowed."""

    def __init__(self, values: int) -> None:
        super().__init__(values)
        self.values = values


class TooDense(Exception):
    """The body's `values` values would take about `need_bytes` of memory, more than `limit_bytes`."""

    def __init__(self, values: int, need_bytes: int, limit_bytes: int) -> None:
        super().__init__(values, need_bytes, limit_bytes)
        self.values, self.need_bytes, self.limit_bytes = values, need_bytes, limit_bytes


class TooDeep(Exception):
    """The body is nested deeper than allowed."""


def measure(raw: bytes, max_values: int, max_depth: int, slice_bytes: int = SLICE_BYTES) -> Iterator[int]:
    """Yields after each slice how many values there are at most so far. Raises TooManyValues, TooDeep, TooDense.

    A value is the body itself, an item of a list or a member of an object; an empty list or object counts as two.
    """
    seen = _Seen()
    for start in range(0, len(raw), _COUNT_BYTES):
        seen.add(raw, start, start + _COUNT_BYTES)
        yield seen.values
    limit_bytes = _MAX_TIMES * len(raw) + _FREE_BYTES
    # as many as there are with those in strings: if these are few enough, so are the true ones
    most_bytes = seen.memory_bytes(0) + _MOST_QUOTE_BYTES * seen.quotes
    if seen.brackets <= max_depth and seen.values <= max_values and most_bytes <= limit_bytes:
        return
    seen = _Seen()
    yield from _measure_outside_strings(raw, (max_values, max_depth, slice_bytes), seen)
    need_bytes = seen.memory_bytes(seen.quotes // 2 - seen.colons)
    if need_bytes > limit_bytes:
        raise TooDense(seen.values, need_bytes, limit_bytes)


class _Seen:
    """What was counted so far."""

    __slots__ = ("colons", "commas", "lists", "objects", "quotes")

    def __init__(self) -> None:
        self.commas = self.lists = self.objects = self.quotes = self.colons = 0

    def add(self, raw: bytes, start: int = 0, end: int = sys.maxsize) -> None:
        """Count in a part of the body."""
        self.commas += raw.count(b",", start, end)
        self.lists += raw.count(b"[", start, end)
        self.objects += raw.count(b"{", start, end)
        self.quotes += raw.count(b'"', start, end)

    @property
    def brackets(self) -> int:
        return self.lists + self.objects

    @property
    def values(self) -> int:
        return 1 + self.commas + self.brackets

    def memory_bytes(self, texts: int) -> int:
        """What the decoded values take beside the characters of `texts` strings."""
        containers = _OBJECT_BYTES * self.objects + _LIST_BYTES * self.lists
        further = _FURTHER_MEMBER_BYTES * max(0, self.colons - _OBJECT_MEMBERS * self.objects)
        members = _MEMBER_BYTES * self.colons + further
        return containers + _STRING_BYTES * texts + members + _COMMA_BYTES * self.commas


def _measure_outside_strings(raw: bytes, limits: tuple[int, int, int], seen: _Seen) -> Iterator[int]:
    max_values, max_depth, slice_bytes = limits
    depth, is_inside, start = 0, False, 0
    while start < len(raw):
        end = _end_of_slice(raw, start, slice_bytes)
        text = raw[start:end]
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = text.split(b'"')
        outside = b"".join(pieces[is_inside::2])
        is_inside ^= len(pieces) % 2 == 0
        opened = seen.brackets
        seen.add(outside)
        seen.quotes += len(pieces) - 1
        seen.colons += outside.count(b":")
        opened = seen.brackets - opened
        if seen.values > max_values:
            raise TooManyValues(seen.values)
        deepest = depth + opened
        if opened and deepest > max_depth:
            steps = array("b", outside.translate(_STEPS, _NOT_BRACKETS))
            deepest = max(accumulate(steps, initial=depth))
        if deepest > max_depth:
            raise TooDeep
        depth += opened - outside.count(b"]") - outside.count(b"}")
        start = end
        yield seen.values


def _end_of_slice(raw: bytes, start: int, slice_bytes: int) -> int:
    """The end of the slice that begins at `start`: never between a backslash and what it escapes."""
    end = start + slice_bytes
    if end >= len(raw) or raw[end - 1] != 0x5C:
        return end
    run_start = end - 1
    while run_start > start and raw[run_start - 1] == 0x5C:
        run_start -= 1
    return end + 1 if (end - run_start) % 2 else end
