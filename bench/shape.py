"""Prints where the product may be folded or cut: to look at, nothing fails by it. `make shape`.

Modules with one importer, in their own folder; files below 40 lines; functions above 50 lines; the largest files.
"""

import ast
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.contract.test_budgets import code_lines
from tests.contract.test_layout import SOURCES, gateway_imports, module_name, parsed

_SHORT, _LONG_FUNCTION, _LARGEST = 40, 50, 15


def long_functions(path: Path) -> list[tuple[int, str]]:
    """Functions of more than _LONG_FUNCTION lines, their docstrings included."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found += [(lines, f"{module_name(path)}.{node.name}")] if lines > _LONG_FUNCTION else []
    return found


def single_importers() -> list[str]:
    """`module <- its only importer`, where both lie in one folder."""
    importers: dict[str, list[str]] = {}
    for path in SOURCES:
        for name in gateway_imports(path):
            importers.setdefault(name, []).append(module_name(path))
    folder = {name: name.rpartition(".")[0] for name in (module_name(path) for path in SOURCES)}
    pairs = ((name, found[0]) for name, found in sorted(importers.items()) if len(found) == 1)
    return [f"{name} <- {only}" for name, only in pairs if folder.get(name) == folder.get(only) != ""]


def main() -> None:
    """Print the four lists."""
    sizes = sorted(((code_lines(path), module_name(path)) for path in SOURCES if path.stem != "__init__"), reverse=True)
    _print("modules with one importer, in their own folder", single_importers())
    _print(f"files below {_SHORT} lines of code", (f"{size:5} {name}" for size, name in sizes if size < _SHORT))
    functions = sorted((each for path in SOURCES for each in long_functions(path)), reverse=True)
    _print(f"functions above {_LONG_FUNCTION} lines", (f"{size:5} {name}" for size, name in functions))
    _print("the largest files, in lines of code", (f"{size:5} {name}" for size, name in sizes[:_LARGEST]))


def _print(title: str, rows: Iterable[str]) -> None:
    every = list(rows)
    sys.stdout.write(f"{title}: {len(every)}\n" + "".join(f"  {row}\n" for row in every))


if __name__ == "__main__":
    main()
