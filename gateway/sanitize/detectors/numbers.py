"""Runs of digits with their separators: found once, read by every detector of numbers.

A run is digits with at most two separators between neighbours. Its groups are what stands between separators.
"""

import re
from functools import cached_property

from gateway.sanitize.folding import View

_SEPARATORS = b" .-/_()\t"
_CLASS = bytes(
    ord("d") if 0x30 <= code <= 0x39 else ord("s") if code in _SEPARATORS else ord("x") for code in range(256)
)
_RUN = re.compile(rb"d(?:s{0,2}d)+")
_GROUP = re.compile(rb"\d+")


class Run:
    """One run at [start, end) of the folded text."""

    __slots__ = ("__dict__", "end", "start", "text")

    def __init__(self, text: bytes, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    @cached_property
    def raw(self) -> bytes:
        return self.text[self.start : self.end]

    @cached_property
    def digits(self) -> bytes:
        return self.raw.translate(None, _SEPARATORS)

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """[start, end) of each group, in the folded text."""
        return [(self.start + group.start(), self.start + group.end()) for group in _GROUP.finditer(self.raw)]

    def digits_between(self, start: int, end: int) -> bytes:
        return self.text[start:end].translate(None, _SEPARATORS)


def digit_runs(view: View, least: int) -> list[Run]:
    """Every run of at least `least` characters, in order."""
    text = view.folded
    return [
        Run(text, match.start(), match.end())
        for match in _RUN.finditer(text.translate(_CLASS))
        if match.end() - match.start() >= least
    ]
