"""Strings that a pattern may be slow on, derived from the pattern itself.

A pattern tells characters apart by its literals, ranges and categories; two characters that it puts into the same ones
are alike to it, so one representative of each class stands for all. `units` gives what is repeated: representatives,
pairs of them, and the beginnings of strings that the pattern matches, alone and with a representative behind.
"""

import functools
import re
from collections.abc import Iterator
from re import _constants as op  # type: ignore[attr-defined]  # the standard library's own parser of patterns
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from bench.pattern_finder import AnyPattern

_MOST_CLASSES = 14
"""Of one pattern in the suite. At half, patterns of many literals lose pairs; at double, four times the pairs."""
_MOST_BEGINNINGS = 24
_WAYS = 24
"""Chosen together for a run of under 40 s: ways through the branches of a pattern, and beginnings kept of them. At half
long lists of alternatives are seen in part; at double the run takes twice as long."""
_KEPT_CHARS = 1_024
"""Answers kept of what a part of one character matches: twice as many as the product's patterns have such parts (465).
At half some are compiled again for each way; at double nothing more is kept."""
_PROBES = [*map(chr, range(128)), *"\u00e9\u00a0\u0130\u017f\u212a\u2028\u4e00\ud800"]
_OUTSIDE = "\x01"


def classes(pattern: AnyPattern) -> list[str]:
    """One representative of each class of characters that the pattern tells apart."""
    tests = list(_char_tests(_parser.parse(pattern.pattern, pattern.flags), pattern))
    probes = dict.fromkeys([*_literals(pattern), *_PROBES])
    by_class: dict[tuple[bool, ...], str] = {}
    for char in probes:
        if isinstance(pattern.pattern, bytes) and ord(char) > 255:
            continue
        text = char.encode("latin-1") if isinstance(pattern.pattern, bytes) else char
        by_class.setdefault(tuple(test.match(text) is not None for test in tests), char)
    return list(by_class.values())


def _literals(pattern: AnyPattern) -> Iterator[str]:
    for code, value in _nodes(_parser.parse(pattern.pattern, pattern.flags)):
        if code in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif code is op.IN:
            for kind, what in value:
                if kind is op.LITERAL:
                    yield chr(what)
                elif kind is op.RANGE:
                    yield from (chr(what[0]), chr(what[1]))


def _char_tests(parsed: Any, pattern: AnyPattern) -> Iterator[Any]:
    """A pattern of one character for each part that matches a single character."""
    flags = pattern.flags & (re.IGNORECASE | re.ASCII | re.DOTALL)
    done = set()
    for code, value in _nodes(parsed):
        if code in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY, op.CATEGORY):
            source = _one_char(code, value)
            if source not in done:
                done.add(source)
                yield re.compile(source.encode("latin-1") if isinstance(pattern.pattern, bytes) else source, flags)
    yield re.compile(rb"\w" if isinstance(pattern.pattern, bytes) else r"\w")


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _one_char(code: Any, value: Any) -> str:
    if code is op.LITERAL:
        return re.escape(chr(value))
    if code is op.NOT_LITERAL:
        return "[^" + re.escape(chr(value)) + "]"
    if code is op.ANY:
        return "."
    if code is op.CATEGORY:
        return _CATEGORIES[value]
    inside = ""
    for kind, what in value:
        if kind is op.NEGATE:
            inside += "^"
        elif kind is op.LITERAL:
            inside += re.escape(chr(what))
        elif kind is op.RANGE:
            inside += re.escape(chr(what[0])) + "-" + re.escape(chr(what[1]))
        else:
            inside += _CATEGORIES[what]
    return f"[{inside}]"


def _nodes(parsed: Any) -> Iterator[tuple[Any, Any]]:
    for code, value in parsed:
        yield code, value
        for inner in below(code, value):
            yield from _nodes(inner)


def below(code: Any, value: Any) -> list[Any]:
    """The patterns that a part holds."""
    if code is op.BRANCH:
        return list(value[1])
    if code is op.SUBPATTERN:
        return [value[3]]
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [value[2]]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    if code is op.ATOMIC_GROUP:
        return [value]
    if code is op.GROUPREF_EXISTS:
        return [each for each in value[1:] if each is not None]
    return []


def beginnings(pattern: AnyPattern) -> list[str]:
    """Beginnings of strings that the pattern matches: ways through its branches, with and without what is optional, cut
    wherever something other than a literal follows."""
    found: dict[str, None] = {}
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    for way in range(_WAYS):
        text = ""
        for part in _example(parsed, way, pattern):
            text += part
            if text:
                found.setdefault(text)
    ordered = sorted(found, key=len)
    step = -(-len(ordered) // _MOST_BEGINNINGS) or 1
    return list(dict.fromkeys([*ordered[::step], *ordered[-1:]]))


def _example(parsed: Any, way: int, pattern: AnyPattern) -> Iterator[str]:
    """The parts of a string that the parsed pattern may match. `way` chooses: its parity whether optional parts are
    there, its other bits among branches."""
    literal = ""
    for code, value in parsed:
        if code is op.LITERAL:
            literal += chr(value)
            continue
        if literal:
            yield literal
            literal = ""
        if code in (op.NOT_LITERAL, op.IN, op.ANY, op.CATEGORY):
            yield _char_of(code, value, pattern)
        elif code is op.BRANCH:
            branches = value[1]
            yield from _example(branches[way // 2 % len(branches)], way, pattern)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            for _ in range(max(value[0], way % 2 if value[1] else 0)):
                yield from _example(value[2], way, pattern)
        elif code in (op.SUBPATTERN, op.ATOMIC_GROUP):
            yield from _example(below(code, value)[0], way, pattern)
    if literal:
        yield literal


def _char_of(code: Any, value: Any, pattern: AnyPattern) -> str:
    flags = pattern.flags & (re.IGNORECASE | re.ASCII | re.DOTALL)
    return _first_char(_one_char(code, value), flags, isinstance(pattern.pattern, bytes))


@functools.lru_cache(_KEPT_CHARS)
def _first_char(source: str, flags: int, as_bytes: bool) -> str:
    """The first character that a pattern of one character matches."""
    test: Any = re.compile(source.encode("latin-1") if as_bytes else source, flags)
    chars = [char for char in ["a", "Z", "0", " ", *_PROBES] if not as_bytes or ord(char) < 256]
    return next((char for char in chars if test.match(char.encode("latin-1") if as_bytes else char)), _OUTSIDE)


def units(pattern: AnyPattern, most_classes: int = _MOST_CLASSES) -> list[str]:
    """What is repeated."""
    return _units(classes(pattern), beginnings(pattern), most_classes)


def _units(kinds: list[str], starts: list[str], most_classes: int) -> list[str]:
    some = _some(kinds, most_classes)
    found = [*kinds, *(one + other for one in some for other in some if one != other), *starts]
    found += [start + char for start in starts[-3:] for char in some]
    return list(dict.fromkeys(found))


def _some(kinds: list[str], most_classes: int) -> list[str]:
    return kinds[:: max(1, -(-len(kinds) // most_classes))]


def texts(pattern: AnyPattern, most_classes: int = _MOST_CLASSES) -> Iterator[tuple[str, str, str]]:
    """(prefix, unit, suffix): the text is the prefix, the unit again and again, and the suffix, a near miss."""
    starts = beginnings(pattern)
    kinds = classes(pattern)
    some = _some(kinds, most_classes)
    for unit in _units(kinds, starts, most_classes):
        yield "", unit, _OUTSIDE
    for start in starts:
        for char in some:
            yield start, char, ""
            yield start, char, _OUTSIDE
