"""Sheets (.xlsx) as Markdown, from the elements of SpreadsheetML: every value as its number format shows it.

Sources: ECMA-376, part 1, 18.3.1, 18.8.30 and 18.8.31, 18.17.4 (dates); read 2026-11-28.
"""

import datetime
import functools
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.office import R_ID, Package, address, related

MAX_ROWS, MAX_COLUMNS = 20_000, 200
"""Of one sheet."""
_MAX_LINKS = 20_000
_LITERAL = re.compile(r'"([^"]*+)"|\\(.)|\[([^\[\]]*+)\]|_.|\*.')
"""What a number format writes as it is, as a currency, colour or condition, or as a blank: a `%` in it multiplies
nothing. Source: ECMA-376, part 1, 18.8.31."""
_DIGITS = re.compile(r"[#0?,.]{0,40}[#0?][#0?,.]{0,40}")
_DATE = re.compile(r"[dmhysDMHYS]")
_HOURS = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_LINK_FORMULA = re.compile(r'\s{0,64}+HYPERLINK\(\s{0,64}"([^"]{1,2000})"', re.IGNORECASE)
_FORMATS_REMEMBERED = 64
_BUILT_IN = (
    {9: "0%", 10: "0.00%", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 45: "mm:ss", 46: "[h]:mm:ss"}
    | dict.fromkeys((*range(14, 20), *range(27, 37), 47, *range(50, 59)), "yyyy-mm-dd h:mm")
    | dict.fromkeys((5, 6, 42), '"$"#,##0')
    | dict.fromkeys((7, 8, 44), '"$"#,##0.00')
)
"""What the number formats mean that a file names by number alone (18.8.30)."""
_EPOCHS = {False: datetime.datetime(1899, 12, 30), True: datetime.datetime(1904, 1, 1)}
_MAX_DAY = 2_958_466
"""The day after 9999-12-31."""


def read_xlsx(package: Package, out: DocumentText) -> str:
    """Writes every visible sheet as a heading and a table of values (formulas as last computed); the title or "".
    A sheet that cannot be read is noted as missing. Raises Unreadable."""
    main = package.main("xl/workbook.xml")
    relations, workbook = package.relations(main), package.root(main)
    properties = workbook.find("{*}workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    texts: list[str] = []
    formats: list[str] = []
    with out.part("texts of cells"):
        texts += map(_shared_text, package.each(related(relations, "sharedStrings"), "", "{*}si"))
    with out.part("number formats"):
        formats = _formats(package, related(relations, "styles"))
    for sheet in workbook.iter("{*}sheet"):
        relation = relations.get(sheet.get(R_ID, ""))
        if out.is_full or sheet.get("state", "visible") != "visible" or (relation and relation.kind != "worksheet"):
            continue
        name = sheet.get("name", "")
        out.heading(2, name)
        with out.part(f"sheet {name}"):
            reader = _Sheet(texts, formats, is_1904, out)
            out.table(reader.rows(package, relation.target if relation is not None else "", f"sheet {name}"))
    return package.title()


def _shared_text(item: Any) -> str:
    """The text of an `si` or `is` without the readings that stand above Japanese words."""
    return "".join(each.text or "" for each in item.iter("{*}t") if not each.getparent().tag.endswith("}rPh"))


def _formats(package: Package, name: str) -> list[str]:
    """The number format of each style of cells."""
    styles = package.root(name) if name else None
    if styles is None:
        return []
    named = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iterfind("{*}numFmts/{*}numFmt")}
    ids = [each.get("numFmtId", "") for each in styles.iterfind("{*}cellXfs/{*}xf")]
    return [named[each] if each in named else _BUILT_IN.get(_number(each), "") for each in ids]


