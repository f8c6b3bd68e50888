"""Recorded documents, and beside each what is read of it, as Markdown or plain text: PDFs, parts of Office files,
notebooks, mails.
"""

import re
from pathlib import Path

import pytest

from tests.support import office_files as files
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of

_READ = {".md": "markdown", ".txt": "text"}
_EXPECTED = sorted(each for each in (GOLDEN / "documents").glob("*/*") if each.suffix in _READ)


def office_file(kind: str, recorded: str) -> bytes:
    """A file with this as its text, if it is a text, and with other or more parts behind their names."""
    text, *more = re.split(r"<!-- (.+) -->\n", recorded)
    parts = dict(zip(more[::2], more[1::2], strict=True))
    if kind == "docx":
        parts["word/document.xml"] = f"<w:document {files.WORD_SPACES}><w:body>{text}</w:body></w:document>"
    made = {"docx": files.docx_file, "xlsx": files.xlsx_file, "pptx": files.pptx_file}
    return files.repacked(made[kind]() if kind in made else files.odt_file(text.strip()), parts=parts)


@pytest.mark.parametrize("file", _EXPECTED, ids=lambda file: f"{file.parent.name} {file.name}")
def test_a_recorded_document_is_read_as_is_recorded(file: Path) -> None:
    kind, form = file.parent.name, _READ[file.suffix]
    [recorded] = [each for each in file.parent.glob(f"{file.stem}.*") if each.suffix not in _READ]
    body = office_file(kind, recorded.read_text("utf-8")) if recorded.suffix == ".xml" else recorded.read_bytes()
    if kind in ("mails", "notebooks"):
        read = content_of(body, content_type="text/plain", format=form)
    else:
        read = files.text_in(kind, body, plain=form == "text")
    assert f"{read}\n" == file.read_text("utf-8")
