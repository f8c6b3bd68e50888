"""Every regular expression of the product is linear in the text it searches.

RE2 is linear by construction. Each pattern of Python's `re` is timed on strings derived from it
(`bench.pattern_strings`) in the most costly way there is, all matches from every place, whatever way the product uses
it. A pattern that is compiled where this test cannot reach it needs an example here.

Only new patterns are timed here: `python -m bench.pattern_times` times all of them and writes those that pass into
`timed_patterns.txt`.
"""

import functools
import hashlib
import re
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]  # the standard library's own parser of patterns
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from bench.growth import MOST_GROWTH, SIZES, careful_look, grows, growth, quick_look
from bench.pattern_finder import AnyPattern, Found, PatternCall, pattern_calls, patterns_of, reachable
from bench.pattern_memory import MOST_BYTES_PER_CHAR, ONE_CHAR, bytes_per_char, repeats_groups
from bench.pattern_strings import below, texts
from gateway.sanitize.detectors import cards, vendor_tokens
from tests.support.cpu_time import takes_less

MOST_S = 5e-6 * SIZES[-1]
"""Most seconds for the largest text, 5 µs for a character. Chosen: `{0,1000}` at every place is linear too, and costs
this much; the slowest pattern of the product takes half of it."""


RUN_TIME: dict[str, Callable[[], Sequence[AnyPattern]]] = {
    "gateway.engines.words.sections:FenceReader.read": lambda: [re.compile(r"\A(?: *>){2}")],
    "gateway.sanitize.detectors.cards:_form": lambda: [form for each in cards._FORMS if (form := cards._form(each))],
    "gateway.sanitize.detectors.vendor_tokens:_compile": lambda: [
        vendor_tokens._compile(form) for form in ("gh[pousr]_[A-Za-z0-9]{36,}", "xox[abposr]-[0-9A-Za-z-]{10,}")
    ],
    "gateway.sanitize.pipeline:Sanitizer._apply": lambda: [
        re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") for value in ("Jane Roe", "a a a a a a a a", "." * 100)
    ],
}
"""Examples of the patterns that are made from data, by module and function."""


def _functions(call: PatternCall) -> str:
    return f"{call.module}:{call.inside}"


KNOWN = Path(__file__).with_name("timed_patterns.txt")
"""Digests of the patterns that were found linear, separated by blanks."""


@functools.cache
def reached() -> Sequence[Found]:
    return reachable()


@functools.cache
def calls() -> Sequence[PatternCall]:
    return [call for call in pattern_calls() if call.library != "re2"]


def every_pattern() -> list[tuple[str, AnyPattern]]:
    """Each pattern of `re` with its place."""
    literals = [
        (f"{call.module}:{call.line}", re.compile(call.source, call.flags))
        for call in calls()
        if call.source is not None
    ]
    examples = [(name, pattern) for name, make in RUN_TIME.items() for pattern in make()]
    every = [(each.where, each.pattern) for each in reached() if each.pattern is not None] + literals + examples
    return list({(pattern.pattern, pattern.flags): (where, pattern) for where, pattern in reversed(every)}.values())


def digest(pattern: AnyPattern) -> str:
    return hashlib.sha256(f"{pattern.pattern!r} {pattern.flags}".encode()).hexdigest()[:10]


