"""What python-docx leaves out of a .docx: insertions, controls, boxes, notes, numbers of lists, outline levels."""

import io
import zipfile
from typing import Any

import docx
from docx.oxml import parse_xml

from gateway.engines.documents.reader import read_document
from gateway.engines.documents.word import W
from tests.support.office_files import docx_file, saved

SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
FOOTNOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def element(xml: str) -> Any:
    return parse_xml(xml.replace(">", f" {SPACES}>", 1))


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def read(document: Any) -> str:
    return read_document("docx", saved(document), plain=False).text


def test_inserted_text_is_read_and_deleted_and_hidden_text_is_not() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Deliver ")._p
    paragraph.append(element(f"<w:ins>{run('forty')}</w:ins>"))
    paragraph.append(element("<w:del><w:r><w:delText>thirty</w:delText></w:r></w:del>"))
    paragraph.append(element(run(" secret", "<w:rPr><w:vanish/></w:rPr>")))
    paragraph.append(element(f"<w:sdt><w:sdtContent>{run(' doors')}</w:sdtContent></w:sdt>"))
    paragraph.append(element("<m:oMath><m:r><m:t>, x=2</m:t></m:r></m:oMath>"))
    assert read(document) == "Deliver forty doors$, x=2$"


def test_paragraphs_in_content_controls_and_text_boxes_are_read_once() -> None:
    document = docx.Document()
    box = f"<w:txbxContent><w:p>{run('In a box.')}</w:p></w:txbxContent>"
    anchor = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    document.add_paragraph("See the box.")._p.append(
        element(f"<w:r><mc:AlternateContent>{anchor}</mc:AlternateContent></w:r>")
    )
    control = f"<w:sdt><w:sdtContent><w:p>{run('In a control.')}</w:p></w:sdtContent></w:sdt>"
    document.element.body.insert(1, element(control))
    assert read(document).split("\n\n") == ["See the box.", "In a box.", "In a control."]


def test_a_text_box_in_a_cell_is_read_once_and_a_style_may_have_no_name() -> None:
    document = docx.Document()
    box = f"<w:txbxContent><w:p>{run('In a box.')}</w:p></w:txbxContent>"
    anchor = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    cell = document.add_table(1, 1).cell(0, 0).paragraphs[0]
    cell._p.append(element(f"<w:r><mc:AlternateContent>{anchor}</mc:AlternateContent></w:r>"))
    paragraph = document.add_paragraph("Below.", style="List Bullet")
    name = paragraph.style.element.find(f"{W}name")
    name.getparent().remove(name)
    assert read(document).split("\n\n") == ["| In a box. |\n| --- |", "- Below."]


def test_items_have_their_numbers_and_levels_and_headings_their_outline_level() -> None:
    document = docx.Document()
    document.add_paragraph("one", style="List Number")
    document.add_paragraph("two", style="List Number")
    document.add_paragraph("below", style="List Bullet 2")
    heading = document.add_paragraph("Terms")
    heading._p.get_or_add_pPr().append(element('<w:outlineLvl w:val="1"/>'.replace("/>", ">") + "</w:outlineLvl>"))
    document.add_paragraph("no item", style="List Paragraph")
    assert read(document) == "1. one\n2. two\n   - below\n\n## Terms\n\nno item"


def _level(depth: int, form: str, text: str, more: str = "") -> str:
    shown = f'<w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/>{shown}</w:lvl>'


def _numbered(*levels: str, override: str = "") -> Any:
    """A document whose list 90 has these levels, and whose list 91 is of the same kind."""
    document = docx.Document()
    numbering = document.part.numbering_part.element
    kind = '<w:abstractNumId w:val="90"/>'
    numbering.insert(0, element(f'<w:abstractNum w:abstractNumId="90">{"".join(levels)}</w:abstractNum>'))
    numbering.append(element(f'<w:num w:numId="90">{kind}</w:num>'))
    numbering.append(element(f'<w:num w:numId="91">{kind}{override}</w:num>'))
    return document


