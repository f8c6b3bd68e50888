"""Comments say who wrote what, and where they stand: notes of a text, lines below a slide or sheet."""

import io
import zipfile

import docx
import openpyxl
from docx.oxml import parse_xml
from openpyxl.comments import Comment

from gateway.engines.documents.reader import read_document
from tests.support.office_files import odt_file, pptx_file, saved

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATION = '<Relationship Id="rId9{}" Type="http://{}" Target="{}"/>'
SPREADSHEETS = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"


def with_parts(body: bytes, parts: dict[str, str], relations: dict[str, tuple[str, str]]) -> bytes:
    """The package with further parts; `relations`: by the path of a file of relations the type and target of one."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name in relations:
                more = RELATION.format(len(name), *relations[name])
                text = text.replace(b"</Relationships>", f"{more}</Relationships>".encode())
            new.writestr(name, text)
        for name, part in parts.items():
            new.writestr(name, part)
    return out.getvalue()


def test_a_comment_on_a_text_is_a_note_with_its_author_where_the_comment_stands() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Forty doors")
    document.add_comment(paragraph.runs, "Were it not thirty?", author="Ana Bell")
    paragraph.add_run(" are ordered.")
    text = read_document("docx", saved(document), plain=False).text
    assert text == "Forty doors[^1] are ordered.\n\n[^1]: Comment by Ana Bell: Were it not thirty?"


def test_a_comment_in_an_opendocument_text_is_a_note_too() -> None:
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    said = f"<office:annotation {dc}><dc:creator>Ana Bell</dc:creator><text:p>Thirty?</text:p></office:annotation>"
    text = read_document("odt", odt_file(f"<text:p>Forty{said} doors</text:p>"), plain=False).text
    assert text == "Forty[^1] doors\n\n[^1]: Comment by Ana Bell: Thirty?"


def test_a_note_on_a_cell_names_the_cell_and_one_that_stands_in_for_a_thread_is_the_thread() -> None:
    book = openpyxl.Workbook()
    book.active.append(["Rope", 4])
    book.active["A1"].comment = Comment("Which one?", "Bo")
    book.active["B1"].comment = Comment("[Threaded comment] Your version …", "tc={1}")
    parts = {
        "xl/threads.xml": f'<T xmlns="{SPREADSHEETS}"><threadedComment ref="B1" personId="{{7}}" id="{{1}}">'
        "<text>Only four?</text></threadedComment></T>",
        "xl/people.xml": f'<L xmlns="{SPREADSHEETS}"><person displayName="Ana Bell" id="{{7}}"/></L>',
    }
    relations = {
        "xl/worksheets/_rels/sheet1.xml.rels": ("schemas.microsoft.com/threadedComment", "../threads.xml"),
        "xl/_rels/workbook.xml.rels": ("schemas.microsoft.com/person", "people.xml"),
    }
    text = read_document("xlsx", with_parts(saved(book), parts, relations), plain=False).text
    assert text.split("\n\n")[-2:] == ["Comment on A1 by Bo: Which one?", "Comment on B1 by Ana Bell: Only four?"]


def test_comments_on_a_slide_and_replies_follow_its_text() -> None:
    a = "http://schemas.openxmlformats.org/drawingml/2006/main"
    body = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
    reply = f'<p:replyLst><p:reply authorId="{{2}}">{body.format("At noon.")}</p:reply></p:replyLst>'
    parts = {
        "ppt/comments/c.xml": f'<p:cmLst xmlns:p="urn:p" xmlns:a="{a}"><p:cm authorId="{{1}}">{reply}'
        f"{body.format('When?')}</p:cm></p:cmLst>",
        "ppt/people.xml": '<l xmlns="urn:p"><author id="{1}" name="Ana Bell"/><author id="{2}" name="Bo"/></l>',
    }
    relations = {
        "ppt/slides/_rels/slide1.xml.rels": ("schemas.microsoft.com/comments", "../comments/c.xml"),
        "ppt/_rels/presentation.xml.rels": ("schemas.microsoft.com/authors", "people.xml"),
    }
    text = read_document("pptx", with_parts(pptx_file(), parts, relations), plain=False).text
    assert text.split("\n\n")[-2:] == ["Comment by Ana Bell: When?", "Comment by Bo: At noon."]


def test_a_paragraph_whose_end_is_deleted_goes_on_in_the_next() -> None:
    document = docx.Document()
    first = document.add_paragraph("Forty")._p
    first.get_or_add_pPr().append(parse_xml(f"<w:rPr {W}><w:del w:id='1' w:author='Bo'/></w:rPr>"))
    document.add_paragraph("doors")
    document.add_paragraph("and a gate")
    assert read_document("docx", saved(document), plain=False).text == "Forty doors\n\nand a gate"
