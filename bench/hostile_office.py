# ruff: noqa: E501 - a row for each kind
"""Office files of hostile sites: `OFFICE` for `bench.hostile_sites`. Written without a look at the readers."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

Make = Callable[[int], bytes]
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX, XLSX, PPTX = (
    f"{_OFFICE}wordprocessingml.document",
    f"{_OFFICE}spreadsheetml.sheet",
    f"{_OFFICE}presentationml.presentation",
)
ODT = "application/vnd.oasis.opendocument.text"
_W = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
_S = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
_P = '<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree>'
_T = '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:text>'
_ENDS = {
    _W: "</w:body></w:document>",
    _S: "</worksheet>",
    _P: "</p:spTree></p:cSld></p:sld>",
    _T: "</office:text></office:body></office:document-content>",
}
_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 11))
    + "]>"
)
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _zipped(parts: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, part in parts.items():
            archive.writestr(name, part if isinstance(part, bytes) else part.encode("utf-8", "replace"))
    return out.getvalue()


def _rels(*rows: tuple[str, str, str]) -> str:
    inside = "".join(
        f'<Relationship Id="{each}" Type="{_REL}/{kind}" Target="{target}"/>' for each, kind, target in rows
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inside}</Relationships>'
    )


def _docx(body: str, **more: str) -> bytes:
    named = {f"word/{name}.xml": text for name, text in more.items()}
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    return _zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _rels(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": body,
            **named,
        }
    )


def _xlsx(sheet: str, shared: str = "", sheets: int = 1) -> bytes:
    rows = "".join(f'<sheet name="s{n}" sheetId="{n + 1}" r:id="r1"/>' for n in range(sheets))
    book = f'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_REL}"><sheets>{rows}</sheets></workbook>'
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
    strings = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{shared}</sst>'
    return _zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _rels(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": book,
            "xl/_rels/workbook.xml.rels": _rels(
                ("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml")
            ),
            "xl/worksheets/sheet1.xml": sheet,
            "xl/sharedStrings.xml": strings,
        }
    )


def _pptx(slide: str, slides: int = 1) -> bytes:
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="r1"/>' for n in range(slides))
    show = f'<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="{_REL}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/ppt/presentation.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"/></Types>'
    return _zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _rels(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": show,
            "ppt/_rels/presentation.xml.rels": _rels(("r1", "slide", "slides/slide1.xml")),
            "ppt/slides/slide1.xml": slide,
        }
    )


def _odt(content: str) -> bytes:
    return _zipped({"mimetype": ODT, "content.xml": content})


_MAKERS: dict[str, Callable[[str], bytes]] = {_W: _docx, _S: _xlsx, _P: _pptx, _T: _odt}
_KINDS = {_W: DOCX, _S: XLSX, _P: PPTX, _T: ODT}


def _row(head: str, unit: str, before: str = "", behind: str = "", expansion: int = 20) -> tuple[str, Make]:
    """Markup of `expansion` times the size, which packs to much less."""

    def make(size: int) -> bytes:
        inside = (
            "".join(unit.replace("#", str(n)) for n in range(size * expansion // len(unit)))
            if "#" in unit
            else unit * (size * expansion // len(unit))
        )
        return _MAKERS[head](head + before + inside + behind + _ENDS[head])

    return _KINDS[head], make


def _deep(head: str, opening: str, closing: str, inside: str = "") -> tuple[str, Make]:
    return _KINDS[head], lambda size: _MAKERS[head](
        head + opening * (size // 10) + inside + closing * (size // 10) + _ENDS[head]
    )


def _bomb(size: int) -> bytes:
    return _zipped({"mimetype": ODT, "content.xml": b" " * (size * 200)})


def _overlapping(size: int) -> bytes:
    """Many entries of a directory that are the same bytes."""
    name, packer = b"content.xml", zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(b"<a>" * 1_000_000) + packer.flush()
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(body), 3_000_000, len(name), 0) + name + body
    row = (
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(body), 3_000_000, len(name), 0, 0, 0, 0, 0, 0)
        + name
    )
    count = min(65_000, size // len(row))
    return local + row * count + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(row) * count, len(local), 0)


def _many_entries(size: int) -> bytes:
    return _zipped({"mimetype": ODT, "content.xml": _T + _ENDS[_T], **{f"a{n}": "" for n in range(size // 120)}})


def _lying(size: int) -> bytes:
    """Its directory says one byte."""
    raw = bytearray(_bomb(size))
    at = raw.rindex(b"PK\1\2")
    raw[at + 24 : at + 28] = struct.pack("<L", 1)
    return bytes(raw)


def _locked(size: int) -> bytes:
    raw = bytearray(_odt(_T + _ENDS[_T]))
    raw[raw.rindex(b"PK\1\2") + 8] |= 1
    return bytes(raw)


OFFICE: dict[str, tuple[str, Make]] = {
    "odt bomb": (ODT, _bomb),
    "odt overlapping": (ODT, _overlapping),
    "odt many entries": (ODT, _many_entries),
    "odt lying": (ODT, _lying),
    "odt locked": (ODT, _locked),
    "odt lzma": (ODT, lambda size: _zipped({"mimetype": ODT, "content.xml": b" " * size * 200}, zipfile.ZIP_LZMA)),
    "odt bzip2": (ODT, lambda size: _zipped({"mimetype": ODT, "content.xml": b" " * size * 200}, zipfile.ZIP_BZIP2)),
    "odt laughs": (ODT, lambda size: _odt(_LAUGHS + _T + "<text:p>&a10;</text:p>" + _ENDS[_T])),
    "odt blanks": _row(_T, '<text:s text:c="999999999"/>', "<text:p>", "</text:p>", 1),
    "odt rows repeated": _row(
        _T,
        '<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row>',
        "<table:table>",
        "</table:table>",
        1,
    ),
    "odt paragraphs": _row(_T, "<text:p>a#</text:p>"),
    "odt headings": _row(_T, '<text:h text:outline-level="999999999">a</text:h>'),
    "odt lists": _deep(_T, "<text:list><text:list-item>", "</text:list-item></text:list>", "<text:p>a</text:p>"),
    "odt tables": _deep(
        _T,
        "<table:table><table:table-row><table:table-cell>",
        "</table:table-cell></table:table-row></table:table>",
        "<text:p>a</text:p>",
    ),
    "docx bomb": (DOCX, lambda size: _docx(_W + " " * (size * 200) + _ENDS[_W])),
    "docx laughs": (DOCX, lambda size: _docx(_LAUGHS + _W + "<w:p><w:r><w:t>&a10;</w:t></w:r></w:p>" + _ENDS[_W])),
    "docx paragraphs": _row(_W, "<w:p><w:r><w:t>a#</w:t></w:r></w:p>"),
    "docx runs": _row(_W, "<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r>", "<w:p>", "</w:p>"),
    "docx empty": _row(_W, "<w:p/>"),
    "docx spans": _row(
        _W,
        '<w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>',
        "<w:tbl>",
        "</w:tbl>",
        1,
    ),
    "docx cells": _row(_W, "<w:tc><w:p/></w:tc>", "<w:tbl><w:tr>", "</w:tr></w:tbl>"),
    "docx tables": _deep(_W, "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", "<w:p/>"),
    "docx boxes": _deep(_W, "<w:p><w:r><w:txbxContent>", "</w:txbxContent></w:r></w:p>", "<w:p/>"),
    "docx levels": _row(
        _W,
        '<w:p><w:pPr><w:outlineLvl w:val="999999999"/><w:numPr><w:ilvl w:val="99999999"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>',
        expansion=5,
    ),
    "docx breaks": _row(_W, "<w:br/><w:tab/>", "<w:p><w:r>", "</w:r></w:p>"),
    "docx styles": (
        DOCX,
        lambda size: _docx(
            _W + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" + _ENDS[_W],
            styles='<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
            + '<w:style w:styleId="a"><w:basedOn w:val="a"/></w:style>' * (size // 3)
            + "</w:styles>",
        ),
    ),
    "docx is a sheet": (DOCX, lambda size: _xlsx(_S + _ENDS[_S])),
    "xlsx far cell": (
        XLSX,
        lambda size: _xlsx(
            _S
            + '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
            + _ENDS[_S]
        ),
    ),
    "xlsx beyond": (
        XLSX,
        lambda size: _xlsx(
            _S + '<sheetData><row r="99999999999"><c r="ZZZZZZZZ99999999999"><v>2</v></c></row></sheetData>' + _ENDS[_S]
        ),
    ),
    "xlsx rows far apart": (
        XLSX,
        lambda size: _xlsx(
            _S
            + "<sheetData>"
            + "".join(f'<row r="{n * 100}"><c r="XFD{n * 100}"><v>1</v></c></row>' for n in range(1, size // 60))
            + "</sheetData>"
            + _ENDS[_S]
        ),
    ),
    "xlsx cells": _row(_S, "<c><v>1</v></c>", "<sheetData><row>", "</row></sheetData>"),
    "xlsx rows": _row(_S, "<row/>", "<sheetData>", "</sheetData>"),
    "xlsx texts": _row(_S, '<row><c t="inlineStr"><is><t>a#</t></is></c></row>', "<sheetData>", "</sheetData>"),
    "xlsx merges": _row(
        _S,
        '<mergeCell ref="A1:XFD1048576"/>',
        "<sheetData><row><c><v>1</v></c></row></sheetData><mergeCells>",
        "</mergeCells>",
    ),
    "xlsx dates": _row(_S, "<row><c><v>1e308</v></c></row>", "<sheetData>", "</sheetData>"),
    "xlsx formulas": _row(_S, "<row><c><f>SUM(A1:A#)</f></c></row>", "<sheetData>", "</sheetData>"),
    "xlsx shared": (
        XLSX,
        lambda size: _xlsx(
            _S
            + '<sheetData><row><c t="s"><v>-1</v></c><c t="s"><v>99999999</v></c><c t="s"><v>x</v></c></row></sheetData>'
            + _ENDS[_S],
            "<si><t>a</t></si>" * (size * 20 // 17),
        ),
    ),
    "xlsx one shared": (
        XLSX,
        lambda size: _xlsx(
            _S + "<sheetData>" + '<row><c t="s"><v>0</v></c></row>' * (size // 3) + "</sheetData>" + _ENDS[_S],
            "<si><t>" + "long " * 20_000 + "</t></si>",
        ),
    ),
    "xlsx sheets": (
        XLSX,
        lambda size: _xlsx(
            _S + "<sheetData>" + "<row><c><v>1</v></c></row>" * 9_000 + "</sheetData>" + _ENDS[_S],
            sheets=min(9_000, size // 40),
        ),
    ),
    "pptx slides": (
        PPTX,
        lambda size: _pptx(
            _P + "<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>" * 500 + _ENDS[_P],
            min(size // 40, 20_000),
        ),
    ),
    "pptx shapes": _row(_P, "<p:sp><p:txBody><a:p><a:r><a:t>a#</a:t></a:r></a:p></p:txBody></p:sp>"),
    "pptx groups": _deep(_P, "<p:grpSp>", "</p:grpSp>"),
    "pptx levels": _row(
        _P, '<p:sp><p:txBody><a:p><a:pPr lvl="99999999"/><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>', expansion=5
    ),
    "pptx tables": _row(
        _P,
        '<a:tr><a:tc gridSpan="99999999" rowSpan="99999999"><a:txBody><a:p/></a:txBody></a:tc></a:tr>',
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl>",
        "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>",
        5,
    ),
    "zip as docx of nothing": (DOCX, lambda size: _zipped({})),
    "text as docx": (DOCX, lambda size: b"words " * (size // 6)),
    "half a docx": (DOCX, lambda size: _docx(_W + _ENDS[_W])[:-30]),
}
