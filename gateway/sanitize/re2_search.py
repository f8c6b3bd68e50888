"""RE2 searches that return the span of a match only, at half the cost of a match object.

Naive form: `pattern.search(text, start).span()`. The one module that uses private parts of the `re2` package
(google-re2): `pattern._regexp.Match` and `re2._Anchor.UNANCHORED`; a version without them gets the naive form.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import re2

Pattern: TypeAlias = re2._Regexp
"""A compiled pattern, as `re2.compile` returns it: the package gives its class no public name."""
Search: TypeAlias = Callable[[bytes, int], tuple[int, int]]
"""(text, start) -> [start, end) of the first match at or after `start`; (-1, -1) for none."""
SearchWithin: TypeAlias = Callable[[bytes, int, int], tuple[int, int]]
"""(text, start, end) -> the same, for a match that ends at or before `end`."""
_NO_MATCH = (-1, -1)


@functools.cache
def searcher(pattern: Pattern) -> Search:
    """The search for a pattern in a text from an offset on."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at: match.span() if (match := pattern.search(text, at)) else _NO_MATCH
    return lambda text, at: matcher(anchor, text, at, len(text))[0]


@functools.cache
def searcher_within(pattern: Pattern) -> SearchWithin:
    """The search for a pattern in a part of a text."""
    matcher, anchor = _private_matcher(pattern)
    if matcher is None:
        return lambda text, at, end: match.span() if (match := pattern.search(text, at, end)) else _NO_MATCH
    return lambda text, at, end: matcher(anchor, text, at, end)[0]


def _private_matcher(pattern: Pattern) -> tuple[Callable[..., Sequence[tuple[int, int]]] | None, object]:
    """The package's inner matcher and its argument for an unanchored search; None if it has no such thing."""
    anchor = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)
    return (None if anchor is None else getattr(getattr(pattern, "_regexp", None), "Match", None)), anchor


def spans(search: Search, text: bytes) -> Iterator[tuple[int, int]]:
    """The span of every match, in order, for a pattern that matches no empty string."""
    span = search(text, 0)
    while span[0] >= 0:
        yield span
        span = search(text, span[1])
