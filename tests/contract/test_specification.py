"""Every sentence of the service's specification has a test, or a document that says what is done instead.

The rows are in `specification.txt`, which says how they are written.
"""

import ast
import functools
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

LINES = (ROOT / "tests" / "contract" / "specification.txt").read_text(encoding="utf-8").splitlines()
ROWS = [line.split(" | ") for line in LINES if line and not line.startswith("#")]
BY_TEST = sorted({row[1] for row in ROWS if len(row) == 2})
BY_DOCUMENT = sorted((row[1], row[2]) for row in ROWS if len(row) == 3)


@functools.cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@functools.cache
def cases_of(file: str) -> set[str]:
    """The ids of the cases of a file's tests, as pytest collects them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", file]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    return {line.partition("::")[2] for line in shown.stdout.splitlines()}


def test_every_row_is_a_sentence_with_a_test_or_a_document_and_its_words() -> None:
    assert len(ROWS) >= 177 and len(BY_DOCUMENT) <= 25
    assert all(len(row) == 2 + (not row[1].startswith("tests/")) for row in ROWS)


@pytest.mark.parametrize("test", BY_TEST)
def test_the_test_of_a_sentence_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert name in (cases_of(file) if "[" in name else functions_of(file))


@pytest.mark.parametrize(("document", "words"), BY_DOCUMENT)
def test_the_document_of_a_sentence_says_so(document: str, words: str) -> None:
    assert words in (ROOT / document).read_text(encoding="utf-8")
