"""Finds secrets in the columns of tables, by the column's name: below a header, and in the rows of SQL's INSERT.

`syntax_secrets` finds where such a table begins; `secret_values` judges the values.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.secret_spans import judged, line_end, line_start
from gateway.sanitize.detectors.secret_values import Naming
from gateway.sanitize.detectors.value_forms import is_identifier
from gateway.sanitize.text import Finding, WorkBudget

_PAIRED = Naming(strong=True, proves=True, link="paired", quote=b"")
_MAX_ROWS = 40
"""Chosen: rows read below one header: a longer table is one of passwords only in an export of a password manager."""
_MAX_FIELDS = 64
"""Chosen: fields of one row of an INSERT; wider tables are data, not logins. At half some user tables are cut; at
double a text of commas costs more than is charged for it."""
_COLUMN = (
    rb"(?i:pass(?:word|wd|phrase)|pwd|kennwort|passwort|mot de passe|contrasena|senha|wachtwoord"
    rb"|secret|api[ _]?key|(?:(?:a(?:pi|ccess)|auth|bearer) )?token"
)
HEADERS = (
    rb"(?:^|[|,;\t\n])[ \"]{0,2}" + _COLUMN + rb"|pass)[ \"]*[|,;\t\r\n]"
    rb"|[a-z]_(?:password|secret|token|key|totp)[ \"]*[|,;\t\r\n]"
    rb"|(?:^|[ \n\"])" + _COLUMN + rb")(?:  | *\r?(?m:$))"
)  # fmt: skip
"""RE2 pattern of a cell in the header of a table whose column holds secrets; the last form is that of columns with
blanks alone between them, as the tools of consoles align them."""
_WEAK_COLUMN = re.compile(rb"(?i:token|key|totp)[^A-Za-z]")
"""Columns of tokens and keys hold words and numbers too, where those of passwords hold nothing but passwords."""
_ALIGNED_CELL = re.compile(rb"[^\s]{1,40}(?: [^\s]{1,40}){0,3}")
_MAX_ALIGNED_CELLS = 16
_RULER = re.compile(rb"(?<!-) {0,8}+-{2,200}+(?: {1,40}+-{2,200}+){1,16}[ \t\r]{0,40}\Z")
_DASHES = re.compile(rb"-{2,}")
_LOGINS = rb"[\w.`\"\[\]]*(?i:user|account|member|login|cred|admin|auth|token|secret|passw|api)[\w`\"\]]*"
INSERTS = (
    rb"(?i:insert into|replace into|copy) [^\s(]{1,80}\s?\("
    rb"|(?i:insert into|replace into) " + _LOGINS + rb" {0,2}\s(?i:values)\s?\("
)  # fmt: skip
"""RE2 pattern of the beginning of an INSERT, or of PostgreSQL's COPY, that names its columns; or of an INSERT without
these into a table of logins."""
_UNNAMED = re.compile(rb"(?i:insert into|replace into) [^\s(]{1,80} {0,2}\s(?i:values)\s?\(\Z")
_COPIED = re.compile(rb"([^()]{1,600}+)\) (?i:from stdin)[^\n]{0,80}\n")
_CELL = re.compile(rb"[ \t]{0,40}[`\"]?([^\s`\"]{4,160})")
_COLUMNS = re.compile(rb"([^()]{1,600}+)\)\s{0,8}(?i:values)\s{0,8}")
_SECRET_COLUMN = re.compile(
    rb"(?:\A|[\s\"`\[_])(?i:p?assw(?:or)?d|pwd|passphrase|secret(?:_?(?:access_?)?key)?|token"
    rb"|(?:api|private|access|encryption|signing)_?key|(?:api|client|app|shared)_?secret)[\"`\]\s]{0,4}\Z"
)
_ROW = re.compile(rb"[\s,]{0,16}\(")
_FIELD = re.compile(rb"\s{0,8}(?:[NE]?'((?:[^'\n]|''){0,200})'|[^,()'\n]{0,100}(?:\([^()\n]{0,100}\))?)\s{0,8}")


def find_below(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The cells below the word `password` in the header of a table, Markdown's or separated by signs."""
    low, high = line_start(text, start + 1), line_end(text, end - 1)
    header, mark = text[low:high], b""
    naming = _PAIRED._replace(strong=_WEAK_COLUMN.search(text, start, end + 1) is None)
    if header.rpartition(b'": "')[2].startswith(b"||"):  # wiki markup: `||a||b||` above `|1|2|`
        yield from _below(
            text, (header[: start - low].count(b"||") + 1, header.count(b"||")), high + 1, (b"|", naming), budget
        )
        return
    for sign in (b"|", b"\t", b";", b","):
        if header.strip().count(sign) > len(header) // 64:  # blanks before a line of code only indent it
            mark = sign
            break
    only = header.strip(b' "|,;\t\r')
    if not mark and text[low - 1 : start + 1] in (b"\n", b"") and (b" " not in only or only == text[start:end].strip()):
        mark = b"\x00"  # one column, as no line has such a mark: the header is all of its line
    if not mark:
        if b"  " in header.strip() or text.startswith((b"-", b" "), high + 1):
            yield from _below_aligned(text, (start, low, high), naming, budget)
        return
    if mark == b"," and header.rstrip().endswith(mark):
        return
    yield from _below(text, (text.count(mark, low, start + 1), header.count(mark)), high + 1, (mark, naming), budget)


