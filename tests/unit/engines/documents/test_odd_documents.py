"""Documents that Word, PowerPoint and readers of PDFs show and libraries refuse or read in part; what nobody sees."""

import io
import zipfile
from collections.abc import Callable

import pytest

from gateway.engines.documents.reader import archive_kind, read_document
from tests.support.office_files import docx_file, pptx_file

_WORD_MAIN = b"wordprocessingml.document.main+xml"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = " ".join(f'xmlns:{name}="{_ODF}{name}:1.0"' for name in ("office", "text", "style"))


def _rewritten(body: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as archive, zipfile.ZipFile(out, "w") as written:
        for name in archive.namelist():
            written.writestr(*change(name, archive.read(name)))
    return out.getvalue()


def _replaced(body: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    def change(name: str, part: bytes) -> tuple[str, bytes]:
        for old, new in pairs:
            part = part.replace(old, new)
        return name, part

    return _rewritten(body, change)


_REL = b'<Relationship Id="r99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
_DANGLING = (b"</Relationships>", _REL + b'Target="../NULL"/></Relationships>')


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("docx", _replaced(docx_file(), (_WORD_MAIN, b"wordprocessingml.template.main+xml"))),
        (
            "docx",
            _replaced(
                docx_file(),
                (b"openxmlformats-officedocument." + _WORD_MAIN, b"ms-word.document.macroEnabled.main+xml"),
            ),
        ),
        ("docx", _replaced(docx_file(), _DANGLING)),
        (
            "docx",
            _replaced(
                docx_file(),
                (b"http://schemas.openxmlformats.org/wordprocessingml/2006/", b"http://purl.oclc.org/ooxml/wordprocessingml/"),
                (b"http://schemas.openxmlformats.org/officeDocument/2006/", b"http://purl.oclc.org/ooxml/officeDocument/"),
            ),
        ),
        ("pptx", _replaced(pptx_file(), (b"presentationml.presentation.main", b"presentationml.slideshow.main"))),
        ("pptx", _replaced(pptx_file(), _DANGLING)),
    ],
    ids=["template", "macros", "dangling relation", "strict", "show", "dangling relation of slides"],
)  # fmt: skip
def test_what_word_and_powerpoint_open_is_read(kind: str, body: bytes) -> None:
    whole = {"docx": docx_file, "pptx": pptx_file}[kind]()
    assert archive_kind(body) == kind
    assert read_document(kind, body, plain=False).text == read_document(kind, whole, plain=False).text


def test_a_main_part_may_have_another_name() -> None:
    def change(name: str, part: bytes) -> tuple[str, bytes]:
        return name.replace("word/document.xml", "word/document2.xml"), part.replace(b"document.xml", b"document2.xml")

    body = _rewritten(docx_file(), change)
    body = _rewritten(body, lambda name, part: (name.replace("document.xml.rels", "document2.xml.rels"), part))
    assert archive_kind(body) == "docx"
    assert "The crane is under repair." in read_document("docx", body, plain=False).text


def test_hidden_text_of_an_odt_is_left_out_and_what_follows_it_stays() -> None:
    hidden = '<style:text-properties text:display="none"/></style:style>'
    families = ("text", "paragraph")
    style = "".join(f'<style:style style:name="H" style:family="{family}">{hidden}' for family in families)
    content = (
        '<text:p>One<text:hidden-text text:is-hidden="true">secret1</text:hidden-text> two'
        '<text:span text:style-name="H">secret2</text:span> three</text:p>'
        '<text:p text:style-name="H">secret3</text:p><text:section text:display="none"><text:p>secret4</text:p>'
        '</text:section><text:p>secret5<text:hidden-paragraph text:is-hidden="true"/></text:p>'
        '<text:p>four<text:hidden-text text:is-hidden="false">five</text:hidden-text></text:p>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        head = f"<office:document-content {_SPACES}><office:automatic-styles>{style}</office:automatic-styles>"
        end = "</office:text></office:body></office:document-content>"
        archive.writestr("content.xml", f"{head}<office:body><office:text>{content}{end}")
    assert read_document("odt", out.getvalue(), plain=False).text == "One two three\n\nfourfive"


def _pdf(objects: dict[int, bytes]) -> bytes:
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in objects.items())
    return b"%PDF-1.7\n" + body + b"trailer\n<</Size 20/Root 1 0 R>>\nstartxref\n0\n%%EOF"


def _stream(content: bytes, more: bytes = b"") -> bytes:
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(content), more, content)


def test_filled_in_fields_and_notes_of_a_pdf_are_read_and_letters_beside_the_page_are_not() -> None:
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 270 30]/Resources<</Font<</F 5 0 R>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[100 100 700 900]/Annots[6 0 R 8 0 R]/Contents 4 0 R"
    body = _pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: page + b"/Resources<</Font<</F 5 0 R>>>>>>",
            4: _stream(b"BT /F 12 Tf 130 800 Td (Name and place) Tj 5000 0 Td (beside the page) Tj ET"),
            5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            6: b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/Rect[130 600 400 630]/AP<</N 7 0 R>>>>",
            7: _stream(b"BT /F 12 Tf 2 5 Td (Ada of Harbour Street) Tj ET", form),
            8: b"<</Type/Annot/Subtype/FreeText/Rect[130 400 400 430]/AP<</N 9 0 R>>>>",
            9: _stream(b"BT /F 12 Tf 2 5 Td (checked on Monday) Tj ET", form),
        }
    )
    assert read_document("pdf", body, plain=True).text.split("\n\n") == [
        "Name and place", "Ada of Harbour Street", "checked on Monday",
    ]  # fmt: skip
