"""PDF and Office documents as Markdown: headings, lists, tables, pages; hostile and damaged ones are refused."""

import io
import random
import zipfile

import docx
import pptx
import pytest
from PIL import Image
from pptx.util import Emu

from gateway.engines.documents.document_text import TITLE_WITHIN_CHARS
from gateway.engines.documents.numbering import shown
from gateway.engines.documents.office import MAX_ENTRIES
from gateway.engines.documents.pdf import PdfWish
from gateway.engines.documents.reader import archive_kind, page_range, read_document
from gateway.engines.fetch.errors import Unreadable
from tests.support.office_files import docx_file, odt_file, pdf_file, pptx_file, repacked, saved, scanned_pdf, xlsx_file


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), "white").save(out, "PNG")
    return out.getvalue()


def text(kind: str, body: bytes, *, plain: bool = False, pages: tuple[int, int] | None = None) -> str:
    return read_document(kind, body, plain=plain, wish=PdfWish(pages)).text


def test_a_docx_keeps_headings_lists_and_tables() -> None:
    body = docx_file()
    assert text("docx", body) == (
        "# Harbour report\n\n# Goods\n\nThe crane is under repair.\n\n- rope\n- paint\n\n"
        "| Article | Price |\n| --- | --- |\n| Rope\\|thin | 4.20 |"
    )
    assert "Article\tPrice" in text("docx", body, plain=True)


def test_pages_of_a_pdf_are_marked_and_can_be_chosen() -> None:
    body = pdf_file([[(60, 780, 12, f"This is page {number} of the report")] for number in range(1, 6)])
    assert text("pdf", body).count("<!-- page ") == 5
    chosen = text("pdf", body, pages=(2, 3))
    assert "page 2 of" in chosen and "page 3 of" in chosen and "page 1 of" not in chosen and "page 4 of" not in chosen
    for pages in ((6, 7), (3, 2)):
        with pytest.raises(Unreadable, match="has 5 pages"):
            text("pdf", body, pages=pages)


def test_scanned_pages_are_named_and_get_the_text_that_ocr_read() -> None:
    body = scanned_pdf(picture(), picture())
    assert read_document("pdf", body, plain=False)[:3] == ("", "", (1, 2))
    read = read_document("pdf", body, plain=False, wish=PdfWish(texts={2: "# Read"}))
    assert read.scanned == (1,) and read.text == "<!-- page 1 -->\n\n<!-- page 2 -->\n\n# Read"


def test_a_blank_page_is_no_scan() -> None:
    body = pdf_file([[(60, 780, 12, "The first page")], [], [(60, 780, 12, "The last page")]])
    assert not read_document("pdf", body, plain=False).scanned
    with pytest.raises(Unreadable, match="holds no text"):
        text("pdf", pdf_file([[]]))


def test_a_fragment_names_pages() -> None:
    assert page_range("page=3-7") == (3, 7)
    assert page_range("page=3") == (3, 3)
    assert page_range("section") is None and page_range("page=-3") is None


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return out.getvalue()


@pytest.mark.slow
def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    bomb = archive({"word/document.xml": b"<a>" + b"x" * 20_000_000})
    with pytest.raises(Unreadable, match="unpacks to more") as refused:
        text("docx", bomb)
    assert refused.value.code == "too_large"
    with pytest.raises(Unreadable, match="unpacks to more"):
        text("docx", archive({f"{number}.bin": b"" for number in range(MAX_ENTRIES + 1)}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_archive_with_xml_entities_is_refused(encoding: str) -> None:
    head = f"<!-- {'padding ' * 200_000} -->"
    content = f'{head}<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'.encode(encoding)
    with pytest.raises(Unreadable, match="XML entities"):
        text("docx", archive({"word/document.xml": content, "pad.bin": random.Random(1).randbytes(400_000)}))


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx", "odt", "pdf"])
def test_a_damaged_document_is_refused_by_name(kind: str) -> None:
    made = {"docx": docx_file, "xlsx": xlsx_file, "pptx": pptx_file}
    whole = made[kind]() if kind in made else odt_file("<text:p>a</text:p>")
    for body in (whole[: len(whole) // 2], b"%PDF-1.4 nothing" if kind == "pdf" else archive({"other.xml": b"<a/>"})):
        with pytest.raises(Unreadable, match="damaged"):
            text(kind, body)


def test_the_kind_of_an_archive_is_told_from_what_it_holds() -> None:
    made = (
        docx_file(),
        xlsx_file(),
        pptx_file(),
        odt_file(""),
        archive({"readme.txt": b"hello"}),
        b"PK\x03\x04 nothing",
    )
    assert list(map(archive_kind, made)) == ["docx", "xlsx", "pptx", "odt", "", ""]


def test_a_cell_that_says_it_spans_a_billion_columns_takes_as_many_as_word_has() -> None:
    wide = repacked(docx_file(), ("<w:tcPr>", '<w:tcPr><w:gridSpan w:val="1000000000"/>'))
    assert "Rope" in text("docx", wide)


@pytest.mark.parametrize(
    ("number", "form", "label"),
    [(4, "lowerRoman", "iv"), (1994, "upperRoman", "MCMXCIV"), (28, "upperLetter", "BB"), (7, "decimalZero", "07")],
)
def test_numbers_are_shown_in_the_forms_of_word(number: int, form: str, label: str) -> None:
    assert shown(number, form) == label


def test_text_boxes_in_text_boxes_of_an_odt_are_read_once_each() -> None:
    body = "<text:p>0</text:p>"
    for depth in range(1, 40):
        body = f"<text:p>{depth}<draw:frame><draw:text-box>{body}</draw:text-box></draw:frame></text:p>"
    assert text("odt", odt_file(body)).split("\n\n") == [str(depth) for depth in reversed(range(40))]


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
    assert read_document("xlsx", xlsx_file(), plain=False).title == ""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<w:name w:val="List Bullet"/>', "", "- rope"),
        ('<w:basedOn w:val="Normal"/>', '<w:basedOn w:val="Heading1"/>', "Goods"),
    ],
    ids=["without a name", "based on each other in a circle"],
)
def test_odd_styles_of_a_docx_cost_no_text(old: str, new: str, words: str) -> None:
    assert words in text("docx", repacked(docx_file(), (old, new), within="word/styles.xml"))


@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        ([(0, 3, 4), (0, 0, 4), (0, 1.5, 4)], "bca"),  # drawn from bottom to top
        ([(6, 0, 4), (6, 1.1, 4), (0, 0, 4), (0, 1.1, 4)], "cdab"),  # two columns, each with its head
        ([(5, 2, 4), (0, 2, 4), (5, 0, 4), (0, 0, 4)], "dcba"),  # cards in rows
    ],
)
def test_the_boxes_of_a_slide_are_read_as_they_stand(boxes: list[tuple[float, float, float]], order: str) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    for name, (x, y, width) in zip("abcd", boxes, strict=False):
        shapes.add_textbox(*(Emu(round(900_000 * each)) for each in (x, y, width, 1))).text_frame.text = name
    assert text("pptx", saved(deck), plain=True).split("\n\n")[1:] == list(order)