def _below(
    text: bytes, column: tuple[int, int], at: int, form: tuple[bytes, Naming], budget: WorkBudget
) -> Iterator[Finding]:
    """The secrets in the rows from `at` on. `column`: the marks before the column, and in all of a row; `form`: the
    mark, and what the column's name says."""
    (index, cells), (mark, naming) = column, form
    for _ in range(_MAX_ROWS):
        row_end = line_end(text, at)
        budget.spend(4 + (row_end - at) // 32)
        if row_end > at and not text[at:row_end].strip(b"-+|:= \t\r"):  # a rule between header and rows
            at = row_end + 1
            continue
        if text.count(mark, at, row_end) != cells or (not cells and b" " in text[at:row_end].strip()):
            return
        cell = at
        for _ in range(index):
            cell = text.find(mark, cell, row_end) + 1
        cell_end = text.find(mark, cell, row_end)
        value = _CELL.match(text, cell, cell_end if cell_end >= 0 else row_end)
        if value is not None:
            finding = judged(text, value.start(1), value.group(1), naming, budget)
            if finding is not None:
                yield finding
        at = row_end + 1


def _below_aligned(text: bytes, header: tuple[int, int, int], naming: Naming, budget: WorkBudget) -> Iterator[Finding]:
    """The words below a header whose columns are aligned with blanks. `header`: the place of the column's name, the
    start and the end of the line."""
    start, low, high = header
    quoted = text.rfind(b'": "', low, start)  # a line that a string of JSON quotes
    low = quoted + 4 if quoted >= 0 else low
    row, row_end = high + 1, line_end(text, high + 1)
    budget.spend(6)
    if _RULER.match(text, row, row_end):  # it tells the columns, which may have one blank between them
        columns = [low + each.start() - row for each in _DASHES.finditer(text, row, row_end)]
        row = row_end + 1
    else:
        columns = [cell.start() for cell in _ALIGNED_CELL.finditer(text, low, high)]
    at = next((each for each in columns if start <= each <= start + 1), -1)
    if at < 0 or not 1 < len(columns) <= _MAX_ALIGNED_CELLS:
        return
    following = next((each - low for each in columns if each > at), 0)
    for _ in range(_MAX_ROWS):
        row_end, cell = line_end(text, row), row + at - low
        budget.spend(4)
        if row_end == row or text[cell - 1 : cell].strip(b" \n"):
            return
        value = _CELL.match(text, cell, row_end) if text[cell : cell + 1] != b" " else None
        if value is not None:
            gap = text[value.end() : value.end() + 2]
            if gap not in (b"", b"  ", b" \n") and gap[:1] not in (b"\n", b"\r") and value.end() + 1 != row + following:
                return  # words of a sentence
            finding = judged(text, value.start(1), value.group(1), naming, budget)
            if finding is not None:
                yield finding
        row = row_end + 1


def find_inserted(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The strings of an INSERT's rows in the columns that have a secret's name."""
    if _UNNAMED.match(text, start, end):
        yield from _drawn_fields(text, end - 1, budget)
        return
    columns = _COLUMNS.match(text, end) or _COPIED.match(text, end)
    if columns is None:
        return
    names = columns.group(1).split(b",")
    budget.spend(8 + 2 * len(names))
    secret = {index for index, name in enumerate(names) if _SECRET_COLUMN.search(name)}
    at = columns.end()
    if columns.re is _COPIED:
        for index in secret:
            yield from _below(text, (index, len(names) - 1), at, (b"\t", _PAIRED._replace(strong=False)), budget)
        return
    for _row in range(_MAX_ROWS if secret and len(names) <= _MAX_FIELDS else 0):
        row = _ROW.match(text, at)
        if row is None:
            return
        at = row.end()
        for index in range(len(names)):
            field = _FIELD.match(text, at)
            budget.spend(4)
            if field is None:
                return
            if index in secret and field.group(1) is not None:
                finding = judged(text, field.start(1), field.group(1), _PAIRED._replace(quote=b"'"), budget)
                if finding is not None:
                    yield finding
            at = field.end() + 1


def _drawn_fields(text: bytes, at: int, budget: WorkBudget) -> Iterator[Finding]:
    """The strings in the rows from `at` on that have small letters, capitals and digits, as names have not: which
    column they are of is not said, so that words, dates and digests count for nothing."""
    naming = _PAIRED._replace(proves=False, quote=b"'")
    for _row in range(_MAX_ROWS):
        row = _ROW.match(text, at)
        if row is None:
            return
        at = row.end()
        for _field in range(_MAX_FIELDS):
            field = _FIELD.match(text, at)
            budget.spend(4)
            if field is None:
                return
            value = field.group(1)
            if value is not None and _is_drawn(value) and not is_identifier(value):
                finding = judged(text, field.start(1), value, naming, budget)
                if finding is not None:
                    yield finding
            at = field.end() + 1
            if text[field.end() : at] != b",":
                break


_DIGIT = re.compile(rb"[0-9]")
_PLAIN_VALUE = re.compile(rb"[^\s/:<>{}\\]{8,100}")
"""Without signs of addresses, times and markup."""


def _is_drawn(value: bytes) -> bool:
    """Whether a value looks drawn at random: small and capital letters and digits."""
    is_mixed = value not in (value.lower(), value.upper()) and _DIGIT.search(value) is not None
    return is_mixed and _PLAIN_VALUE.fullmatch(value) is not None