def fault(where: str, pattern: AnyPattern) -> str:
    """What a pattern costs too much on; empty where it is linear and quick."""
    search = _search(pattern)
    for prefix, unit, suffix in texts(pattern):

        def make(size: int, prefix: str = prefix, unit: str = unit, suffix: str = suffix) -> str:
            return prefix + unit * (size // len(unit)) + suffix

        look = quick_look(search, make)
        found = None if look.linear else careful_look(search, make)
        if found is not None:
            return f"{where}: {prefix!r} + {unit!r}… + {suffix!r} grows {found}"
        text = make(SIZES[-1])
        if look.longest_s >= MOST_S and not takes_less(MOST_S, functools.partial(search, text)):
            return f"{where}: {prefix!r} + {unit!r}… + {suffix!r} costs {look.longest_s:.4f} s"
    return ""


def test_every_call_that_compiles_a_pattern_is_reached_or_has_an_example() -> None:
    places = {each.where for each in reached()}
    sources = {each.source for each in reached()}
    missing = [
        f"{call.module}:{call.line}"
        for call in calls()
        if call.source is None and f"{call.module}:{call.name}" not in places and _functions(call) not in RUN_TIME
        and not (call.name and _holds_patterns(call))
    ]  # fmt: skip
    assert not missing, "compile it at import under a global name, or add an example to RUN_TIME"
    assert sources and not set(RUN_TIME) - {_functions(call) for call in calls()}, "an example of no call"


def _holds_patterns(call: PatternCall) -> bool:
    module = __import__(call.module, fromlist=[call.name])
    return next(patterns_of(getattr(module, call.name)), None) is not None


def _search(pattern: AnyPattern) -> Callable[[str], object]:
    encode = isinstance(pattern.pattern, bytes)

    def run(text: str) -> None:
        deque(pattern.finditer(text.encode("latin-1") if encode else text), 0)  # type: ignore[arg-type]

    return run


@pytest.mark.slow
def test_a_new_pattern_takes_little_time_and_in_step_with_its_text() -> None:
    known = set(KNOWN.read_text().split())
    faults = [fault(where, pattern) for where, pattern in every_pattern() if digest(pattern) not in known]
    assert not [each for each in faults if each], "mend it; then: python -m bench.pattern_times"


@pytest.mark.parametrize(
    "source",
    [r"<think>.*?</think>", r"\s*,\s*$", r"a[^z]*z", r"(?:ab)*c(?:ab)*d", r"=\s*\[?\s*x", r"c\s*=\s*['\"]?\s*(\w+)"],
)
def test_a_quadratic_pattern_is_noticed(source: str) -> None:
    pattern = re.compile(source, re.DOTALL)
    search = _search(pattern)
    makes = [lambda size, case=case: case[0] + case[1] * (size // len(case[1])) + case[2] for case in texts(pattern)]
    suspects = (make for make in makes if not quick_look(search, make).linear)
    assert any(growth(search, make).worst >= MOST_GROWTH for make in suspects)


@pytest.mark.slow
def test_a_quadratic_pattern_is_noticed_at_much_larger_inputs_too() -> None:
    assert grows(_search(re.compile("a[^z]*z")), "a".__mul__) is not None


def shows_what_failed(pattern: AnyPattern) -> bool:
    """Whether a group is repeated possessively without `(?!)` as its last alternative.

    Before Python 3.11.5, and Debian 12 has 3.11.2, such a match ends where its last, failed repetition came to
    (python/cpython#106052, read 2026-11-29): `(?:a(?!b))*+` matches all of `aab`. The alternative that never matches
    is tried last, from where the repetition began.
    """
    todo: list[Any] = [_parser.parse(pattern.pattern, pattern.flags)]
    while todo:
        for code, value in todo.pop():
            if code is op.POSSESSIVE_REPEAT and (len(value[2]) != 1 or value[2][0][0] not in ONE_CHAR):
                [(inner, branches), *more] = value[2]
                if more or inner is not op.BRANCH or repr(branches[1][-1]) != repr(_parser.parse("(?!)")):
                    return True
            todo += below(code, value)
    return False


def test_a_possessive_group_ends_at_its_last_whole_repetition_in_every_python() -> None:
    assert [where for where, pattern in every_pattern() if shows_what_failed(pattern)] == []


@pytest.mark.parametrize(
    ("source", "is_wrong"),
    [
        ("(?:ab)*+", True),
        ("(?:ab|c)*+", True),
        ("(?:a(?:bc)++|(?!))*+", True),
        ("(?:ab|(?!))*+", False),
        ("a*+", False),
    ],
)
def test_a_possessive_group_without_a_last_resort_is_noticed(source: str, is_wrong: bool) -> None:
    assert shows_what_failed(re.compile(source)) is is_wrong


@pytest.mark.slow
def test_no_pattern_takes_much_memory_for_each_character() -> None:
    taken = {where: bytes_per_char(pattern) for where, pattern in every_pattern() if repeats_groups(pattern)}
    assert not {where: found for where, found in taken.items() if found[0] > MOST_BYTES_PER_CHAR}


@pytest.mark.parametrize(("source", "is_costly"), [("(?:ab|c)*", True), ("(?:ab|c)*+", False), ("[ab]*", False)])
def test_a_pattern_that_remembers_each_repetition_is_noticed(source: str, is_costly: bool) -> None:
    pattern = re.compile(source)
    assert (repeats_groups(pattern) and bytes_per_char(pattern)[0] > MOST_BYTES_PER_CHAR) is is_costly
