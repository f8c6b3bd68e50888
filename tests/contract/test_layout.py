"""The layout the design fixes: who may import whom, what stays out."""

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

SOURCES = sorted((ROOT / "gateway").rglob("*.py"))

LEVELS = [
    {"geometry", "child"},
    {"key_scrubber", "texts"},
    {"__init__", "domain", "errors", "logs", "metrics", "trace", "sanitize.text", "resilience"},
    {
        "ports", "schemas", "wire", "engines.answer", "engines.fetch", "ocr",
        "sanitize.spellings", "sanitize.detectors", "shared_state",
    },
    {
        "config", "mcp", "wire.chat", "services.websearch", "engines.html", "engines.markdown",
        "ocr.image", "ocr.text",
    },
    {
        "access", "embedded", "providers", "wire.responses", "sanitize.guardrail",
        "sanitize.policy", "sanitize.restoring", "sanitize.scanner", "engines.content",
        "wire.messages", "wire.embeddings", "ocr.scripts", "ocr.code",
    },
    {
        "engines.documents", "engines.render", "engines.embedding", "ocr.server", "sanitize.slot_mask",
        "services.completion",
    },
    {"engines.index", "sanitize", "services.ocr", "services.hosted_tools"},
    {"engines.crawl", "web"},
    {"web.middleware"},
    {"web.handlers", "web.server"},
    {"app"},
    {"runtime"},
    {"cli"},
    {"__main__"},
]  # fmt: skip
"""Units, lowest first: a module imports from its own unit and from lower levels only. A module belongs to the longest
unit that its dotted name begins with. Units without a folder are reserved for features that are being built."""
ENTRY_POINTS = {"runtime", "cli"}  # the only importers of app, beside tests

FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "base"}
OPTIONAL = {
    "lxml", "lxml_html_clean", "selectolax", "trafilatura", "pypdfium2", "markdown_it", "xllamacpp",
    "onnxruntime", "PIL", "cv2", "numpy", "redis", "psycopg", "tesserocr", "docx", "openpyxl", "pptx",
    "cryptography",
}  # fmt: skip


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "gateway").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "__init__"


UNITS = {unit: level for level, units in enumerate(LEVELS) for unit in units}


def unit_of(module: str) -> str:
    """The unit a module belongs to: the longest one that stands in LEVELS."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (unit := ".".join(parts[:length])) in UNITS:
            return unit
    raise AssertionError(f"{module} stands in no level of the layout")


def level_of(module: str) -> int:
    return UNITS[unit_of(module)]


KNOWN = {module_name(path) for path in SOURCES}


@functools.cache
def gateway_imports(path: Path) -> frozenset[str]:  # anywhere in the file
    return imports_in(ast.walk(ast.parse(path.read_text())), module_name(path))


def needed_at_once(path: Path) -> frozenset[str]:
    """Those that it imports while it is imported itself: not in a function, nor for type checkers."""
    return imports_in(ast.parse(path.read_text()).body, module_name(path))


def imports_in(nodes: Iterable[ast.AST], importer: str) -> frozenset[str]:
    """Modules of ours, as dotted names under `gateway`."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "gateway"}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "gateway":
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}".removeprefix("gateway.")
                found.add(f"gateway.{deeper}" if deeper in KNOWN else node.module)
    names = {name.removeprefix("gateway").lstrip(".") or "__init__" for name in found}
    return frozenset(names - {importer})


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_a_module_imports_only_from_the_levels_below_or_its_own_package(path: Path) -> None:
    module = module_name(path)
    if path.name == "__init__.py" and module not in UNITS:
        assert not gateway_imports(path), f"{module} only groups its folders and imports nothing"
        return
    for imported in gateway_imports(path):
        own_package = unit_of(imported) == unit_of(module)
        if not own_package:
            assert level_of(imported) < level_of(module), f"{module} must not import {imported}"
        if unit_of(imported) == "app" and not own_package:
            assert unit_of(module) in ENTRY_POINTS, f"{module} must not import the composition root"


def test_wire_imports_only_the_domain_the_errors_texts_the_scrubber_of_keys_and_slices() -> None:
    tools = {"resilience.slices": "slices"}
    for path in SOURCES:
        if module_name(path).startswith("wire."):
            allowed = {"wire", "domain", "errors", "texts", "key_scrubber", *tools.values()}
            imported = {tools.get(each, each) for each in gateway_imports(path)}
            outside = {each.split(".")[0] for each in imported} - allowed
            assert not outside, f"{module_name(path)} imports {outside}"


