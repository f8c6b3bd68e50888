"""Comments say who wrote what, and where they stand: notes of a text, lines below a slide or sheet."""

import docx
import openpyxl
from openpyxl.comments import Comment

from tests.support.office_files import pptx_file, repacked, saved, text_in

SPREADSHEETS = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"


def related(body: bytes, relations: str, kind: str, target: str, **parts: str) -> bytes:
    """The package with one more relation in the file `relations`, and further parts."""
    more = f'<Relationship Id="rId9{kind}" Type="http://schemas.microsoft.com/{kind}" Target="{target}"/>'
    return repacked(body, ("</Relationships>", f"{more}</Relationships>"), within=relations, parts=parts)


def test_a_comment_on_a_text_is_a_note_with_its_author_where_the_comment_stands() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Forty doors")
    document.add_comment(paragraph.runs, "Were it not thirty?", author="Ana Bell")
    paragraph.add_run(" are ordered.")
    text = text_in("docx", saved(document))
    assert text == "Forty doors[^1] are ordered.\n\n[^1]: Comment by Ana Bell: Were it not thirty?"


def test_a_note_on_a_cell_names_the_cell_and_one_that_stands_in_for_a_thread_is_the_thread() -> None:
    book = openpyxl.Workbook()
    book.active.append(["Rope", 4])
    book.active["A1"].comment = Comment("Which one?", "Bo")
    book.active["B1"].comment = Comment("[Threaded comment] Your version …", "tc={1}")
    threads = f'<T xmlns="{SPREADSHEETS}"><threadedComment ref="B1" personId="{{7}}" id="{{1}}"><text>Only four?</text>'
    people = f'<L xmlns="{SPREADSHEETS}"><person displayName="Ana Bell" id="{{7}}"/></L>'
    parts = {"xl/threads.xml": f"{threads}</threadedComment></T>", "xl/people.xml": people}
    body = related(saved(book), "sheet1.xml.rels", "threadedComment", "../threads.xml", **parts)
    text = text_in("xlsx", related(body, "workbook.xml.rels", "person", "people.xml"))
    assert text.split("\n\n")[-2:] == ["Comment on A1 by Bo: Which one?", "Comment on B1 by Ana Bell: Only four?"]


def test_comments_on_a_slide_and_replies_follow_its_text() -> None:
    a = "http://schemas.openxmlformats.org/drawingml/2006/main"
    body = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
    reply = f'<p:replyLst><p:reply authorId="{{2}}">{body.format("At noon.")}</p:reply></p:replyLst>'
    comments = (
        f'<p:cmLst xmlns:p="urn:p" xmlns:a="{a}"><p:cm authorId="{{1}}">{reply}{body.format("When?")}</p:cm></p:cmLst>'
    )
    people = '<l xmlns="urn:p"><author id="{1}" name="Ana Bell"/><author id="{2}" name="Bo"/></l>'
    parts = {"ppt/comments/c.xml": comments, "ppt/people.xml": people}
    deck = related(pptx_file(), "slide1.xml.rels", "comments", "../comments/c.xml", **parts)
    text = text_in("pptx", related(deck, "presentation.xml.rels", "authors", "people.xml"))
    assert text.split("\n\n")[-2:] == ["Comment by Ana Bell: When?", "Comment by Bo: At noon."]
