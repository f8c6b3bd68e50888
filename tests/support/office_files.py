"""Documents for tests: made by the libraries that write them, or by hand."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from docx.oxml import parse_xml
from PIL import Image

from gateway.engines.documents.reader import read_document

_ODT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:text>{}</office:text>'
    "</office:body></office:document-content>"
)

WORD_SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)


def element(xml: str) -> Any:
    """A part of a Word document; the prefixes `w`, `mc` and `m` are known."""
    return parse_xml(re.sub("/?>", rf" {WORD_SPACES}\g<0>", xml, count=1))


def text_in(kind: str, body: bytes, *, plain: bool = False) -> str:
    """What is read of a document."""
    return read_document(kind, body, plain=plain).text


def repacked(
    body: bytes, *pairs: tuple[str, str], within: str = "", parts: Mapping[str, str | bytes | None] | None = None
) -> bytes:
    """The archive with texts replaced in its files whose names end with `within`, and with other or more `parts`; those
    that are None are left out."""
    out, changed = io.BytesIO(), dict(parts or {})
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            for before, after in pairs if name.endswith(within) else ():
                part = part.replace(before.encode(), after.encode())
            changed.setdefault(name, part)
        for name, content in changed.items():
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def recorded(file: Path) -> bytes:
    """A document of `tests/golden/documents`. In an .xml stand its text, if its kind is a text, and other or more parts
    behind their names."""
    if file.suffix != ".xml":
        return file.read_bytes()
    kind = file.parent.name
    text, *more = re.split(r"<!-- (.+) -->\n", file.read_text("utf-8"))
    parts = dict(zip(more[::2], more[1::2], strict=True))
    if kind == "docx":
        parts["word/document.xml"] = f"<w:document {WORD_SPACES}><w:body>{text}</w:body></w:document>"
    made = {"docx": docx_file, "xlsx": xlsx_file, "pptx": pptx_file}
    return repacked(made[kind]() if kind in made else odt_file(text.strip()), parts=parts)


def docx_file() -> bytes:
    document = docx.Document()
    document.add_heading("Harbour report", 0)
    document.add_heading("Goods", 1)
    document.add_paragraph("The crane is under repair.")
    for item in ("rope", "paint"):
        document.add_paragraph(item, style="List Bullet")
    table = document.add_table(2, 2)
    for row, texts in enumerate((("Article", "Price"), ("Rope|thin", "4.20"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    return saved(document)


def xlsx_file() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Stock"
    for row in (["Article", "Price", "Sold"], ["Rope", 3.15, True], [None, None, None], ["Paint", 12, False]):
        sheet.append(row)
    book.create_sheet("Secret").sheet_state = "hidden"
    return saved(book)


def pptx_file() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Deliveries"
    slide.placeholders[1].text = "rope\npaint"
    slide.notes_slide.notes_text_frame.text = "Mention the crane."
    return saved(deck)


def odt_file(body: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", _ODT.format(body), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def epub_file(*chapters: str, title: str = "A book", more: dict[str, str] | None = None) -> bytes:
    """A book whose spine is in the reverse order of its manifest's."""
    numbers = range(len(chapters))
    items = "".join(
        f'<item id="c{n}" href="text%20parts/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in reversed(numbers)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in numbers)
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"OEBPS/text parts/c{number}.xhtml": chapter for number, chapter in enumerate(chapters)},
        **(more or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


def pdf_file(pages: Sequence[Sequence[tuple[float, float, float, str]]]) -> bytes:
    """A PDF in Helvetica, written by hand: pages of `(x, y from the bottom, size, text)`; a page without is blank."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for texts in pages:
        stream = "".join(f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n" for x, y, size, text in texts)
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}endstream")
        contents = len(objects)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {contents} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def scanned_pdf(*pages: bytes) -> bytes:
    """A PDF whose pages are pictures (files), as scanners make them."""
    out = io.BytesIO()
    images = [Image.open(io.BytesIO(page)).convert("RGB") for page in pages]
    images[0].save(out, "PDF", resolution=100, save_all=True, append_images=images[1:])
    return out.getvalue()
