"""Recorded documents, and beside each what is read of it, as Markdown or plain text: PDFs, texts of .odt files,
notebooks, mails.
"""

from pathlib import Path

import pytest

from tests.support.office_files import odt_file, text_in
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of

_READ = {".md": "markdown", ".txt": "text"}
_EXPECTED = sorted(each for each in (GOLDEN / "documents").glob("*/*") if each.suffix in _READ)


@pytest.mark.parametrize("file", _EXPECTED, ids=lambda file: f"{file.parent.name} {file.name}")
def test_a_recorded_document_is_read_as_is_recorded(file: Path) -> None:
    [body] = [each.read_bytes() for each in file.parent.glob(f"{file.stem}.*") if each.suffix not in _READ]
    if file.parent.name in ("odt", "pdf"):
        whole = odt_file(body.decode().strip()) if file.parent.name == "odt" else body
        read = text_in(file.parent.name, whole, plain=file.suffix == ".txt")
    else:
        read = content_of(body, content_type="text/plain", format=_READ[file.suffix])
    assert f"{read}\n" == file.read_text("utf-8")
