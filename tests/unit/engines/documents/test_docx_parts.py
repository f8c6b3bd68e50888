"""What python-docx leaves out of a .docx: insertions, controls, boxes, notes, numbers of lists, outline levels."""

from typing import Any

import docx

from gateway.engines.documents.word import W
from tests.support.office_files import WORD_SPACES, docx_file, element, repacked, saved, text_in

FOOTNOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def read(document: Any) -> str:
    return text_in("docx", saved(document))


def test_inserted_text_is_read_and_deleted_and_hidden_text_is_not() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Deliver ")._p
    paragraph.append(element(f"<w:ins>{run('forty')}</w:ins>"))
    paragraph.append(element("<w:del><w:r><w:delText>thirty</w:delText></w:r></w:del>"))
    paragraph.append(element(run(" secret", "<w:rPr><w:vanish/></w:rPr>")))
    paragraph.append(element(f"<w:sdt><w:sdtContent>{run(' doors')}</w:sdtContent></w:sdt>"))
    paragraph.append(element("<m:oMath><m:r><m:t>, x=2</m:t></m:r></m:oMath>"))
    assert read(document) == "Deliver forty doors$, x=2$"


def boxed() -> Any:
    """A run with a text box, as Word writes it for itself and for older programs."""
    box = f"<w:txbxContent><w:p>{run('In a box.')}</w:p></w:txbxContent>"
    anchor = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    return element(f"<w:r><mc:AlternateContent>{anchor}</mc:AlternateContent></w:r>")


def test_paragraphs_in_content_controls_and_text_boxes_are_read_once() -> None:
    document = docx.Document()
    document.add_paragraph("See the box.")._p.append(boxed())
    control = f"<w:sdt><w:sdtContent><w:p>{run('In a control.')}</w:p></w:sdtContent></w:sdt>"
    document.element.body.insert(1, element(control))
    assert read(document).split("\n\n") == ["See the box.", "In a box.", "In a control."]


def test_a_text_box_in_a_cell_is_read_once_and_a_style_may_have_no_name() -> None:
    document = docx.Document()
    document.add_table(1, 1).cell(0, 0).paragraphs[0]._p.append(boxed())
    name = document.add_paragraph("Below.", style="List Bullet").style.element.find(f"{W}name")
    name.getparent().remove(name)
    assert read(document).split("\n\n") == ["| In a box. |\n| --- |", "- Below."]


def test_items_have_their_numbers_and_levels_and_headings_their_outline_level() -> None:
    document = docx.Document()
    for text, style in (("one", "List Number"), ("two", "List Number"), ("below", "List Bullet 2")):
        document.add_paragraph(text, style=style)
    document.add_paragraph("Terms")._p.get_or_add_pPr().append(element('<w:outlineLvl w:val="1"/>'))
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
    for override in ("", anew):
        document = _numbered(_level(0, "lowerLetter", "(%1)"), _level(1, "lowerRoman", "%2."), override=override)
        for text, depth in (("rope", 0), ("thin", 1), ("thick", 1), *([] if override else [("paint", 0)])):
            _add(document, text, depth)
        _add(document, "wax", 0, list_id=91)
        first = "- (a) rope\n  - i. thin\n  - ii. thick\n" + ("" if override else "- (b) paint\n")
        assert read(document) == f"{first}- (c) wax"


def test_footnotes_stand_at_the_end_behind_their_marks() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("A claim")
    paragraph._p.append(element('<w:r><w:footnoteReference w:id="2"/></w:r>'))
    paragraph.add_run(".")
    notes = f'<w:footnote w:id="2"><w:p>{run("Minutes, p. 17.")}</w:p></w:footnote></w:footnotes>'
    link = f'<Relationship Id="rIdNotes" Type="{FOOTNOTES}" Target="footnotes.xml"/></Relationships>'
    parts = {"word/footnotes.xml": f"<w:footnotes {WORD_SPACES}>{notes}"}
    body = repacked(saved(document), ("</Relationships>", link), within="word/_rels/document.xml.rels", parts=parts)
    assert text_in("docx", body) == "A claim[^1].\n\n[^1]: Minutes, p. 17."


def test_styles_based_on_each_other_in_a_circle_end() -> None:
    circle = ('<w:basedOn w:val="Normal"/>', '<w:basedOn w:val="Heading1"/>')
    assert "Goods" in text_in("docx", repacked(docx_file(), circle, within="word/styles.xml"))


def test_a_large_first_letter_in_a_frame_begins_the_word_of_the_next_paragraph() -> None:
    document = docx.Document()
    document.add_paragraph("F")._p.get_or_add_pPr().append(element('<w:framePr w:dropCap="drop"/>'))
    document.add_paragraph("orty doors")
    assert read(document) == "Forty doors"


def test_the_words_for_those_who_do_not_see_a_picture_stand_in_its_place_but_for_a_files_name() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("See")._p
    space = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    for said in ("a gate", "old gate.png"):
        drawn = f'<d:inline xmlns:d="{space}"><d:docPr id="1" descr="{said}"/></d:inline>'
        paragraph.append(element(f"<w:r><w:drawing>{drawn}</w:drawing></w:r>"))
    assert read(document) == "See[picture: a gate]"