def test_the_import_graph_has_no_cycle() -> None:
    graph = {module_name(path): gateway_imports(path) for path in SOURCES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for imported in graph.get(module, ()):
                visit(imported, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def imported_roots(tree: ast.Module) -> set[str]:
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return roots


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_web_frameworks_and_the_environment_stay_where_they_belong(path: Path) -> None:
    module, tree = module_name(path), ast.parse(path.read_text())
    roots = imported_roots(tree)
    if not module.startswith("web") and module not in ("ocr.server.app", "app", "runtime.supervisor"):
        assert "aiohttp.web" not in roots, f"{module} imports aiohttp.web"
    if module.split(".")[0] in ("sanitize", "mcp"):
        assert not any(root.split(".")[0] == "aiohttp" for root in roots), f"{module} imports aiohttp"
    if module.split(".")[0] != "config":
        for node in ast.walk(tree):
            reads = isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb")
            assert not reads, f"{module} reads the environment"


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_functions_import_only_optional_extras_and_modules_keep_no_global_state(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                for name in names:
                    assert name.split(".")[0] in OPTIONAL, (
                        f"{module_name(path)}:{function.lineno} imports {name} in a function"
                    )
                assert not isinstance(node, ast.Global), f"{module_name(path)}:{function.lineno} uses global"


def test_file_names_say_what_is_inside() -> None:
    for path in SOURCES:
        assert not FORBIDDEN_NAMES & set(path.stem.split("_")), path
        module = ast.parse(path.read_text())
        assert path.stem == "__init__" or ast.get_docstring(module), f"{path} has no docstring"


def test_the_top_level_holds_only_what_has_a_reason() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if not tracked:
        pytest.skip("not a git checkout")
    tops = {name.split("/")[0] for name in tracked}
    fixed = {
        "setup.cfg", "pyproject.toml", "Makefile", "README.md", "ARCHITECTURE.md", "CHANGES.md", "THREATS.md",
        "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "Containerfile", ".github", ".pre-commit-config.yaml", "setup.py",
        "requirements",
        "gateway", "schemas", "tests", "systemd", "docs", "bench", "examples", ".ci", ".gitignore",
    }  # fmt: skip
    assert tops - fixed == set()


IMPORT_IN_FORKS = """
import importlib, json, os, sys, traceback
import aiohttp.web, jsonschema_rs, orjson  # what nearly every module of ours imports: once, not once a child

def visit(name, below):
    if os.fork():
        return os.wait()
    try:
        importlib.import_module(name)
        words = ""
    except BaseException:
        words = traceback.format_exc()[-800:]
    os.write(1, json.dumps([name, words]).encode() + b"\\n")
    for each in below.items() if not words else ():
        visit(*each)
    os._exit(0)

for each in json.load(sys.stdin).items():
    visit(*each)
"""
"""Reads {module: the same of the modules below it} and imports each in a process forked from that of the one above it.
Writes a line of JSON for each: its name, and what it said."""


def import_tree() -> dict[str, Any]:
    """Every module of ours below the one of its imports that imports most, as IMPORT_IN_FORKS takes it.

    Naive form: each below none, which takes four times as long. A module imports the one above it by itself.
    """
    graph = {module_name(path): needed_at_once(path) for path in SOURCES if module_name(path) != "__main__"}
    nodes: dict[str, dict[str, Any]] = {module: {} for module in graph}
    reach = {module: len(reached(module, graph)) for module in graph}
    top: dict[str, Any] = {}
    for module, imported in graph.items():
        above = max(imported & graph.keys(), key=lambda name: (reach[name], name), default=None)
        (top if above is None else nodes[above])[full_name(module)] = nodes[module]
    return top


def reached(module: str, graph: Mapping[str, frozenset[str]]) -> set[str]:
    """Modules that a module imports, directly or not."""
    found, todo = set[str](), [module]
    while todo:
        new = graph.get(todo.pop(), frozenset()) - found
        found |= new
        todo += new
    return found


def full_name(module: str) -> str:
    return "gateway" if module == "__init__" else f"gateway.{module}"


@pytest.fixture(scope="module")
def import_failures() -> dict[str, str]:
    """What each module of ours says when a process imports it first: "" where that works, no entry below a failure."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_IN_FORKS],
        input=json.dumps(import_tree()).encode(),
        capture_output=True,
        timeout=300,
        check=True,
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_every_module_can_be_imported_alone(path: Path, import_failures: dict[str, str]) -> None:
    module = module_name(path)
    if module == "__main__":
        pytest.skip("runs the command line")
    assert import_failures.get(full_name(module), "a module that it imports cannot be imported") == ""
