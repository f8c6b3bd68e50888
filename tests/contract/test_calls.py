"""What every door promises is kept in one place: no door has a copy of a rule."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_budgets import code_lines
from tests.contract.test_layout import SOURCES, module_name
from tests.support.paths import ROOT

_MIDDLEWARE_LINES = 60
TREES = {module_name(path): ast.parse(path.read_text()) for path in SOURCES}
MIDDLEWARES = sorted((ROOT / "gateway/web/middleware").glob("[a-z]*.py"))

PLACES = {
    "a call is charged to its key's minute": ("limiter.charge", {"calls.call"}),
    "a slot is taken": ("limiter.take", {"calls.call"}),
    "a place in the gateway is taken": ("in_flight.take_place", {"calls.call"}),
    "what a caller may spend is looked up": ("budgets.of", {"calls.call", "access.budgets"}),
    "a call of a model is paid for": (
        "spend.reserve",
        {f"services.completion.{name}" for name in ("service", "native_responses", "embeddings")},
    ),
    "a call is recorded": ("Finished", {"calls.call"}),
    "an error that a client is told is counted": ("rejected.labels", {"calls.call"}),
    "a text is masked": ("sanitizer.clean", {"calls.masking"}),
    "a stream is masked": ("sanitizer.stream", {"calls.masking"}),
    "a stream ends with a failure": ("sink.fail", {"calls.delivery"}),
    "arguments of a web tool are checked again": ("tool.remember", {"services.websearch.tool_runner"}),
}
"""What is promised, the end of the name that is called for it, and the modules that may."""


def calls(tree: ast.AST) -> Iterator[str]:
    """The dotted names that are called in a module, without underscores before their parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ".".join(part.lstrip("_") or part for part in ast.unparse(node.func).split("."))


@pytest.mark.parametrize("promise", PLACES)
def test_a_promise_is_kept_in_one_module(promise: str) -> None:
    name, allowed = PLACES[promise]
    wanted = ".".join(part.lstrip("_") for part in name.split("."))
    found = {module for module, tree in TREES.items() if any(f".{each}".endswith(f".{wanted}") for each in calls(tree))}
    assert found == allowed


def test_no_door_makes_up_a_request() -> None:
    made_up = "cast(web." + "Request"
    assert not [str(path) for path in SOURCES if made_up in path.read_text()]


def test_no_handler_imports_a_middleware() -> None:
    imports = [
        (module, node.module)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gateway.web.middleware")
    ]
    assert {module for module, _ in imports} == {"web.server.runner"}


@pytest.mark.parametrize("path", MIDDLEWARES, ids=lambda path: path.stem)
def test_a_middleware_is_a_short_adapter(path: Path) -> None:
    assert code_lines(path) <= _MIDDLEWARE_LINES
