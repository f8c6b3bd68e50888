"""Sheets (.xlsx) as Markdown, by openpyxl (extra `office`).

openpyxl reads values without the properties of rows, the links and the formulas beside them, so these are read from
the XML, and only of sheets that have any. Sources: openpyxl 3.1; ECMA-376, part 1, 18.3.1 and 18.8.31; read 2026-11-22.
"""

import datetime
import functools
import io
import posixpath
import re
import unicodedata
import zipfile
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText

MAX_ROWS, MAX_COLUMNS = 20_000, 200
"""Of one sheet."""
_MAX_LINKS = 20_000
_MARKS = (b"hidden=", b"hyperlink ", b"<f>", b"<f ", b":f>", b":f ")
"""Marks in the XML of a sheet of what openpyxl does not give."""
_PIECE_BYTES, _MARK_BYTES = 1 << 20, 32
_LITERAL = re.compile(r'"([^"]*+)"|\\(.)|\[([^\[\]]*+)\]|_.|\*.')
"""What a number format writes as it is, as a currency, colour or condition, or as a blank: a `%` in it multiplies
nothing. Source: ECMA-376, part 1, 18.8.31."""
_DIGITS = re.compile(r"[#0?,.]{0,40}[#0?][#0?,.]{0,40}")
_LINK_FORMULA = re.compile(r'\s{0,64}+HYPERLINK\(\s{0,64}"([^"]{1,2000})"', re.IGNORECASE)
_FORMATS_REMEMBERED = 64


def read_xlsx(openpyxl: Any, etree: Any, source: tuple[bytes, zipfile.ZipFile], out: DocumentText) -> str:
    """Writes every visible sheet as a heading and a table of values (formulas as last computed); the title or "".
    A sheet that cannot be read is noted as missing. `etree`: lxml's module; `source`: the file, and its archive."""
    body, archive = source
    parts = _sheet_parts(etree, archive)
    for title, part in parts.items():
        if part not in archive.NameToInfo:
            out.miss(f"sheet {title}")
    book = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible" or out.is_full:
                continue
            out.heading(2, sheet.title)
            rows: list[list[str]] = []
            try:
                beside = _beside_values(etree, archive, parts.get(sheet.title, ""))
                for number, row in enumerate(sheet.iter_rows(max_row=MAX_ROWS, max_col=MAX_COLUMNS), 1):
                    if not _is_blank(row) or number in beside.numbers:
                        rows.append(_texts(number, row, beside, out))
            except (MemoryError, RecursionError):
                raise
            except Exception:  # a sheet that is damaged: openpyxl raises ParseError, KeyError, ValueError and others
                out.miss(f"sheet {sheet.title}")
            out.table(rows)
        return str(book.properties.title or "")
    finally:
        book.close()


@dataclass(slots=True)
class _Beside:
    """What a sheet says beside its values: numbers of hidden rows and columns from 1; links and formulas without a
    value by (row, column)."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    """Rows with formulas without a value."""


def _sheet_parts(etree: Any, archive: zipfile.ZipFile) -> dict[str, str]:
    """The part of each sheet by its name. Raises KeyError and what lxml raises."""
    targets = _targets(etree, archive, "xl/workbook.xml")
    parts = {}
    for sheet in etree.fromstring(archive.read("xl/workbook.xml"), _parser(etree)).iter("{*}sheet"):
        parts[sheet.get("name")] = targets.get(_relation(sheet), "")
    return parts


def _targets(etree: Any, archive: zipfile.ZipFile, part: str) -> dict[str | None, str]:
    """What the relations of a part lead to, by their ids: parts of the package by their paths, addresses as written."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.NameToInfo:
        return {}
    found: dict[str | None, str] = {}
    for each in etree.fromstring(archive.read(relations), _parser(etree)):
        target = each.get("Target", "")
        is_outside = each.get("TargetMode") == "External"
        found[each.get("Id")] = target if is_outside else posixpath.normpath(posixpath.join("/", folder, target))[1:]
    return found


def _relation(element: Any) -> str | None:
    return next((value for name, value in element.items() if name.endswith("}id")), None)


def _parser(etree: Any) -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def _beside_values(etree: Any, archive: zipfile.ZipFile, part: str) -> _Beside:
    beside = _Beside()
    if part not in archive.NameToInfo or not _has_marks(archive, part):
        return beside
    targets = _targets(etree, archive, part)
    tags = ("{*}row", "{*}col", "{*}c", "{*}hyperlink")
    with archive.open(part) as source:
        events = etree.iterparse(
            source, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False
        )
        for _, each in events:
            name = each.tag.rpartition("}")[2]
            if name == "col" and _is_hidden(each):
                first, last = _number(each.get("min"), 1), min(_number(each.get("max"), 0), MAX_COLUMNS)
                beside.columns |= set(range(first, last + 1))
            elif name == "hyperlink":
                _note_link(each, targets, beside)
            elif name == "c":
                _note_formula(each, beside)
            elif name == "row":
                if _is_hidden(each):
                    beside.rows.add(_number(each.get("r"), 0))
                each.clear()
                while each.getprevious() is not None:
                    del each.getparent()[0]
    return beside


def _has_marks(archive: zipfile.ZipFile, part: str) -> bool:
    tail = b""
    with archive.open(part) as source:
        while piece := source.read(_PIECE_BYTES):
            window = tail + piece
            if any(mark in window for mark in _MARKS):
                return True
            tail = piece[-_MARK_BYTES:]
    return False


