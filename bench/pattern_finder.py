"""Finds the regular expressions of the product: compiled objects that a module can reach, and calls that compile.

Two ways that check one another. `reachable` follows the globals of every module of `gateway` (containers, classes,
instances, closures, bound methods, caches) to compiled patterns. `pattern_calls` reads the sources for every call of
`re` or `re2` that takes a pattern; `tests/contract/test_patterns.py` holds that each call is explained.
"""

import ast
import functools
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import re2

import gateway

AnyPattern = re.Pattern[str] | re.Pattern[bytes]
_RE2_TYPE = type(re2.compile("a"))
_TAKES_PATTERN = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}


class Found(NamedTuple):
    """A pattern and the first name it was reached by, as `gateway.module:name`; `linear`: RE2 runs it."""

    where: str
    pattern: AnyPattern | None
    source: str

    @property
    def linear(self) -> bool:
        return self.pattern is None


class PatternCall(NamedTuple):
    """A call that takes a pattern. `source`: the pattern if it is a literal; `name`: the global it is assigned to at
    import, "" elsewhere; `inside`: the functions and classes around it."""

    module: str
    line: int
    library: str
    source: str | bytes | None
    flags: int
    name: str
    inside: str


def modules() -> list[ModuleType]:
    """Every module of the product, imported."""
    names = [each.name for each in pkgutil.walk_packages(gateway.__path__, "gateway.")]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def reachable() -> list[Found]:
    """Every compiled pattern that a module of the product can reach, once each."""
    found: dict[int, Found] = {}
    for module in modules():
        for name, value in sorted(vars(module).items()):
            if not name.startswith("__"):
                for pattern in patterns_of(value):
                    found.setdefault(id(pattern), _found(f"{module.__name__}:{name}", pattern))
    return list(found.values())


def _found(where: str, pattern: Any) -> Found:
    return Found(where, pattern if isinstance(pattern, re.Pattern) else None, repr(pattern.pattern))


def patterns_of(value: object) -> Iterator[Any]:
    """The compiled patterns that an object holds, at any depth."""
    todo, seen = [value], set[int]()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, (re.Pattern, _RE2_TYPE)):
            yield each
        else:
            todo.extend(_parts(each))


def _parts(value: Any) -> Iterator[object]:
    """What an object of ours holds; nothing for modules and for objects of other packages."""
    if isinstance(value, dict):
        yield from (*value.keys(), *value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, FunctionType):
        if value.__module__.startswith("gateway"):
            yield from (cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
            yield from (value.__defaults__ or (), value.__kwdefaults__ or {}, vars(value))
    elif isinstance(value, (classmethod, staticmethod)):
        yield value.__func__
    elif isinstance(value, property):
        yield from (value.fget, value.fset)
    elif isinstance(value, type):
        if value.__module__.startswith("gateway"):
            yield from vars(value).values()
    elif not isinstance(value, ModuleType):
        yield from (getattr(value, "__self__", None), getattr(value, "__wrapped__", None))
        if type(value).__module__.startswith("gateway"):
            yield from vars(value).values() if hasattr(value, "__dict__") else ()
            yield from (getattr(value, slot, None) for slot in getattr(type(value), "__slots__", ()))


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def sources() -> Iterator[tuple[str, ast.Module]]:
    """(dotted module name, its syntax tree) of every source of the product."""
    for folder in gateway.__path__:
        for path in sorted(Path(folder).rglob("*.py")):
            parts = path.relative_to(Path(folder).parent).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), ast.parse(path.read_text())


def pattern_calls() -> list[PatternCall]:
    """Every call of `re` or `re2` in the product that takes a pattern."""
    calls: list[PatternCall] = []
    for module, tree in sources():
        libraries = _libraries(tree)
        for node, scopes, name in _walk(tree, (), ""):
            if isinstance(node, ast.Call) and (library := _called(node, libraries)):
                calls.append(_pattern_call(module, node, library, scopes, name))
    return calls


def _libraries(tree: ast.Module) -> dict[str, str]:
    """The names that `re` and `re2` go by in a module: {local name: library}."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.asname or each.name: each.name for each in node.names if each.name in ("re", "re2", "regex")}
        elif isinstance(node, ast.ImportFrom) and node.module in ("re", "re2", "regex"):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def _called(node: ast.Call, libraries: dict[str, str]) -> str:
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        library = libraries.get(node.func.value.id, "")
        return library if node.func.attr in _TAKES_PATTERN and "." not in library else ""
    if isinstance(node.func, ast.Name):
        library, _, function = libraries.get(node.func.id, "").partition(".")
        return library if function in _TAKES_PATTERN else ""
    return ""


def _walk(node: ast.AST, scopes: tuple[str, ...], name: str) -> Iterator[tuple[ast.AST, tuple[str, ...], str]]:
    """Every node below one, with the functions and classes around it and the global that it is assigned to."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scopes, name = (*scopes, node.name), ""
    elif isinstance(node, ast.Assign) and not scopes and not name:
        target = node.targets[0]
        name = next((each.id for each in ast.walk(target) if isinstance(each, ast.Name)), "")
    elif isinstance(node, ast.AnnAssign) and not scopes and isinstance(node.target, ast.Name):
        name = node.target.id
    yield node, scopes, name
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, scopes, name)


def _pattern_call(module: str, node: ast.Call, library: str, scopes: tuple[str, ...], name: str) -> PatternCall:
    first = node.args[0] if node.args else None
    source = first.value if isinstance(first, ast.Constant) and isinstance(first.value, (str, bytes)) else None
    flags = 0
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "re":
            flag = getattr(re, part.attr, None)
            flags |= int(flag) if isinstance(flag, re.RegexFlag) else 0
    return PatternCall(module, node.lineno, library, source, flags, name, ".".join(scopes))
