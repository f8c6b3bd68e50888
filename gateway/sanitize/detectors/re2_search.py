"""Searching with RE2 where matches stand close: the place alone, at half the cost of a match object.

Knows one thing about the `re2` package that it does not promise: what its matcher is called. Where it is not there,
the package's own search serves.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import re2

Pattern: TypeAlias = re2._Regexp
"""A compiled pattern, as `re2.compile` returns it: the package gives its class no public name."""
Search: TypeAlias = Callable[[bytes, int], tuple[int, int]]
"""(text, from where) -> [start, end) of the first match; a start below 0 for none."""
SearchWithin: TypeAlias = Callable[[bytes, int, int], tuple[int, int]]
"""(text, from where, up to where) -> the same."""
_NOWHERE = (-1, -1)


def searcher(pattern: Pattern) -> Search:
    matcher, anchor = _unpromised(pattern)
    if matcher is None:
        return lambda text, at: match.span() if (match := pattern.search(text, at)) else _NOWHERE
    return lambda text, at: matcher(anchor, text, at, len(text))[0]


def searcher_within(pattern: Pattern) -> SearchWithin:
    matcher, anchor = _unpromised(pattern)
    if matcher is None:
        return lambda text, at, end: match.span() if (match := pattern.search(text, at, end)) else _NOWHERE
    return lambda text, at, end: matcher(anchor, text, at, end)[0]


def _unpromised(pattern: Pattern) -> tuple[Callable[..., Sequence[tuple[int, int]]] | None, object]:
    """The package's own matcher, and how it is told to search anywhere; None where it has no such thing."""
    anchor = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)
    return (None if anchor is None else getattr(getattr(pattern, "_regexp", None), "Match", None)), anchor


def spans(search: Search, text: bytes) -> Iterator[tuple[int, int]]:
    """Every match's place, for a pattern that matches no empty string."""
    span = search(text, 0)
    while span[0] >= 0:
        yield span
        span = search(text, span[1])
