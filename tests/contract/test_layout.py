"""The layout the design fixes: who may import whom, what stays out."""

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SOURCES = sorted((ROOT / "gateway").rglob("*.py"))

LEVELS = [
    {"geometry", "child", "random_ids"},
    {"key_scrubber", "texts", "sanitize.re2_search"},
    {
        "__init__", "domain", "errors", "logs", "metrics", "trace", "resilience", "sanitize.findings",
        "sanitize.destinations", "sanitize.folding", "sanitize.holdback", "sanitize.json_strings",
        "sanitize.known_clean", "sanitize.work_budget",
    },
    {
        "ports", "schemas", "wire", "engines.words", "engines.fetch", "ocr",
        "sanitize.chunks", "sanitize.placeholders", "sanitize.spellings", "sanitize.detectors", "shared_state",
    },
    {
        "config", "wire.chat", "services.websearch", "engines.html",
        "ocr.image", "ocr.text", "sanitize.guardrail_prompt", "sanitize.plain_words",
    },
    {"mcp"},
    {
        "access", "embedded", "providers", "wire.responses", "sanitize.guardrail",
        "sanitize.policy", "sanitize.restoring", "sanitize.scanner", "engines.markdown",
        "wire.messages", "wire.embeddings", "ocr.scripts", "ocr.code",
    },
    {
        "engines.content", "ocr.server", "services.completion",
    },
    {"engines.documents", "engines.render", "engines.embedding"},
    {"engines.index", "sanitize", "services.ocr"},
    {"calls"},
    {"services.hosted_tools", "services.responses", "services.file_parts"},
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


def has_unit(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in UNITS for length in range(1, len(parts) + 1))


def level_of(module: str) -> int:
    return UNITS[unit_of(module)]


KNOWN = {module_name(path) for path in SOURCES}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def gateway_imports(path: Path) -> frozenset[str]:  # anywhere in the file
    return imports_in(ast.walk(parsed(path)), module_name(path))


def needed_at_once(path: Path) -> frozenset[str]:
    """Those that it imports while it is imported itself: not in a function, nor for type checkers."""
    return imports_in(parsed(path).body, module_name(path))


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


def test_a_module_imports_only_from_the_levels_below_or_its_own_package() -> None:
    faults = []
    for path in SOURCES:
        module = module_name(path)
        groups_only = path.name == "__init__.py" and module not in UNITS
        for imported in gateway_imports(path):
            own_package = unit_of(imported) == unit_of(module)
            is_below = own_package or level_of(imported) < level_of(module)
            is_entry = unit_of(imported) != "app" or own_package or unit_of(module) in ENTRY_POINTS
            if groups_only or not (is_below and is_entry):
                faults.append(f"{module} must not import {imported}")
    assert not faults


def test_wire_imports_only_the_domain_what_lies_below_slices_and_schemas() -> None:
    tools = {"resilience.slices": "slices"}
    for path in SOURCES:
        if module_name(path).startswith("wire."):
            allowed = {"wire", "domain", "errors", "texts", "key_scrubber", "random_ids", "schemas", *tools.values()}
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


def test_web_frameworks_and_the_environment_stay_where_they_belong() -> None:
    faults = []
    for path in SOURCES:
        module, tree = module_name(path), parsed(path)
        roots = imported_roots(tree)
        serves = module.startswith("web") or module in ("ocr.server.app", "app.application", "runtime.supervisor")
        if "aiohttp.web" in roots and not serves:
            faults.append(f"{module} imports aiohttp.web")
        if module.split(".")[0] in ("sanitize", "mcp") and any(root.split(".")[0] == "aiohttp" for root in roots):
            faults.append(f"{module} imports aiohttp")
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if module.split(".")[0] != "config" and names & {"environ", "getenv", "environb"}:
            faults.append(f"{module} reads the environment")
    assert not faults


def test_functions_import_only_optional_extras_and_modules_keep_no_global_state() -> None:
    faults = []
    for path in SOURCES:
        functions = (
            each for each in ast.walk(parsed(path)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        for node in {node for function in functions for node in ast.walk(function)}:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Global):
                names = ["global"]
            else:
                continue
            wrong = [name for name in names if name.split(".")[0] not in OPTIONAL]
            faults += [f"{path}:{node.lineno} has {name} in a function" for name in wrong]
    assert not faults


def test_what_a_handler_raises_is_the_same_error_in_every_supported_python() -> None:
    """`except*` puts what is raised in it into a group before Python 3.11.4, and Debian 12 has 3.11.2."""
    for path in SOURCES:
        assert not any(isinstance(each, ast.TryStar) for each in ast.walk(parsed(path))), path


def test_file_names_say_what_is_inside() -> None:
    for path in SOURCES:
        assert not FORBIDDEN_NAMES & set(path.stem.split("_")), path
        assert path.stem == "__init__" or ast.get_docstring(parsed(path)), f"{path} has no docstring"


def test_the_top_level_holds_only_what_has_a_reason() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    tracked = listed.stdout.splitlines()
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


IMPORT_IN_ORDER = """
import importlib, json, sys, traceback
faults = {}
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except BaseException:
        faults[name] = traceback.format_exc()[-800:]
json.dump(faults, sys.stdout)
"""


def import_order() -> list[str]:
    """Every module of ours after those that it imports, by levels: each is imported while nothing is loaded that only
    a module above it needs."""
    graph = {module_name(path): needed_at_once(path) for path in SOURCES if module_name(path) != "__main__"}
    order: dict[str, None] = {}

    def visit(module: str) -> None:
        for imported in sorted(graph.get(module, ())):
            visit(imported)
        if module in graph:
            order.setdefault(module)

    groups = sorted(name for name in graph if not has_unit(name))  # packages that hold folders alone
    for module in [*groups, *sorted(graph.keys() - set(groups), key=lambda name: (level_of(name), name))]:
        visit(module)
    return ["gateway" if module == "__init__" else f"gateway.{module}" for module in order]


@pytest.mark.slow
def test_every_module_can_be_imported_when_those_are_loaded_that_it_imports() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_IN_ORDER],
        input=json.dumps(import_order()).encode(),
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert json.loads(done.stdout) == {}
