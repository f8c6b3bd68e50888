"""Recorded documents, and beside each what is read of it, as Markdown or plain text: PDFs, texts of Office files,
notebooks, mails.
"""

import re
from pathlib import Path

import pytest

from tests.support.office_files import WORD_SPACES, docx_file, odt_file, repacked, text_in
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of

_READ = {".md": "markdown", ".txt": "text"}
_EXPECTED = sorted(each for each in (GOLDEN / "documents").glob("*/*") if each.suffix in _READ)


def docx_of(text: str) -> bytes:
    """A .docx with this in its document, and with the parts that are named in it."""
    body, *more = re.split(r"<!-- (.+) -->\n", text)
    parts = {"word/document.xml": f"<w:document {WORD_SPACES}><w:body>{body}</w:body></w:document>"}
    return repacked(docx_file(), parts=parts | dict(zip(more[::2], more[1::2], strict=True)))


def read(body: bytes, kind: str, form: str) -> str:
    if kind not in ("odt", "docx", "pdf"):
        return content_of(body, content_type="text/plain", format=form)
    if kind != "pdf":
        body = {"odt": odt_file, "docx": docx_of}[kind](body.decode().strip())
    return text_in(kind, body, plain=form == "text")


@pytest.mark.parametrize("file", _EXPECTED, ids=lambda file: f"{file.parent.name} {file.name}")
def test_a_recorded_document_is_read_as_is_recorded(file: Path) -> None:
    [body] = [each.read_bytes() for each in file.parent.glob(f"{file.stem}.*") if each.suffix not in _READ]
    assert f"{read(body, file.parent.name, _READ[file.suffix])}\n" == file.read_text("utf-8")
