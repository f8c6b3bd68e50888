"""Styles of a .docx; what stands in its document is recorded in `tests/golden/documents/docx`."""

import docx

from gateway.engines.documents.word import W
from tests.support.office_files import docx_file, repacked, saved, text_in


def test_a_style_may_have_no_name() -> None:
    document = docx.Document()
    name = document.add_paragraph("Below.", style="List Bullet").style.element.find(f"{W}name")
    name.getparent().remove(name)
    assert text_in("docx", saved(document)) == "- Below."


def test_styles_based_on_each_other_in_a_circle_end() -> None:
    circle = ('<w:basedOn w:val="Normal"/>', '<w:basedOn w:val="Heading1"/>')
    assert "Goods" in text_in("docx", repacked(docx_file(), circle, within="word/styles.xml"))
