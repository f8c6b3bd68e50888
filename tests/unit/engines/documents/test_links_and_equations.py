"""Links, equations, ticked boxes and values of Office documents and PDFs are in their text."""

import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml

from gateway.engines.documents.equations import M, tex_of
from gateway.engines.documents.reader import read_document
from tests.support.office_files import repacked, saved, text_in


@pytest.mark.parametrize(
    ("xml", "tex"),
    [
        ("<f><num><r><t>z</t></r></num><den><r><t>n</t></r></den></f>", r"\frac{z}{n}"),
        ("<sSubSup><e><r><t>x</t></r></e><sub><r><t>i</t></r></sub><sup><r><t>2</t></r></sup></sSubSup>", "x_{i}^{2}"),
        ("<rad><deg><r><t>3</t></r></deg><e><r><t>y</t></r></e></rad>", r"\sqrt[3]{y}"),
        ('<nary><naryPr><chr val="∑"/></naryPr><sub><r><t>k</t></r></sub><e><r><t>a</t></r></e></nary>', r"\sum_{k} a"),
        ('<d><dPr><begChr val="["/><endChr val="]"/></dPr><e><r><t>b</t></r></e></d>', "[b]"),
        ("<m><mr><e><r><t>1</t></r></e><e><r><t>0</t></r></e></mr></m>", r"\begin{matrix}1 & 0\end{matrix}"),
        ('<acc><accPr><chr val="&#x304;"/></accPr><e><r><t>v</t></r></e></acc>', r"\bar{v}"),
    ],
)
def test_an_equation_is_tex(xml: str, tex: str) -> None:
    whole = f'<oMath xmlns="{M[1:-1]}">{xml}</oMath>'.replace(" val=", ' m:val="').replace('""', '"')
    assert tex_of(parse_xml(whole.replace("<oMath ", f'<oMath xmlns:m="{M[1:-1]}" '))) == tex


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (1234.5, '#,##0.00 "€"', "1,234.50 €"),
        (1234.5, "[$$-409]#,##0.00", "$1,234.50"),
        (1234.5, "#,##0.00\\ [$kr-41D]", "1,234.50 kr"),
        (1234.5, '"CHF" 0.0', "CHF 1234.5"),
        (1234.5, "0.00", "1234.5"),
        (0.125, "0.0%", "12.5 %"),
        (0.4, "General", "0.4"),
        (0.042, "0.0%", "4.2 %"),
        # A percent sign that a number format only writes multiplies nothing.
        (0.042, '0"%"', "0.042"),
        (0.042, "0\\%", "0.042"),
        # A formula without a value is shown.
        ("=A2+A3", "General", "=A2+A3"),
    ],
)
def test_a_cell_has_the_currency_and_the_percent_sign_of_its_format(value: object, form: str, shown: str) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Price", value])
    book.active["B1"].number_format = form
    assert f"| Price | {shown} |" in text_in("xlsx", saved(book))


def two_sheets() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["first sheet"])
    book.create_sheet("Second").append(["second sheet"])
    return saved(book)


def two_slides() -> bytes:
    deck = pptx.Presentation()
    for text in ("first slide", "second slide"):
        deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, 4_000_000, 500_000).text_frame.text = text
    return saved(deck)


@pytest.mark.parametrize("content", [None, b"<worksheet><sheetData><row>", b"\x00\x01"])
@pytest.mark.parametrize(
    ("kind", "body", "part", "kept"),
    [
        ("xlsx", two_sheets(), "xl/worksheets/sheet1.xml", "second sheet"),
        ("pptx", two_slides(), "ppt/slides/slide1.xml", "second slide"),
    ],
)
def test_a_damaged_or_missing_part_costs_only_itself(
    kind: str, body: bytes, part: str, kept: str, content: bytes | None
) -> None:
    found = read_document(kind, repacked(body, parts={part: content}), plain=False)
    assert kept in found.text and found.missing
