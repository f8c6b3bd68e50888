"""Names tell things apart: a class name is used once, and prose names modules and files that exist.

Prose is what stands between backticks: in a Python file that is a comment, a docstring, or Markdown in a string. It is
found by a pattern, in a twentieth of the time that a tokenizer takes.
"""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

TREES = ("gateway", "tests", "bench")
TICKED = re.compile(r"(?<!`)`([^`\n]{1,100})`(?!`)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
FILE = re.compile(r"[\w./-]+\.py")
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
NOT_OURS = {"net.ipv4.ip_nonlocal_bind", "gateway.pem", "gateway.key", "ops.test", "libfoo12.lib"}
"""Dotted names in comments that begin with a module's name by chance, or with no word of ours."""
STILL_TWICE = {"Spend", "_Call"}
"""Of the budgets that are being rebuilt; told apart when that is done."""


@functools.cache
def sources() -> dict[Path, str]:
    """The text of every Python file, by path from the root, but of this one, which has examples of what is gone."""
    found = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py"))]
    paths = [path for path in found if "node_modules" not in path.parts and path != Path(__file__)]
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}


@functools.cache
def documents() -> dict[Path, str]:
    paths = [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").glob("*.md") if not path.is_symlink())]
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}


@functools.cache
def code() -> dict[Path, str]:
    """What stands outside of backticks, by path."""
    return {path: TICKED.sub(" ", text) for path, text in sources().items()}


@functools.cache
def words() -> dict[Path, frozenset[str]]:
    return {path: frozenset(re.findall(r"\w+", text)) for path, text in code().items()}


@functools.cache
def vocabulary() -> frozenset[str]:
    return frozenset().union(*words().values())


@functools.cache
def all_code() -> str:
    return "\n".join(code().values())


@functools.cache
def modules() -> dict[str, list[Path]]:
    """Modules by each end of their dotted name (`wire.dialect`, `dialect`), and folders, which have no file here."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sources():
        for parts, files in ((path.with_suffix("").parts, [path]), (path.parent.parts, [])):
            for first in range(len(parts)):
                found[".".join(parts[first:])] += files
    return found


@functools.cache
def settings() -> frozenset[str]:
    """Every key of the configuration by its dotted name (`server.tls.cert`)."""
    return frozenset(setting_names(json.loads((ROOT / "schemas" / "config.json").read_text()), ""))


def setting_names(schema: dict[str, Any], prefix: str) -> Iterator[str]:
    others = schema.get("additionalProperties")
    named = {"NAME": others} if isinstance(others, dict) else {}
    for name, part in (schema.get("properties", {}) | named).items():
        yield f"{prefix}{name}"
        yield from setting_names(part.get("items", part), f"{prefix}{name}.")


def exists(name: str) -> bool:
    """Whether a dotted name leads somewhere: to a module and words that it has, to a setting, to a text in the code, or
    to what is not ours (a field of JSON, another library)."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        head, rest = ".".join(parts[:length]), set(parts[length:])
        if head in modules():
            is_there = not rest or any(rest <= words()[path] for path in modules()[head])
            return is_there or name in settings() or name in all_code() or name in NOT_OURS
    return parts[0] in vocabulary() or name in NOT_OURS


def file_exists(name: str) -> bool:
    return any(f"/{path}".endswith(f"/{name}") for path in sources())


def test_a_class_name_is_used_once() -> None:
    places = defaultdict(list)
    for path, text in sources().items():
        if path.parts[0] == "gateway":
            for match in CLASS.finditer(text):
                places[match[1]].append(f"{path}:{line_of(text, match)}")
    assert not {name: found for name, found in places.items() if len(found) > 1 and name not in STILL_TWICE}


def test_a_module_that_a_comment_or_docstring_names_exists() -> None:
    gone = []
    for path, text in sources().items():
        for match in TICKED.finditer(text):
            name = match[1].removesuffix("()")
            is_gone = FILE.fullmatch(name) and not file_exists(name)
            if is_gone or (not FILE.fullmatch(name) and DOTTED.fullmatch(name) and not exists(name)):
                gone.append(f"{path}:{line_of(text, match)}: {name}")
    assert not gone


def test_a_module_that_a_document_names_exists() -> None:
    """Documents name fields of JSON and files of their readers too, so that only what begins like a module by its full
    name counts."""
    gone = []
    for path, text in documents().items():
        for match in TICKED.finditer(text):
            name = match[1].removesuffix("()")
            is_file = FILE.fullmatch(name) and "/" in name and "example" not in name
            is_module = DOTTED.fullmatch(name) and name.split(".")[0] in TREES
            if (is_file and not file_exists(name)) or (is_module and not exists(name)):
                gone.append(f"{path}:{line_of(text, match)}: {name}")
    assert not gone


def line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("wire.dialect.Dialect", True),
        ("server.tls", True),
        ("wire.no_such_module", False),
        ("dialect.NoSuchClass", False),
        ("gone_module_x.Name", False),
    ],
)
def test_a_name_is_told_from_one_that_is_gone(name: str, is_there: bool) -> None:
    assert exists(name) is is_there
