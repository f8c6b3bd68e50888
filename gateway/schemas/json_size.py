"""Counts the values and the nesting of a JSON body before it is decoded, in slices that take a few milliseconds each,
and refuses one whose decoded values would take too many times its bytes.

The naive form decodes the body and walks it: 32 MB of tiny values take seconds and a gigabyte before the first one is
counted. Here strings are cut out by `bytes.split` and what remains is counted, all at C speed. Knows no JSON beyond
strings and the characters between values: a body that is no JSON is counted too, and refused by the decoder.
"""

import re
import sys
from array import array
from collections.abc import Iterator
from itertools import accumulate

from gateway.resilience.freed_memory import give_back

SLICE_BYTES = 1 << 17
"""Bytes that one slice splits at its quotes. Chosen: the worst slice (quotes alone) takes 4 ms, and as long again where
its strings are counted, in a turn of its own; at half equal names are counted more often than they are made, at double
such a slice holds the loop for 8 ms."""
_COUNT_BYTES = 1 << 21
"""Bytes that one slice of the first look counts. Chosen: three counts of this size take 2 ms; at half twice as many
turns, at double twice the block."""
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""Brackets as signed bytes: one level down, one level up."""


_OBJECT_BYTES, _LIST_BYTES, _STRING_BYTES, _WIDE_STRING_BYTES, _PLACE_BYTES, _NUMBER_BYTES = 232, 88, 58, 88, 8, 32
_OBJECT_MEMBERS, _FURTHER_MEMBER_BYTES, _UNUSED_BYTES = 5, 50, 168
"""What Python holds for an object of up to five members (184 bytes; 48 stand for what a translation to another
interface copies of it), a list, a string beside its characters (the second if the body is not ASCII), a list's place
for a value, a number that is no small integer, each further member of an object, and what an object without members
does not have (measured with CPython 3.11 and orjson). Equal names and short strings are one where they are near each
other."""
_MOST_QUOTE_BYTES = (_FURTHER_MEMBER_BYTES + _WIDE_STRING_BYTES) // 2
"""What a quote can stand for at most: half of a member and its name. Colons are not counted in the first look."""
MAX_TIMES, FREE_BYTES = 6.9, 6_000_000
"""Decoded values may take so many times the body's bytes; a body for which that is less than the second may take that.
Chosen: beside them there is the body or its JSON for the upstream, so that a body of 1 MB takes less than eight times
its bytes. Texts take one to two times theirs, ids of tokens six times. The second lets 20,000 values of any kind pass
in a body of any size; at half those are refused, at double 1 MB takes thirteen times its bytes."""
_SHARED_NAMES = 2_048
"""orjson remembers so many names of members."""
SHARED_CHARS, MAX_WORDS = 16, 8_192
"""Which strings `wire.json_pieces` shares, and how many it remembers."""
_LARGE_NUMBER = re.compile(
    rb"[-+.0-9eE]{4,}+|[3-9][0-9]{2}|2(?:[6-9][0-9]|5[7-9])|-(?:[1-9][0-9]|[6-9])|[0-9][.eE][0-9]"
)
"""A number that is an object of its own: Python shares the integers from -5 to 256."""


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


def measure(raw: bytes | bytearray, max_values: int, max_depth: int, slice_bytes: int = SLICE_BYTES) -> Iterator[int]:
    """Yields after each slice how many values there are at most so far. Raises TooManyValues, TooDeep, TooDense.

    A value is the body itself, an item of a list or a member of an object; an empty list or object counts as two.
    """
    seen = _Seen()
    for start in range(0, len(raw), _COUNT_BYTES):
        seen.add(raw, start, start + _COUNT_BYTES)
        yield seen.values
    limit_bytes = max(FREE_BYTES, int(MAX_TIMES * len(raw)))
    # as many as there are with those in strings: if these are few enough, so are the true ones
    most_bytes = len(raw) + seen.containers_bytes() + _MOST_QUOTE_BYTES * seen.quotes + _NUMBER_BYTES * seen.values
    if seen.brackets <= max_depth and seen.values <= max_values and most_bytes <= limit_bytes:
        return
    is_sparse = most_bytes <= limit_bytes
    outside = _Outside(is_ascii=is_sparse or (raw.isascii() and b"\\u" not in raw))
    for _ in _measure_outside_strings(raw, (max_values, max_depth, slice_bytes), outside, is_exact=not is_sparse):
        yield outside.values
    need_bytes = outside.memory_bytes()
    if need_bytes > limit_bytes:
        raise TooDense(outside.values, need_bytes, limit_bytes)


class _Seen:
    """What was counted so far."""

    __slots__ = ("commas", "lists", "objects", "quotes")

    def __init__(self) -> None:
        self.commas = self.lists = self.objects = self.quotes = 0

    def add(self, raw: bytes | bytearray, start: int = 0, end: int = sys.maxsize) -> None:
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

    def containers_bytes(self) -> int:
        """What the lists, the objects and the places in them take."""
        return _OBJECT_BYTES * self.objects + _LIST_BYTES * self.lists + _PLACE_BYTES * self.commas


class _Outside(_Seen):
    """What was counted outside strings, of bodies that may be dense. `chars`: the bytes in strings."""

    __slots__ = ("_string_bytes", "chars", "colons", "empty_objects", "numbers", "strings")

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__()
        self.colons = self.empty_objects = self.strings = self.numbers = self.chars = 0
        self._string_bytes = _STRING_BYTES if is_ascii else _WIDE_STRING_BYTES

    def add_exactly(self, outside: bytes, pieces: list[bytes], first: int) -> None:
        """Count what `add` does not. `pieces[first]` is the first string of the slice."""
        self.colons += outside.count(b":")
        self.empty_objects += outside.count(b"{}")
        self.numbers += sum(map(bool, _LARGE_NUMBER.finditer(outside)))
        self.chars += sum(map(len, pieces)) - len(outside)
        names: list[bytes] = []
        values: list[bytes] = []
        for text, after in zip(pieces[first::2], pieces[first + 1 :: 2], strict=False):
            (values if after[:1] in b",]}" else names).append(text)
        short = [text for text in values if len(text) <= SHARED_CHARS]
        self.strings += len(values) - len(short) + _different(short, MAX_WORDS) + _different(names, _SHARED_NAMES)

    def memory_bytes(self) -> int:
        """What the decoded values take."""
        full = self.objects - self.empty_objects
        further = _FURTHER_MEMBER_BYTES * max(0, self.colons - _OBJECT_MEMBERS * full)
        values = self._string_bytes * self.strings + _NUMBER_BYTES * self.numbers + self.chars
        return self.containers_bytes() - _UNUSED_BYTES * self.empty_objects + further + values


def _different(texts: list[bytes], remembered: int) -> int:
    """How many strings are made of these, when so many are remembered and used again."""
    return sum(len(set(texts[start : start + remembered])) for start in range(0, len(texts), remembered))


def _measure_outside_strings(
    raw: bytes | bytearray, limits: tuple[int, int, int], seen: _Outside, *, is_exact: bool
) -> Iterator[None]:
    max_values, max_depth, slice_bytes = limits
    depth, is_inside, start = 0, False, 0
    while start < len(raw):
        end = _end_of_slice(raw, start, slice_bytes)
        text = bytes(memoryview(raw)[start:end])
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = text.split(b'"')
        del text
        outside = b"".join(pieces[is_inside::2])
        opened = seen.brackets
        seen.add(outside)
        if is_exact:
            yield
            seen.add_exactly(outside, pieces, 0 if is_inside else 1)
        is_inside ^= len(pieces) % 2 == 0
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
        del pieces, outside  # else the next slice's stand beside them
        if is_exact:
            give_back()  # glibc would take other holes of the heap for the next slice's: 1 MB more for each
        yield


def _end_of_slice(raw: bytes | bytearray, start: int, slice_bytes: int) -> int:
    """The end of the slice that begins at `start`: never between a backslash and what it escapes."""
    end = start + slice_bytes
    if end >= len(raw) or raw[end - 1] != 0x5C:
        return end
    run_start = end - 1
    while run_start > start and raw[run_start - 1] == 0x5C:
        run_start -= 1
    return end + 1 if (end - run_start) % 2 else end
