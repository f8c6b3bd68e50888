"""A document that tells no title of its own is named by its first heading."""

import docx
import openpyxl
import pytest

from gateway.engines.documents.document_text import TITLE_WITHIN_CHARS
from gateway.engines.documents.pdf import PdfWish
from gateway.engines.documents.reader import read_document
from tests.support.office_files import pdf_file, saved


def word_file(*, title: str, before: str) -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_paragraph(before)
    document.add_heading("Tide tables", 1)
    document.add_paragraph("High water is at noon.")
    return saved(document)


@pytest.mark.parametrize(
    ("title", "before", "told"),
    [
        ("", "Harbour office", "Tide tables"),
        ("Of 1999", "Harbour office", "Of 1999"),
        ("", "Dear captain, " + "the water rises. " * (TITLE_WITHIN_CHARS // 10), ""),
    ],
)
def test_a_heading_near_the_beginning_names_a_document_without_title(title: str, before: str, told: str) -> None:
    assert read_document("docx", word_file(title=title, before=before), plain=False).title == told


def test_the_first_heading_names_a_pdf_read_from_its_beginning() -> None:
    sentence = "The water rises twice a day in this harbour."
    body = pdf_file([[(60, 780, 24, f"Report {number}"), (60, 740, 12, sentence)] for number in (1, 2)])
    assert read_document("pdf", body, plain=False).title == "Report 1"
    assert read_document("pdf", body, plain=False, wish=PdfWish((2, 2))).title == ""


def test_a_sheet_s_name_is_no_title() -> None:
    book = openpyxl.Workbook()
    book.active.append(["Roof", 1])
    assert read_document("xlsx", saved(book), plain=False).title == ""
