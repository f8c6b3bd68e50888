"""Documents of keys: what is taken without the schema is what the schema takes."""

import copy
import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway import schemas
from gateway.access import key_document
from gateway.access.api_keys import KeyFile, KeyRequest
from gateway.domain import SCOPES

_VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 1.0, 1.5, -0.5, 10**30, "", "a", "abcd2345", "abcd2345\n", "ABCD2345", "é" * 100, "x" * 101,
    "0" * 64, "g" * 64, [], {}, [1], [None], ["chat"], ["chat", "chat"], ["mcp:a", "mcp:A"], ["mcp:a"], [""],
    ["chat\n"], [["chat"]],
)  # fmt: skip


def _written(tmp_path: Path) -> Any:
    """What the commands write: a plain key, and one with everything."""
    file = KeyFile(tmp_path / "keys.json")
    file.create(KeyRequest(name="plain", scopes=("chat",)))
    limits = {"per_minute": 1, "concurrent": 1, "tokens_per_minute": 1, "tokens_per_day": 1, "tool_calls_per_day": 1}
    file.create(KeyRequest("all", (*SCOPES, "mcp:docs"), expires_s=60, spend_per_month=0.5, **limits))
    return orjson.loads(file.path.read_bytes())


def test_what_the_commands_write_needs_no_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(schemas, "Checker")
    assert key_document.first_problem(_written(tmp_path)) is None


@pytest.mark.slow
def test_every_change_of_a_document_is_judged_as_the_schema_judges_it(tmp_path: Path) -> None:
    document, checker = _written(tmp_path), schemas.Checker(schemas.load("keys"))
    fields = ("id", "name", "sha256", "scopes", "created", "expires", "per_minute", "spend_per_month", "other")
    kinds = {True: 0, False: 0}
    for number, field, value in itertools.product((0, 1), fields, (*_VALUES, ...)):
        changed = copy.deepcopy(document)
        if value is ...:
            changed["keys"][number].pop(field, None)
        else:
            changed["keys"][number][field] = value
        expected = checker.check(changed, limit=1)
        problem = key_document.first_problem(changed)
        assert [str(problem)] * (problem is not None) == [str(each) for each in expected], (field, value)
        kinds[problem is None] += 1
    assert min(kinds.values()) > 20, "the changes make valid documents and invalid ones"


@pytest.mark.parametrize("document", [*_VALUES, {"version": 2, "keys": []}, {"version": True, "keys": []},
    {"version": 1}, {"version": 1, "keys": {}}, {"version": 1.0, "keys": []}, {"version": 1, "keys": [], "more": 1},
    {"version": 1, "keys": [[]]}, {"version": 1, "keys": []}], ids=lambda value: str(value)[:30])  # fmt: skip
def test_a_whole_document_is_judged_as_the_schema_judges_it(document: Any) -> None:
    expected = schemas.Checker(schemas.load("keys")).check(document, limit=1)
    problem = key_document.first_problem(document)
    assert [str(problem)] * (problem is not None) == [str(each) for each in expected]
