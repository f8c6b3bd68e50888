"""Letters of a PDF become words and lines in the order in which they are read, in any script; fields keep
their labels.
"""

from collections.abc import Sequence

import pytest

from gateway.engines.documents.reader import ReadDocument, read_document
from tests.support.pdfs import CATALOG, PAGES, pdf_of, pdf_stream

_FIELD = b"<</Type/Annot/Subtype/Widget/Rect[%d %d %d %d]/T(%s)%s>>"
_BOX = b"/FT/Btn/V/%s/AS/%s/AP<</N<</Yes 7 0 R/Off 7 0 R>>>>"


def _read(content: str, letters: dict[str, str] | None = None, fields: Sequence[bytes] = ()) -> list[str]:
    """The paragraphs of a page of 600 by 800 points with a font of Courier's widths, of 10 points; `letters`: what the
    letters of its text stand for."""
    codes = {ord(code): text.encode("utf-16-be").hex() for code, text in (letters or {"~": "~"}).items()}
    pairs = "".join(f"<{code:02X}> <{text}>\n" for code, text in codes.items())
    cmap = f"1 begincodespacerange <00> <FF> endcodespacerange\n{len(codes)} beginbfchar\n{pairs}endbfchar"
    numbers = b" ".join(b"%d 0 R" % (8 + number) for number in range(len(fields)))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/Annots[%s]>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[%s]>>>>" % numbers,
        PAGES,
        page % numbers,
        pdf_stream(f"BT /F 10 Tf {content} ET".encode()),
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier/ToUnicode 6 0 R>>",
        pdf_stream(cmap.encode()),
        pdf_stream(b"", b"/Type/XObject/Subtype/Form/BBox[0 0 10 10]"),
        *fields,
    ]
    return read_document("pdf", pdf_of(objects), plain=True).text.split("\n\n")


def _at(x: float, y: float, text: str) -> str:
    return f"1 0 0 1 {x} {y} Tm ({text}) Tj "


def _table(*rows: tuple[str, str, str]) -> str:
    return "".join(_at(100 + 120 * x, 700 - 16 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row))


def test_words_of_a_script_from_right_to_left_are_whole_and_in_order_with_others_between_them() -> None:
    # drawn from left to right: the last word first, its letters turned round
    read = _read(_at(300, 700, "dcb PDF 2026 gfe"), dict(zip("bcdefg", "אבגדהו", strict=True)))
    assert read == ["דהו 2026 PDF אבג"]


def test_a_table_of_a_script_from_right_to_left_begins_with_its_right_column() -> None:
    content = _table(("cb", "fe", "ihg"), ("4", "10", "ed"), ("7", "20", "gf"), ("8", "30", "hg"))
    read = _read(content, dict(zip("bcdefghi", "אבגדהוזח", strict=True)))
    assert read == ["וזח\tדה\tאב\nגד\t10\t4\nהו\t20\t7\nוז\t30\t8"]


def test_words_from_right_to_left_in_a_cell_of_another_table_stay_in_order() -> None:
    rows = ("Wort", "Zahl", "cb fe"), ("Quai", "PDF 4", "cb"), ("Tau", "10 m", "fe cb"), ("Holz", "20 m", "fe")
    read = _read(_table(*rows), dict(zip("bcef", "אבדה", strict=True)))
    assert read == ["Wort\tZahl\tדה אב\nQuai\tPDF 4\tאב\nTau\t10 m\tאב דה\nHolz\t20 m\tדה"]


@pytest.mark.parametrize(
    ("content", "letters", "text"),
    [
        # The letters of an Arabic ligature stay in their order.
        (_at(300, 700, "dcb"), {"b": "س", "c": "لا", "d": "م"}, "سلام"),
        # The letters of a wide ligature stay on their line.
        ("2 0 0 1 100 700 Tm (A~nity) Tj", {"~": "ffi"}, "Affinity"),
        # Characters of two code units are whole.
        (_at(100, 700, "a = b"), {"a": "𝑡", "b": "𝒙"}, "𝑡 = 𝒙"),
    ],
)
def test_a_letter_may_stand_for_several(content: str, letters: dict[str, str], text: str) -> None:
    assert _read(content, letters) == [text]


@pytest.mark.parametrize(("apart", "together"), [(0.0, 1), (1.2, 1), (0.0, 3), (2.0, 3), (3.5, 4)])
def test_letters_of_a_scan_stand_as_far_apart_as_their_line_has_them(apart: float, together: int) -> None:
    at, content = 100.0, f"{apart} Tc "
    for word in ("North", "Buona", "Vista", "Drive"):
        for text in (word[:together], *word[together:-1], f"{word[-1]} "):
            content += _at(at, 700, text)
            at += len(text) * (6 + apart)
    assert _read(content) == ["North Buona Vista Drive"]


def test_the_value_of_a_field_stands_behind_its_label() -> None:
    content = _at(60, 700, "Name:") + _at(60, 680, "Home harbour:") + _at(60, 640, "Street") + _at(260, 640, "Town")
    content += _at(80, 580, "Rope") + _at(180, 580, "Paint")
    fields = [
        _FIELD % (200, 698, 400, 710, b"a", b"/FT/Tx/V(Aurora)"),
        _FIELD % (200, 678, 400, 690, b"b", b"/FT/Tx/V(Kiel)"),
        _FIELD % (60, 622, 200, 636, b"c", b"/FT/Tx/V(Quay 4)"),
        _FIELD % (260, 622, 400, 636, b"d", b"/FT/Tx/V(Bergen)"),
        _FIELD % (64, 578, 74, 588, b"e", _BOX % (b"Yes", b"Yes")),
        _FIELD % (164, 578, 174, 588, b"f", _BOX % (b"Off", b"Off")),
    ]
    read = " ".join(" ".join(_read(content, fields=fields)).split())
    assert read == "Name: Aurora Home harbour: Kiel Street Quay 4 Town Bergen ☒ Rope ☐ Paint"


def test_values_of_several_rows_below_one_head_stay_a_table() -> None:
    heads = ((60, "Article"), (220, "Pieces"), (380, "Price"))
    content = "".join(_at(x, 700, head) for x, head in heads)
    fields = [
        _FIELD % (x, 682 - 16 * y, x + 60, 694 - 16 * y, b"%d%d" % (y, x), b"/FT/Tx/V(%c%d)" % ("abc"[n].encode(), y))
        for y in range(3)
        for n, (x, _) in enumerate(heads)
    ]
    assert _read(content, fields=fields) == ["Article\tPieces\tPrice\na0\tb0\tc0\na1\tb1\tc1\na2\tb2\tc2"]


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


def test_lines_of_chinese_and_japanese_are_joined_without_a_space() -> None:
    letters = dict(zip("abcdefghijklmnop", "港口的灯塔每晚七点亮起船长确认天", strict=True))
    lines = ("abcdefghijklmnop", "bcdefghijklmnopa", "cde")
    read = _read("".join(_at(50, 700 - 12 * n, line) for n, line in enumerate(lines)), letters)
    assert read == ["".join(letters[each] for line in lines for each in line)]
