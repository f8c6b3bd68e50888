"""Pages that are sent as XML: what is empty there, and CDATA."""

import pytest

from gateway.engines.html.tree import as_html
from tests.support.read_pages import content_of

_TEXT = "The ferry leaves from the northern quay at nine, and again at noon on all working days of the week."


def read(markup: str, content_type: str) -> str:
    return content_of(markup, content_type=content_type)


@pytest.mark.parametrize("empty", ['<script src="a.js"/>', "<title/>", "<style />", "<textarea/>", "<iframe src='x'/>"])
def test_an_empty_element_of_xhtml_swallows_nothing(empty: str) -> None:
    page = f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{empty}<p>{_TEXT}</p></body></html>'
    assert read(page, "application/xhtml+xml") == _TEXT


def test_cdata_is_text_in_xml() -> None:
    body = f"<body><p>{_TEXT}</p><p><![CDATA[5 < 6 & more]]></p></body>"
    page = f"<html xmlns='http://www.w3.org/1999/xhtml'>{body}</html>"
    assert read(page, "application/xhtml+xml") == f"{_TEXT}\n\n5 < 6 & more"
    assert as_html("a<![CDATA[b") == "a<![CDATA[b"


def test_the_words_of_a_drawing_are_read() -> None:
    words = "<text>Revenue</text><text><tspan>45 percent</tspan></text>"
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg"><rect/>{words}</svg>'
    assert read(drawing, "image/svg+xml").split() == ["Revenue", "45", "percent"]


@pytest.mark.parametrize("content_type", ["application/x-tex", "application/x-subrip", "application/graphql"])
def test_a_text_of_an_unknown_type_is_read(content_type: str) -> None:
    assert read(_TEXT, content_type) == _TEXT