def _note_link(link: Any, targets: dict[str | None, str], beside: _Beside) -> None:
    place, url = _place(link.get("ref")), targets.get(_relation(link), "")
    if place is not None and url and len(beside.links) < _MAX_LINKS:
        beside.links[place] = url


def _note_formula(cell: Any, beside: _Beside) -> None:
    formula = cell.find("{*}f")
    if formula is None or not formula.text:
        return
    place, value = _place(cell.get("r")), cell.find("{*}v")
    if place is None:
        return
    if (match := _LINK_FORMULA.match(formula.text)) is not None and len(beside.links) < _MAX_LINKS:
        beside.links[place] = match[1]
    if (value is None or not value.text) and len(beside.formulas) < _MAX_LINKS:
        beside.formulas[place] = f"={formula.text}"
        beside.numbers.add(place[0])


def _place(reference: str | None) -> tuple[int, int] | None:
    """`(row, column)` of `B2`, or of the first cell of `B2:C3`; None for another text."""
    match = re.match(r"\$?([A-Z]{1,3})\$?(\d{1,7})", reference or "")
    if match is None:
        return None
    column = functools.reduce(lambda sum_, letter: sum_ * 26 + ord(letter) - 64, match[1], 0)
    return int(match[2]), column


def _is_hidden(each: Any) -> bool:
    return each.get("hidden") in ("1", "true")


def _number(text: str | None, otherwise: int) -> int:
    return int(text[:9]) if text and text.isdecimal() else otherwise


def _texts(number: int, row: tuple[Any, ...], beside: _Beside, out: DocumentText) -> list[str]:
    """The texts of row `number`, counted from 1; empty for a hidden one."""
    texts = [_text(cell) for cell in row]
    if number in beside.numbers:
        texts += [""] * (max(column for at, column in beside.formulas if at == number) - len(texts))
        texts = [text or beside.formulas.get((number, at), "") for at, text in enumerate(texts, 1)]
    if number in beside.rows:
        out.leave_out(" ".join(texts))
        return []
    for at in beside.columns:
        if at <= len(texts) and texts[at - 1]:
            out.leave_out(texts[at - 1])
            texts[at - 1] = ""
    if not beside.links:
        return texts
    return [
        out.link(text, url) if (url := beside.links.get((number, at))) else text for at, text in enumerate(texts, 1)
    ]


def _is_blank(row: tuple[Any, ...]) -> bool:
    """Whether a row has no cell: openpyxl fills the gaps between those of the file with one object."""
    return not row or (row[0].value is None and all(cell is row[0] for cell in row))


def _text(cell: Any) -> str:
    """A cell's value; a percentage and an amount of money as such, as the number alone says another thing."""
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = _format_of(str(cell.number_format))
        if shown.is_percentage:
            return f"{value * 100:.12g} %"
        if shown.before or shown.after:
            number = f"{abs(value):{',' if shown.has_groups else ''}.{shown.decimals}f}"
            return f"{'-' if value < 0 else ''}{shown.before}{number}{shown.after}"
    return value_text(value)


class _Format(NamedTuple):
    """What a number format shows: a percentage; or a currency before or after so many decimals."""

    is_percentage: bool = False
    before: str = ""
    after: str = ""
    decimals: int = 0
    has_groups: bool = False


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def _format_of(number_format: str) -> _Format:
    """`#,##0.00 [$€-407]` has two decimals, groups, and ` €` after them."""
    if "%" in _LITERAL.sub("", number_format):
        return _Format(is_percentage=True)
    first = _first_section(number_format)
    digits = _DIGITS.search(_LITERAL.sub(lambda match: "\0" * len(match[0]), first))
    if digits is None:
        return _Format()
    before, after = _shown(first[: digits.start()]), _shown(first[digits.end() :])
    if not (_is_money(before) or _is_money(after)):
        return _Format()
    pattern = digits[0]
    return _Format(False, before.lstrip(), after.rstrip(), len(pattern.partition(".")[2]), "," in pattern)


def _first_section(number_format: str) -> str:
    """The part for positive numbers, which ends at a `;` that is no literal."""
    ends = _LITERAL.sub(lambda match: "\0" * len(match[0]), number_format).find(";")
    return number_format if ends < 0 else number_format[:ends]


def _shown(affix: str) -> str:
    """The text that a format writes beside the digits: ` €` for `\\ [$€-407]`."""

    def literal(match: re.Match[str]) -> str:
        quoted, escaped, bracketed = match.groups()
        if bracketed is not None:
            return bracketed[1:].partition("-")[0] if bracketed.startswith("$") else ""
        return quoted or escaped or ("" if match[0][0] == "*" else " ")

    return _LITERAL.sub(literal, affix) if len(affix) > 1 else affix


def _is_money(text: str) -> bool:
    """Whether an affix has the sign of a currency, or its code of three letters (ISO 4217), or `kr`, `zł` or such."""
    bare = text.strip(" -\u00a0.")
    return any(unicodedata.category(char) == "Sc" for char in bare) or (bare.isalpha() and 2 <= len(bare) <= 4)


def value_text(value: Any) -> str:
    """A value of a cell or chart."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as a sheet keeps
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
    return str(value)
