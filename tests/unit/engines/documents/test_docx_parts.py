"""Notes and styles of a .docx; what stands in its document is recorded in `tests/golden/documents/docx`."""

import docx

from gateway.engines.documents.word import W
from tests.support.office_files import WORD_SPACES, docx_file, element, repacked, saved, text_in

FOOTNOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def test_a_style_may_have_no_name() -> None:
    document = docx.Document()
    name = document.add_paragraph("Below.", style="List Bullet").style.element.find(f"{W}name")
    name.getparent().remove(name)
    assert text_in("docx", saved(document)) == "- Below."


def test_footnotes_stand_at_the_end_behind_their_marks() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("A claim")
    paragraph._p.append(element('<w:r><w:footnoteReference w:id="2"/></w:r>'))
    paragraph.add_run(".")
    notes = '<w:footnote w:id="2"><w:p><w:r><w:t>Minutes, p. 17.</w:t></w:r></w:p></w:footnote></w:footnotes>'
    link = f'<Relationship Id="rIdNotes" Type="{FOOTNOTES}" Target="footnotes.xml"/></Relationships>'
    parts = {"word/footnotes.xml": f"<w:footnotes {WORD_SPACES}>{notes}"}
    body = repacked(saved(document), ("</Relationships>", link), within="word/_rels/document.xml.rels", parts=parts)
    assert text_in("docx", body) == "A claim[^1].\n\n[^1]: Minutes, p. 17."


def test_styles_based_on_each_other_in_a_circle_end() -> None:
    circle = ('<w:basedOn w:val="Normal"/>', '<w:basedOn w:val="Heading1"/>')
    assert "Goods" in text_in("docx", repacked(docx_file(), circle, within="word/styles.xml"))
