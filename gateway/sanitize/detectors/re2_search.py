"""Searches with RE2 for the places of matches only, at half the cost of a match object where matches are close.

The naive form is `pattern.search(...).span()`. The only module that uses private names of the `re2` package: its
matcher (read in google-re2 1.1.20251105; setup.cfg pins the minor version). Without them the naive form is used.
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
    """A function that finds the first match from an offset on."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at: match.span() if (match := pattern.search(text, at)) else _NOWHERE
    return lambda text, at: matcher(anchor, text, at, len(text))[0]


def searcher_within(pattern: Pattern) -> SearchWithin:
    """A function that finds the first match between two offsets."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at, end: match.span() if (match := pattern.search(text, at, end)) else _NOWHERE
    return lambda text, at, end: matcher(anchor, text, at, end)[0]


def _private_matcher(pattern: Pattern) -> tuple[Callable[..., Sequence[tuple[int, int]]] | None, object]:
    """The package's matcher and its argument for a search at any place; None for the matcher where it has none."""
    anchor = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)
    return (None if anchor is None else getattr(getattr(pattern, "_regexp", None), "Match", None)), anchor


def spans(search: Search, text: bytes) -> Iterator[tuple[int, int]]:
    """[start, end) of every match, in order. The pattern must not match the empty string."""
    span = search(text, 0)
    while span[0] >= 0:
        yield span
        span = search(text, span[1])
