"""Pages of a PDF whose fonts do not say which letters their shapes are."""

import pytest

from gateway.engines.documents.reader import ReadDocument, read_document
from tests.support.pdfs import CATALOG, PAGES, pdf_of, pdf_stream


def _shapes(codes: str, more: str = "") -> ReadDocument:
    """A page whose font says neither which letters its codes are nor in which order it numbers its shapes."""
    objects = [
        CATALOG,
        PAGES,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R/G 8 0 R>>>>>>",
        pdf_stream(f"BT /F 10 Tf 50 700 Td <{codes}> Tj /G 10 Tf 0 -20 Td ({more}) Tj ET".encode()),
        b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        b"/Supplement 0>>/DW 1000/FontDescriptor 7 0 R>>",
        b"<</Type/FontDescriptor/FontName/X/Flags 4/FontBBox[0 -200 1000 900]/Ascent 900/Descent -200/StemV 80>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier>>",
    ]
    return read_document("pdf", pdf_of(objects), plain=True)


@pytest.mark.parametrize("codes", ["0b200369" * 5, "00240048000300560003" * 5])
def test_a_page_whose_font_only_numbers_its_shapes_is_one_to_be_seen(codes: str) -> None:
    read = _shapes(codes)
    assert (read.text, read.scanned) == ("", (1,))


def test_letters_beside_those_of_a_font_that_only_numbers_its_shapes_are_read_and_the_others_told() -> None:
    read = _shapes("0b2003690d4a", "Rope and tar")
    assert read.text == "Rope and tar"
    assert read.missing == ("3 letters of page 1, whose fonts do not say which they are",)
