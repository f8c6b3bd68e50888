"""A part of a document that cannot be read, whatever its reader raises, costs itself and is named."""

import statistics
from typing import Any

import pytest

from gateway.engines.documents import pdf
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.reader import ReadDocument, read_document
from gateway.engines.fetch.errors import Unreadable
from tests.support.office_files import epub_file, recorded
from tests.support.paths import GOLDEN
from tests.support.pdfs import drawn_pdf

_FILES = {file.parent.name: recorded(file) for file in (GOLDEN / "documents").glob("*/two_parts.[xp]*")}
"""Documents of two parts, whose texts differ in a number."""
_FILES["epub"] = epub_file(*(f"<html><body><p>Text {number}.</p></body></html>" for number in (1, 2)))


def _with_failure(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: BaseException, kind: str
) -> tuple[ReadDocument, ReadDocument]:
    """What is read of a file, as it is and while the first call of a function raises an error."""
    body, right, calls = _FILES[kind], getattr(owner, name), []

    def fails_once(*args: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == 1:
            raise error
        return right(*args, **named)

    whole = read_document(kind, body, plain=False)
    monkeypatch.setattr(owner, name, fails_once)
    return whole, read_document(kind, body, plain=False)


@pytest.mark.parametrize("error", [KeyError("key"), RecursionError(), statistics.StatisticsError(), Unreadable("x")])
@pytest.mark.parametrize(
    ("kind", "owner", "function", "missing", "lost"),
    [
        ("pdf", pdf, "read_page", "page 1", ["# Part 1", "| cell 1 |", "Text 1."]),
        ("pdf", pdf, "build_blocks", "page 1", ["# Part 1", "| cell 1 |", "Text 1."]),
        ("pdf", DocumentText, "heading", "title of page 1", ["# Part 1"]),
        ("pdf", DocumentText, "table", "table of page 1", ["| cell 1 |"]),
        ("pdf", pdf, "paragraph", "text of page 1", ["Text 1."]),
        ("docx", DocumentText, "heading", "paragraph 1", ["# Part 1"]),
        ("docx", DocumentText, "table", "table 1", ["cell 1"]),
        ("docx", DocumentText, "formula", "formula of paragraph 2", ["$x1$"]),
        ("pptx", DocumentText, "heading", "title of slide 1", ["## Part 1"]),
        ("pptx", DocumentText, "table", "table of slide 1", ["cell 1"]),
        ("pptx", DocumentText, "paragraph", "text of slide 1", ["Text 1."]),
        ("xlsx", DocumentText, "table", "sheet Part 1", ["cell 1"]),
        ("odt", DocumentText, "heading", "heading", ["# Part 1"]),
        ("odt", DocumentText, "table", "table", ["cell 1"]),
        ("odt", DocumentText, "formula", "formula of paragraph", ["$x1$"]),
        ("epub", DocumentText, "paragraph", "OEBPS/text parts/c0.xhtml", ["Text 1."]),
    ],
)
def test_a_part_that_fails_costs_itself_and_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: str, owner: Any, function: str, missing: str, lost: list[str], error: Any
) -> None:
    whole, read = _with_failure(monkeypatch, owner, function, error, kind)
    assert read.missing == (missing,) and not whole.missing
    for part in lost:
        assert part in whole.text and part not in read.text and part.replace("1", "2") in read.text
    assert set(read.text.splitlines()) <= {line.replace(lost[0], "") for line in whole.text.splitlines()} | {"| --- |"}


def test_a_title_in_broken_utf_16_costs_itself() -> None:
    for title, found in ((b"<FEFF00480061>", ("Ha", ())), (b"<FEFF0048D8DB>", ("", ("title",)))):
        read = read_document("pdf", drawn_pdf("BT /F 12 Tf 60 700 Td (The crane stands.) Tj ET", title), plain=True)
        assert read.text == "The crane stands." and (read.title, read.missing) == found


@pytest.mark.parametrize("kind", _FILES)
def test_the_limit_of_memory_ends_a_document(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    name = "table" if kind != "epub" else "paragraph"
    with pytest.raises(MemoryError):
        _with_failure(monkeypatch, DocumentText, name, MemoryError(), kind)
