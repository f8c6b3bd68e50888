"""The lines of code of each room stay within its budget, so that a new owner can hold a room in the head.

Lines of code are lines that hold a token of Python: no blanks, comments or docstrings. A change that takes lines out
of a room lowers its budget here; one that adds them says why it raises it.
"""

import ast
import functools
import io
import tokenize
from pathlib import Path

import pytest

from tests.support.paths import ROOT

BUDGETS = {
    "access": 1883,
    "app": 1090,
    "bench": 6733,
    "calls": 755,
    "child": 420,
    "cli": 2658,
    "config": 875,
    "console": 0,
    "embedded": 345,
    "engines": 17174,
    "geometry": 1019,
    "mcp": 780,
    "ocr": 4680,
    "providers": 1988,
    "resilience": 433,
    "runtime": 1410,
    "sanitize": 6339,
    "schemas": 242,
    "services": 5905,
    "shared_state": 1179,
    "tests": 40982,
    "top": 921,
    "web": 3795,
    "wire": 7215,
}
"""Lines of code by room: a folder of `gateway/`, `top` for its own files, and the trees `tests` and `bench`."""
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(path: Path) -> int:
    """How many lines of a file hold code."""
    source = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {n for each in tokens if each.type not in _NO_CODE for n in range(each.start[0], each.end[0] + 1)}
    return len(lines - docstrings)


def room_of(path: Path) -> str:
    """The room of a file, by its path from the root of the repository."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "gateway":
        return parts[0]
    return parts[1] if len(parts) > 2 else "top"


@functools.cache
def sums() -> dict[str, int]:
    """Lines of code by room, as they are."""
    found: dict[str, int] = {}
    for tree in ("gateway", "tests", "bench"):
        for path in sorted((ROOT / tree).rglob("*.py")):
            if "node_modules" not in path.parts:
                found[room_of(path)] = found.get(room_of(path), 0) + code_lines(path)
    return found


def test_every_room_has_a_budget() -> None:
    assert set(sums()) == set(BUDGETS)


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_stays_within_its_budget(room: str) -> None:
    lines = sums()[room]
    assert lines <= BUDGETS[room], f"{room} has {lines} lines of code, {lines - BUDGETS[room]} above its budget"
