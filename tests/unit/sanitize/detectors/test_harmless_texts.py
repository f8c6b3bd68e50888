"""Texts in which nothing is found, though something in them looks like a value.

They stand in `tests/golden/sanitize/harmless_texts.json`. The sentences of documentation are our own, of the kinds that
it is full of.
"""

import json

import pytest

from tests.support.paths import GOLDEN
from tests.support.scanned import kinds

RECORDED: dict[str, list[str]] = json.loads((GOLDEN / "sanitize" / "harmless_texts.json").read_text())
FILE_NAME = "rows identified by stat1.tbl are listed"
MEASURES = "1.172993630434470589e+02 1.905532343119886605e+02 2.613653823499444115e+02\n" * 400


@pytest.mark.parametrize("text", [MEASURES, FILE_NAME, *(text for texts in RECORDED.values() for text in texts)])
def test_what_only_looks_like_a_value_stays(text: str) -> None:
    assert kinds(text) == []
