"""Documents that Word, PowerPoint and readers of PDFs show and libraries refuse or read in part; what nobody sees."""

import io
import zipfile

import pytest

from gateway.engines.documents.reader import archive_kind
from tests.support.office_files import docx_file, pptx_file, repacked, text_in

_WORD_MAIN = "wordprocessingml.document.main+xml"
_SCHEMAS, _STRICT = "http://schemas.openxmlformats.org", "http://purl.oclc.org/ooxml"
_REL = f'<Relationship Id="r99" Type="{_SCHEMAS}/officeDocument/2006/relationships/image" Target="../NULL"/>'
_DANGLING = ("</Relationships>", f"{_REL}</Relationships>")
_MACROS = (f"openxmlformats-officedocument.{_WORD_MAIN}", "ms-word.document.macroEnabled.main+xml")


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("docx", [(_WORD_MAIN, "wordprocessingml.template.main+xml")]),
        ("docx", [_MACROS]),
        ("docx", [_DANGLING]),
        (
            "docx",
            [(f"{_SCHEMAS}/{name}/2006/", f"{_STRICT}/{name}/") for name in ("wordprocessingml", "officeDocument")],
        ),
        ("pptx", [("presentationml.presentation.main", "presentationml.slideshow.main")]),
        ("pptx", [_DANGLING]),
    ],
    ids=["template", "macros", "dangling relation", "strict", "show", "dangling relation of slides"],
)
def test_what_word_and_powerpoint_open_is_read(kind: str, pairs: list[tuple[str, str]]) -> None:
    whole = {"docx": docx_file, "pptx": pptx_file}[kind]()
    body = repacked(whole, *pairs)
    assert archive_kind(body) == kind
    assert text_in(kind, body) == text_in(kind, whole)


def test_a_main_part_may_have_another_name() -> None:
    main, relations = "word/document.xml", "word/_rels/document.xml.rels"
    with zipfile.ZipFile(io.BytesIO(docx_file())) as archive:
        parts = {main.replace(".", "2."): archive.read(main), relations.replace("t.", "t2."): archive.read(relations)}
    body = repacked(docx_file(), ("document.xml", "document2.xml"), parts={**parts, main: None, relations: None})
    assert archive_kind(body) == "docx"
    assert "The crane is under repair." in text_in("docx", body)
