"""Files full of text that people cannot see: inputs of `bench.hostile_functions`."""

from collections.abc import Callable
from functools import partial

import docx
import openpyxl
import pptx
from openpyxl.styles import Font
from pptx.dml.color import RGBColor

from gateway.engines.documents.reader import archive_kind, read_document
from tests.support.office_files import epub_file, odt_file, saved
from tests.support.pdfs import drawn_pdf

Make = Callable[[int], bytes]
_ODT_STYLE = (
    '<style:style xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" style:name="W"'
    ' style:family="text"><style:text-properties fo:color="#ffffff"/></style:style>'
)


def read(body: bytes) -> object:
    """The document, whatever it is."""
    return read_document(archive_kind(body) or "pdf", body, plain=False)


def _docx(size: int) -> bytes:
    document = docx.Document()
    paragraph = document.add_paragraph("a")
    for number in range(size // 60):
        run = paragraph.add_run(f"a{number} ")
        run.font.hidden = number % 2 == 0
        run.font.color.rgb = docx.shared.RGBColor(255, 255, 255)
    return saved(document)


def _xlsx(size: int) -> bytes:
    book = openpyxl.Workbook()
    sheet, white = book.active, Font(color="FFFFFFFF")
    for number in range(1, size // 60):
        cell = sheet.cell(number, 1, f"a{number}")
        cell.font, cell.number_format = white, f'"{number % 90}";;;'
        sheet.row_dimensions[number].hidden = number % 3 == 0
    return saved(book)


def _pptx(size: int) -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for number in range(size // 200):
        if number % 2 and number < 500:
            slide.shapes.add_shape(1, number, number, 9, 9)
        box = slide.shapes.add_textbox(number, number, 9_000, 9_000)
        box.text_frame.text = "a"
        box.text_frame.paragraphs[0].runs[0].font.color.rgb = RGBColor(255, 255, 255)
    return saved(deck)


def _odt(unit: str, size: int) -> bytes:
    return odt_file(_ODT_STYLE + unit * (size // len(unit)))


def _nested(unit: str, end: str, size: int) -> bytes:
    depth = min(size // 40, 200)
    return odt_file(_ODT_STYLE + (unit * depth + end * depth) * (size // (40 * depth)))


def _pdf(unit: str, size: int) -> bytes:
    return drawn_pdf("BT /F 9 Tf 40 700 Td (a) Tj ET " + unit * (size // len(unit)))


def _epub(size: int) -> bytes:
    return epub_file(*['<html><body><p hidden="">a</p><p>b</p></body></html>'] * (size // 400))


HIDDEN: dict[str, Make] = {
    "docx runs": _docx,
    "xlsx cells": _xlsx,
    "pptx boxes": _pptx,
    "odt spans": partial(_odt, '<text:p><text:span text:style-name="W">a</text:span></text:p>'),
    "odt fields": partial(_odt, '<text:p>a<text:hidden-paragraph text:is-hidden="true"/></text:p>'),
    "odt spans in spans": partial(_nested, '<text:span text:style-name="W">', "</text:span>"),
    "pdf white": partial(_pdf, "1 1 1 rg BT /F 9 Tf 40 600 Td (a) Tj ET "),
    "pdf white over areas": partial(_pdf, "1 0 0 rg 0 0 1 1 re f 1 1 1 rg BT /F 9 Tf 40 600 Td (a) Tj ET "),
    "pdf invisible over pictures": partial(_pdf, "q 1 0 0 1 9 9 cm /I Do Q BT 3 Tr /F 9 Tf 40 600 Td (a) Tj ET "),
    "epub chapters": _epub,
}