def _add(document: Any, text: str, depth: int, list_id: int = 90, style: str | None = None) -> None:
    properties = document.add_paragraph(text, style=style)._p.get_or_add_pPr()
    properties.append(element(f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>'))


def test_headings_have_the_numbers_that_their_list_shows() -> None:
    legal = _level(1, "decimal", "%1.%2", "<w:isLgl/>")
    document = _numbered(_level(0, "upperRoman", "Part %1:"), legal, _level(2, "none", ""))
    for text, depth in (("Hives", 0), ("Frames", 1), ("Boxes", 1), ("Honey", 0), ("Lids", 2), ("Jars", 1)):
        _add(document, text, depth, style=f"Heading {depth + 1}")
    assert read(document).split("\n\n") == [
        "# Part I: Hives", "## 1.1 Frames", "## 1.2 Boxes", "# Part II: Honey", "### Lids", "## 2.2 Jars",
    ]  # fmt: skip


def test_items_have_the_labels_that_their_list_shows_and_another_list_of_its_kind_goes_on_or_begins_anew() -> None:
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="3"/></w:lvlOverride>'
    for override, last in (("", "(c)"), (anew, "(c)")):
        document = _numbered(_level(0, "lowerLetter", "(%1)"), _level(1, "lowerRoman", "%2."), override=override)
        _add(document, "rope", 0)
        _add(document, "thin", 1)
        _add(document, "thick", 1)
        if not override:
            _add(document, "paint", 0)
        _add(document, "wax", 0, list_id=91)
        first = "- (a) rope\n  - i. thin\n  - ii. thick\n" + ("" if override else "- (b) paint\n")
        assert read(document) == f"{first}- {last} wax"


def test_footnotes_stand_at_the_end_behind_their_marks() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("A claim")
    paragraph._p.append(element('<w:r><w:footnoteReference w:id="2"></w:footnoteReference></w:r>'))
    paragraph.add_run(".")
    notes = f'<w:footnotes {SPACES}><w:footnote w:id="2"><w:p>{run("Minutes, p. 17.")}</w:p></w:footnote></w:footnotes>'
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(document))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode("utf-8", "surrogateescape")
            if name == "word/_rels/document.xml.rels":
                link = f'<Relationship Id="rIdNotes" Type="{FOOTNOTES}" Target="footnotes.xml"/></Relationships>'
                content = content.replace("</Relationships>", link)
            new.writestr(name, content.encode("utf-8", "surrogateescape"))
        new.writestr("word/footnotes.xml", notes)
    text = read_document("docx", out.getvalue(), plain=False).text
    assert text == "A claim[^1].\n\n[^1]: Minutes, p. 17."


def test_styles_based_on_each_other_in_a_circle_end() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx_file())) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/styles.xml":
                content = content.replace(b'<w:basedOn w:val="Normal"/>', b'<w:basedOn w:val="Heading1"/>')
            new.writestr(name, content)
    assert "Goods" in read_document("docx", out.getvalue(), plain=False).text


def test_a_large_first_letter_in_a_frame_begins_the_word_of_the_next_paragraph() -> None:
    document = docx.Document()
    document.add_paragraph("F")._p.get_or_add_pPr().append(element('<w:framePr w:dropCap="drop"></w:framePr>'))
    document.add_paragraph("orty doors")
    assert read(document) == "Forty doors"


def test_the_words_for_those_who_do_not_see_a_picture_stand_in_its_place_but_for_a_files_name() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("See")._p
    space = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    for said in ("a gate", "old gate.png"):
        drawn = (
            f'<w:r><w:drawing><d:inline xmlns:d="{space}"><d:docPr id="1" descr="{said}"/></d:inline></w:drawing></w:r>'
        )
        paragraph.append(element(drawn))
    assert read(document) == "See[picture: a gate]"
