"""Every pattern of Python's `re` in the product on the full product of pairs: `python -m bench.hostile --pairs`.

A pattern puts characters into classes (`bench.pattern_strings`), and those of one class are alike to it: a pair of
representatives stands for all pairs of ASCII characters of both classes. Where a pattern refers back to a group, the
same character twice differs from two of one class, so two stand for each. RE2 is linear by construction. A pattern that
is only ever asked for a match at one place is measured so; any other, and any whose uses are not known, by all matches.
"""

import ast
import hashlib
import itertools
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import growth, pattern_strings
from bench.growth import FLOOR_S, MOST_GROWTH, grows, once_s
from bench.pattern_finder import AnyPattern, modules, pattern_calls, patterns_of, reachable, sources
from bench.pattern_strings import beginnings, classes

SIZES = (4_000, 8_000, 16_000)
"""Four times those of the suite: a quadratic of a sixteenth of the cost is seen. At double a run takes twice."""
_BELOW_S = MOST_GROWTH * FLOOR_S
"""A time at the largest size that needs no other: no doubling on the way to it can have grown to it by three from what
counts, which is the floor at least."""
_ENDS = ("", "\x01")
_SHOWN = 3
"""Strings told of one pattern."""
_AT_ONE_PLACE = {"match", "fullmatch"}


class Timed(NamedTuple):
    """A pattern. `in_place`: the product only asks whether it matches where the last match ended, or at the start."""

    where: str
    pattern: AnyPattern
    in_place: bool

    @property
    def key(self) -> str:
        """Of everything that its result follows from: itself, how it is asked, and this harness."""
        told = f"{self.pattern.pattern!r} {self.pattern.flags} {self.in_place} {_harness()}"
        return hashlib.sha256(told.encode()).hexdigest()


def _harness() -> str:
    files = [Path(__file__), Path(growth.__file__), Path(pattern_strings.__file__)]
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()


def timed() -> list[Timed]:
    """The patterns that Python's `re` runs, once each, by where they are."""
    in_place = _asked_in_place()
    found = [Timed(each.where, each.pattern, id(each.pattern) in in_place) for each in reachable() if each.pattern]
    literal = [call for call in pattern_calls() if call.source is not None and call.library == "re" and not call.name]
    found += [Timed(f"{each.module}:{each.line}", re.compile(each.source or "", each.flags), False) for each in literal]
    once: dict[tuple[str | bytes, int], Timed] = {}
    for each in sorted(found, key=lambda one: one.in_place):
        once.setdefault((each.pattern.pattern, each.pattern.flags), each)
    return sorted(once.values(), key=lambda one: one.where)


def _asked_in_place() -> set[int]:
    """The ids of patterns of which every use in the product is `NAME.match(…)` or `NAME.fullmatch(…)`."""
    names: dict[int, set[tuple[str, str]]] = {}
    elsewhere: set[int] = set()
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                names.setdefault(id(value), set()).add((module.__name__, name))
            elif not name.startswith("__"):
                elsewhere |= {id(each) for each in patterns_of(value)}
    other_uses = {(module, name) for module, tree in sources() for name in _other_uses(tree)}
    as_attribute = {name for module, name in other_uses if module and name.startswith(".")}
    return {
        key
        for key, places in names.items()
        if key not in elsewhere
        and not places & other_uses
        and not any(f".{name}" in as_attribute for _, name in places)
    }


def _other_uses(tree: ast.Module) -> Iterator[str]:
    """Names that are used for something other than a match at one place; `.name` where it is read of an object."""
    in_place = {
        id(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _AT_ONE_PLACE
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in in_place:
            yield node.id
        elif isinstance(node, ast.Attribute) and id(node) not in in_place:
            yield f".{node.attr}"


def _search(each: Timed) -> Callable[[str], object]:
    encode = isinstance(each.pattern.pattern, bytes)

    def everywhere(text: str) -> None:
        deque(each.pattern.finditer(text.encode("latin-1") if encode else text), 0)  # type: ignore[arg-type]

    def in_place(text: str) -> None:
        subject, at, found = text.encode("latin-1") if encode else text, 0, True
        while found:
            match = each.pattern.match(subject, at)  # type: ignore[arg-type]
            found = match is not None and match.end() > at
            at = match.end() if match else at

    return in_place if each.in_place else everywhere


def representatives(pattern: AnyPattern) -> list[str]:
    """One character of each class; where the pattern refers back to a group, two."""
    kinds = classes(pattern)
    if "(?P=" not in str(pattern.pattern) and not re.search(r"\\[1-9]|\(\?\(", str(pattern.pattern)):
        return kinds
    return kinds + [char for char in pattern_strings.second_of_each(pattern) if char not in kinds]


def strings(pattern: AnyPattern) -> Iterator[tuple[str, str, str]]:
    """(beginning, unit, end): every pair, with and without the longest beginning of a match, and a near miss behind."""
    kinds = representatives(pattern)
    starts = dict.fromkeys(("", *beginnings(pattern)[-1:]))
    for first, second, start, end in itertools.product(kinds, kinds, starts, _ENDS):
        yield start, first if first == second else first + second, end


def slow_strings(each: Timed) -> Iterator[str]:
    """Descriptions of the strings on which the pattern is superlinear."""
    search = _search(each)
    for start, unit, end in strings(each.pattern):

        def make(size: int, start: str = start, unit: str = unit, end: str = end) -> str:
            return start + unit * (size // len(unit)) + end

        if once_s(search, make(SIZES[-1])) < _BELOW_S:
            continue
        found = grows(search, make, SIZES)
        if found is not None:
            yield f"{start!r} + {unit!r}… + {end!r}: {found.times_s[-1] * 1e3:.1f} ms, x{found.worst:.1f} a doubling"


def report(chosen: Iterable[str], kept_in: Path) -> Iterator[str]:
    """Lines of the run: each slow pattern, each twentieth of the way, and the sum. `kept_in` remembers what was linear,
    by `Timed.key`; patterns that have gone are forgotten."""
    every = [each for each in timed() if not chosen or any(part in each.where for part in chosen)]
    known = set(json.loads(kept_in.read_text())) if kept_in.exists() else set()
    linear = {each.key for each in every} & known
    todo = [each for each in every if each.key not in linear]
    in_place = sum(one.in_place for one in every)
    yield f"{len(every)} patterns, {len(linear)} known to be linear, {in_place} asked in place"
    slow = 0
    for number, each in enumerate(todo, 1):
        found = list(itertools.islice(slow_strings(each), _SHOWN))
        slow += bool(found)
        if found:
            yield f"SLOW {each.where}: {'; '.join(found)}"
        else:
            linear.add(each.key)
        if number % 20 == 0 or number == len(todo):
            kept_in.write_text(json.dumps(sorted(linear | (known if chosen else set()))))
            yield f"{number} of {len(todo)} measured, last {each.where}"
    yield f"{slow} of {len(every)} patterns are superlinear"