@dataclass(slots=True)
class _Sheet:
    """Reads one sheet. `texts` and `formats` are those that cells name by number."""

    texts: list[str]
    formats: list[str]
    is_1904: bool
    out: DocumentText
    links: dict[tuple[int, int], str] = field(default_factory=dict)

    def rows(self, package: Package, part: str, label: str) -> list[list[str]]:
        """The texts of the rows; those of hidden rows and columns are left out."""
        relations, hidden = package.relations(part), set[int]()
        rows: list[tuple[int, dict[int, str]]] = []
        for each in package.each(part, label, "{*}col", "{*}row", "{*}hyperlink"):
            if each.tag.endswith("}col"):
                if _is_hidden(each):
                    hidden |= set(range(_number(each.get("min")), min(_number(each.get("max")), MAX_COLUMNS) + 1))
            elif each.tag.endswith("}hyperlink"):
                self._note_link(_place(each.get("ref")), address(relations, each))
            elif (number := _number(each.get("r")) or (rows[-1][0] + 1 if rows else 1)) <= MAX_ROWS:
                cells = self._cells(each, number)
                if _is_hidden(each):
                    self.out.leave_out(" ".join(cells.values()))
                    cells = {}
                for column in hidden & cells.keys():
                    self.out.leave_out(cells.pop(column))
                rows.append((number, cells))
        by_number = dict(rows)
        for (row, column), url in self.links.items():
            if column in (cells := by_number.get(row, {})):
                cells[column] = self.out.link(cells[column], url)
        return [[cells.get(at, "") for at in range(1, max(cells, default=0) + 1)] for cells in by_number.values()]

    def _note_link(self, place: tuple[int, int] | None, url: str) -> None:
        if place is not None and url and len(self.links) < _MAX_LINKS:
            self.links[place] = url

    def _cells(self, row: Any, number: int) -> dict[int, str]:
        """The texts of a row by their columns, counted from 1."""
        cells: dict[int, str] = {}
        column = 0
        for cell in row.iterchildren("{*}c"):
            place = _place(cell.get("r"))
            column = place[1] if place is not None else column + 1
            text = self._text(cell, (number, column)) if column <= MAX_COLUMNS else ""
            if text:
                cells[column] = text
        return cells

    def _text(self, cell: Any, place: tuple[int, int]) -> str:
        """A cell's value as it is shown; a formula whose value nobody has computed yet, as `=A1+A2`."""
        kind, value = cell.get("t", "n"), cell.findtext("{*}v") or ""
        formula = cell.findtext("{*}f") or ""
        if (match := _LINK_FORMULA.match(formula)) is not None:
            self._note_link(place, match[1])
        if kind == "inlineStr":
            return "".join(map(_shared_text, cell.iterchildren("{*}is")))
        if not value:
            return f"={formula}" if formula else ""
        if kind == "s":
            at = _number(value)
            return self.texts[at] if at < len(self.texts) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n":
            return value
        style = _number(cell.get("s"))
        return number_text(value, self.formats[style] if style < len(self.formats) else "", is_1904=self.is_1904)


def _place(reference: str | None) -> tuple[int, int] | None:
    """`(row, column)` of `B2`, or of the first cell of `B2:C3`; None for another text."""
    match = re.match(r"\$?([A-Z]{1,3})\$?(\d{1,7})", reference or "")
    if match is None:
        return None
    column = functools.reduce(lambda sum_, letter: sum_ * 26 + ord(letter) - 64, match[1], 0)
    return int(match[2]), column


def _is_hidden(each: Any) -> bool:
    return each.get("hidden") in ("1", "true")


def _number(text: str | None) -> int:
    return int(text[:9]) if text and text.isdecimal() else 0


def number_text(text: str, number_format: str = "", *, is_1904: bool = False) -> str:
    """A number as its format shows it, where it alone would say another thing: `0.125` and `0.0%` give `12.5 %`, `1.5`
    and `"CHF" 0.00` give `CHF 1.50`, `45000` and `d.m.yy` give `2023-03-15`. What is no number stays."""
    try:
        value = float(text)
    except ValueError:
        return text
    shown = _format_of(number_format)
    if shown.is_date and 0 <= value < _MAX_DAY:
        return _day_text(value, _EPOCHS[is_1904], is_duration=shown.is_duration)
    if shown.is_percentage:
        return f"{value * 100:.12g} %"
    if shown.before or shown.after:
        number = f"{abs(value):{',' if shown.has_groups else ''}.{shown.decimals}f}"
        return f"{'-' if value < 0 else ''}{shown.before}{number}{shown.after}"
    return text if text.isdecimal() else f"{value:.15g}"  # as many digits as a sheet keeps


def _day_text(value: float, epoch: datetime.datetime, *, is_duration: bool) -> str:
    """A day, a time of day, or both: days since the epoch, and their share of a day."""
    passed = datetime.timedelta(seconds=round(value * 86_400))
    if is_duration:
        minutes, seconds = divmod(int(passed.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if value < 1:
        return (epoch + passed).time().isoformat()
    if value < 60 and epoch.year == 1899:  # the 29th of February 1900, which sheets count and there was not
        passed += datetime.timedelta(days=1)
    moment = epoch + passed
    return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat(" ", "seconds")


class _Format(NamedTuple):
    """What a number format shows: a date or duration, a percentage; or a currency before or after so many decimals."""

    is_date: bool = False
    is_duration: bool = False
    is_percentage: bool = False
    before: str = ""
    after: str = ""
    decimals: int = 0
    has_groups: bool = False


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def _format_of(number_format: str) -> _Format:
    """`#,##0.00 [$€-407]` has two decimals, groups, and ` €` after them."""
    bare = _LITERAL.sub("", number_format)
    if "%" in bare:
        return _Format(is_percentage=True)
    is_duration = _HOURS.search(number_format) is not None
    if is_duration or (_DATE.search(bare.partition(";")[0]) and "General" not in bare):
        return _Format(is_date=True, is_duration=is_duration)
    first = _first_section(number_format)
    digits = _DIGITS.search(_LITERAL.sub(lambda match: "\0" * len(match[0]), first))
    if digits is None:
        return _Format()
    before, after = _shown(first[: digits.start()]), _shown(first[digits.end() :])
    if not (_is_money(before) or _is_money(after)):
        return _Format()
    pattern = digits[0]
    return _Format(False, False, False, before.lstrip(), after.rstrip(), len(pattern.partition(".")[2]), "," in pattern)


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
