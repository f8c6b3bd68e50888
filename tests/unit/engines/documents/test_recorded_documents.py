"""Recorded documents, and beside each what is read of it, as Markdown or plain text: PDFs, parts of Office files,
notebooks, mails, Markdown.
"""

from pathlib import Path

import pytest

from tests.support.office_files import recorded, text_in
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of

_READ = {".md": "markdown", ".txt": "text"}
_EXPECTED = sorted(each for each in (GOLDEN / "documents").glob("*/*") if each.suffix in _READ)


@pytest.mark.parametrize("file", _EXPECTED, ids=lambda file: f"{file.parent.name} {file.name}")
def test_a_recorded_document_is_read_as_is_recorded(file: Path) -> None:
    kind, form = file.parent.name, _READ[file.suffix]
    [body] = [recorded(each) for each in file.parent.glob(f"{file.stem}.*") if each.suffix not in _READ]
    if kind in ("mails", "notebooks", "markdown"):
        read = content_of(body, content_type="text/markdown" if kind == "markdown" else "text/plain", format=form)
    else:
        read = text_in(kind, body, plain=form == "text")
    assert f"{read}\n" == file.read_text("utf-8")
