"""Private parts of other packages: which modules touch which, and why. Everything else uses public names alone.

The sources are read, not run. An access `x._name` is a touch when `_name` is not defined by a class or function of the
same module. `self._name` in a class with a foreign base is a touch when the base defines the name, whether as a member,
a slot or by assigning it in its own source. So are `getattr(x, "_name")` and `from package import _name`.
"""

import ast
import configparser
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.web.aiohttp_internals import ConnectionBase
from tests.contract.test_layout import SOURCES, module_name
from tests.support.paths import ROOT

TOUCHES: dict[str, dict[str, str]] = {
    "web.aiohttp_internals": {
        "_match_info": "a request takes its route from nowhere else; aiohttp's own entry sets the same attribute",
        "_manager": "a connection tells its server by no public name",
        "_loop": "the loop of a connection and of a server; asking for the running loop costs a system call",
        "_messages": "whether a parsed request waits: needed to end the header's timer and to drain",
        "_waiter": "whether a connection is idle: needed to close idle ones in a drain and late headers",
        "_kwargs": "the settings of a runner's server, handed on to connections of our own class",
        "_make_server": "AppRunner has no public hook for a server class",
        "_app": "the application of a runner",
        "_data_received_cb": "what a closed WebSocket leaves on its connection leads back to it",
        "_task_handler": "the connection's task, whose error would keep the last request",
        "_serialize_headers": "head and body of an answer leave in one piece; its writer joins them in five calls",
    },
    "web.replies": {"_ping_task": "aiohttp-sse keeps the ended task of its pings, which keeps the request"},
    "engines.fetch.bounded_connector": {
        "_factory": "a connector has no public hook for the class of its connections",
        "_loop": "the loop of a connector",
    },
    "cli.completion": {
        "_actions": "argparse tells the options of a parser in no public way",
        "_SubParsersAction": "nor which of them holds the commands",
        "_choices_actions": "nor the help of each command",
    },
    "cli.main": {
        "_choices_actions": "the help of commands whose modules are not imported",
        "_ChoicesPseudoAction": "a line of that help",
        "_actions": "argparse tells the options of a parser in no public way",
        "_SubParsersAction": "nor which of them holds the commands",
    },
    "metrics": {
        "_upper_bounds": "a histogram's bounds: many amounts are counted in one go",
        "_sum": "the same",
        "_buckets": "the same",
    },
    "sanitize.re2_search": {
        "_Regexp": "the class of a compiled pattern, for annotations",
        "_Anchor": "the matcher's argument; the module does without where it is missing",
        "_regexp": "the matcher that gives places without a match object; the module does without where it is missing",
    },
}
"""Module -> private name -> why no public name serves."""

DOCUMENTED = {"_replace", "_asdict", "_fields", "_field_defaults", "_make", "_exit"}
"""Public in spite of the underscore: named tuples (docs.python.org, collections) and `os._exit`."""

PINNED = ("aiohttp", "aiohttp-sse", "prometheus-client", "google-re2")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def own_names(tree: ast.AST) -> set[str]:
    """Private names that a tree defines: functions, class members, slots, and attributes assigned on any object."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # an entry of __slots__
    return set(filter(is_private, names))


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def foreign_names(kind: type) -> set[str]:
    """Private names that the bases of a class outside of gateway define."""
    names: set[str] = set()
    for base in kind.__mro__[1:]:
        if base.__module__.split(".")[0] in ("gateway", "builtins"):
            continue
        names |= names_of(base)
    return names


@functools.cache
def names_of(kind: type) -> frozenset[str]:
    """Private names that one class defines itself."""
    names = set(vars(kind)) | set(getattr(kind, "__annotations__", ()))
    try:
        names |= own_names(ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))))
    except (OSError, TypeError):  # written in C
        names |= set(getattr(kind, "__slots__", ()))
    return frozenset(filter(is_private, names))


def touches(path: Path) -> Iterator[tuple[str, int]]:
    """(private name, line) of every touch in a file."""
    tree, module = ast.parse(path.read_text()), None
    defined = own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not is_self(node.value) and node.attr not in defined:
                yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, node.lineno) for alias in node.names if is_private(alias.name))
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("getattr", "setattr", "hasattr")
        ):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield str(name.value), node.lineno
        elif isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
            module = module or importlib.import_module("gateway." + module_name(path))
            kind = getattr(module, node.name, None)
            foreign = foreign_names(kind) if isinstance(kind, type) else set()
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute) and is_self(inner.value) and inner.attr in foreign:
                    yield inner.attr, inner.lineno
                elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name in foreign:
                    yield inner.name, inner.lineno


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_a_module_touches_the_private_parts_listed_for_it_and_no_others(path: Path) -> None:
    if path.stem == "__main__":
        pytest.skip("runs the command line")
    found: dict[str, int] = dict(touches(path))
    unlisted = found.keys() - TOUCHES.get(module_name(path), {}).keys()
    assert not unlisted, {f"{path}:{found[name]}": name for name in unlisted}
    assert TOUCHES.get(module_name(path), {}).keys() <= found.keys(), "listed, but used no more"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("request._match_info = info", "_match_info"),
        ("class A:\n  def f(self, x):\n    self._a = 1\n    return x._b", "_b"),
        ("getattr(re2, '_Anchor', None)", "_Anchor"),
        ("from aiohttp import _websocket", "_websocket"),
        ("class A:\n  def f(self, other):\n    self._a = 1\n    return other._a", None),
        ("row._replace(a=1)", None),
    ],
)
def test_touches_are_found_however_they_are_written(tmp_path: Path, source: str, name: str | None) -> None:
    file = tmp_path / "a.py"
    file.write_text(source)
    assert [found for found, _ in touches(file)] == ([name] if name else [])


def test_a_base_class_of_another_package_is_read_with_its_slots_and_its_source() -> None:
    assert {"_waiter", "_manager", "_loop", "_messages", "_task_handler"} <= foreign_names(ConnectionBase)


@pytest.mark.parametrize("package", PINNED)
def test_a_package_with_touched_private_parts_is_pinned_to_its_minor_version(package: str) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["options"]["install_requires"].split()
    requirement = next(line for line in lines if line.startswith(package + ">="))
    low, high = requirement.removeprefix(package + ">=").split(",<")
    major, minor = map(int, low.split(".")[:2])
    assert high == f"{major}.{minor + 1}"
    locked = re.search(rf"^{package}==(\S+)", (ROOT / "requirements" / "core.txt").read_text(), re.M)
    assert locked is not None and f"{locked.group(1)}.".startswith(f"{major}.{minor}.")
