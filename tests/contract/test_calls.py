"""What every door promises is kept in one place: no door has a copy of a rule."""

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.contract.test_budgets import code_lines
from tests.contract.test_layout import SOURCES, module_name
from tests.support.paths import ROOT

_MIDDLEWARE_LINES = 60
MIDDLEWARES = sorted((ROOT / "gateway/web/middleware").glob("[a-z]*.py"))

PLACES = {
    "a call is charged to its key's minute": ("limiter.charge", {"calls.call"}),
    "a slot is taken": ("limiter.take", {"calls.call"}),
    "a place in the gateway is taken": ("in_flight.take_place", {"calls.call"}),
    "what a caller may spend is looked up": ("budgets.of", {"calls.call", "access.budgets"}),
    "a call of a model is paid for": (
        "spend.reserve",
        {f"services.completion.{name}" for name in ("service", "native_calls", "embeddings")},
    ),
    "a call is recorded": ("Finished", {"calls.call"}),
    "an error that a client is told is counted": ("rejected.labels", {"calls.call"}),
    "a text is masked": ("sanitizer.clean", {"calls.masking"}),
    "a stream is masked": ("sanitizer.stream", {"calls.masking"}),
    "a stream ends with a failure": ("sink.fail", {"calls.delivery"}),
    "arguments of a web tool are checked again": ("tool.remember", {"services.websearch.tool_runner"}),
}
"""What is promised, the end of the name that is called for it, and the modules that may."""


@functools.cache
def called() -> list[tuple[str, str]]:
    """(module, dotted name) of each call of something that PLACES names, without underscores before the parts."""
    wanted = {name.rpartition(".")[2] for name, _ in PLACES.values()}
    return [
        (module_name(path), re.sub(r"(?:^|\.)_*", ".", ast.unparse(node.func)))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")).lstrip("_") in wanted
    ]


@pytest.mark.parametrize("promise", PLACES)
def test_a_promise_is_kept_in_one_module(promise: str) -> None:
    name, allowed = PLACES[promise]
    assert {module for module, each in called() if each.endswith(f".{name}")} == allowed


def test_no_door_makes_up_a_request() -> None:
    made_up = "cast(web." + "Request"
    assert not [str(path) for path in SOURCES if made_up in path.read_text()]


def test_no_handler_imports_a_middleware() -> None:
    imports = re.compile(r"^\s*(?:from|import) gateway\.web\.middleware", re.MULTILINE)
    assert {module_name(path) for path in SOURCES if imports.search(path.read_text())} == {"web.server.runner"}


@pytest.mark.parametrize("path", MIDDLEWARES, ids=lambda path: path.stem)
def test_a_middleware_is_a_short_adapter(path: Path) -> None:
    assert code_lines(path) <= _MIDDLEWARE_LINES
