"""A part of a document that cannot be read, whatever its reader raises, costs itself and is named."""

import statistics
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml

from gateway.engines.documents import pdf
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.equations import M
from gateway.engines.documents.reader import ReadDocument, read_document
from gateway.engines.fetch.errors import Unreadable
from tests.support.office_files import epub_file, odt_file, pdf_file, saved
from tests.support.pdfs import drawn_pdf

_FORMULA = f'<m:oMath xmlns:m="{M[1:-1]}"><m:r><m:t>{{}}</m:t></m:r></m:oMath>'
_MATHML = '<draw:object><math xmlns="http://www.w3.org/1998/Math/MathML"><mi>{}</mi></math></draw:object>'


def _pdf() -> bytes:
    def page(number: int) -> list[tuple[float, float, float, str]]:
        rows = (
            ("Article", "Pieces", "Price"),
            ("Rope", "10", "4.20"),
            ("Paint", "6", "3.15"),
            (f"cell {number}", "2", "1"),
        )
        cells = [(60.0 + 160 * x, 700.0 - 20 * y, 12.0, rows[y][x]) for y in range(4) for x in range(3)]
        return [(60, 780, 24, f"Part {number}"), *cells, (60, 500, 12, f"Text {number}.")]

    return pdf_file([page(1), page(2)])


def _docx() -> bytes:
    document = docx.Document()
    for number in (1, 2):
        document.add_heading(f"Part {number}", 1)
        document.add_paragraph(f"Text {number}.")._p.append(parse_xml(_FORMULA.format(f"x{number}")))
        document.add_table(1, 2).cell(0, 0).text = f"cell {number}"
    return saved(document)


def _pptx() -> bytes:
    deck = pptx.Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Part {number}"
        frame = slide.shapes.add_textbox(0, 900_000, 900_000, 900_000).text_frame
        frame.text = f"Text {number}."
        frame.paragraphs[0]._p.append(parse_xml(_FORMULA.format(f"x{number}")))
        slide.shapes.add_table(1, 2, 0, 1_900_000, 900_000, 900_000).table.cell(0, 0).text = f"cell {number}"
    return saved(deck)


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number in (1, 2):
        book.create_sheet(f"Part {number}").append([f"cell {number}"])
    return saved(book)


def _odt() -> bytes:
    part = f"<text:h>Part #</text:h><text:p>Text #.{_MATHML.format('x#')}</text:p><table:table><table:table-row>"
    part += "<table:table-cell>cell #</table:table-cell></table:table-row></table:table>"
    return odt_file(part.replace("#", "1") + part.replace("#", "2"))


def _epub() -> bytes:
    return epub_file(*(f"<html><body><p>Text {number}.</p></body></html>" for number in (1, 2)))


_FILES = {"pdf": _pdf, "docx": _docx, "pptx": _pptx, "xlsx": _xlsx, "odt": _odt, "epub": _epub}


def _with_failure(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: BaseException, kind: str
) -> tuple[ReadDocument, ReadDocument]:
    """What is read of a file, as it is and while the first call of a function raises an error."""
    body, right, calls = _FILES[kind](), getattr(owner, name), []

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
