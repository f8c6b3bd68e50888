"""Base64 in rows of equal width, as programs print it: which rows belong together, and what they are as text.

Works on folded bytes. Used by the detectors (`detectors.obfuscation`) and where a growing text must not be cut
(`text.holdback`).
"""

import binascii
import re
from binascii import a2b_base64

ENCODED_CLASS = bytes(
    0x74
    if code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
    else 0x3D
    if code == 0x3D
    else 0x20
    for code in range(256)
)
"""Class translation: `t` for the characters of base64, `=` for its end, a space for all others."""
REST_OF_ENCODED = re.compile(rb"t*+=?=?")
PROBE_CHARS = 64
"""Chosen: the start of a longer base64 word is decoded first, and the rest only if this is text. At half binary data
passes the probe by chance more often; at double each probe costs more."""
_NEXT_ROW = re.compile(rb"\r?\n[ \t]{0,16}(?=[A-Za-z0-9+/=])")
_OPEN_ROW = re.compile(rb"[ \t]{0,16}([A-Za-z0-9+/_-]*+={0,2})\r?")
_ROW_CHARS = range(60, 80, 4)
"""Lengths of the rows in which programs print base64: 64 (PEM), 76 (MIME, `base64`), and lengths between."""
_MAX_ROWS_CHARS = 7_168
"""Chosen: rows are held back together up to this length, below the longest holdback (8,192 characters). A private key
of 4096 bits that is in base64 again has 70 rows, 4,500 characters. At half such keys are cut; at double the holdback
ends before."""
_KEPT_ROWS = 8
"""Chosen: rows that stay held back when there are too many: more than a token or password has. At half long tokens are
cut, at double a stream of rows is scanned a little more often."""
_PRINTABLE = bytes({*range(0x20, 0x100), *b"\t\n\r"} - {0x7F})
_STANDARD = bytes.maketrans(b"-_", b"+/")
_BETWEEN_ROWS = b"= \t\r\n"
_LINE_FEED, _RETURN, _END = 0x0A, 0x0D, 0x3D


def rows_of(text: bytes, classes: bytes, start: int, end: int) -> list[range] | None:
    """The rows of base64 that begin with the one at [start, end), all as long as it but the last; None for one row, or
    where the first is no text. `classes`: the text in ENCODED_CLASS."""
    if end - start not in _ROW_CHARS or not _is_text_row(text, start):
        return None
    rows = [range(start, end)]
    while len(rows[-1]) == end - start:
        link = _NEXT_ROW.match(text, rows[-1].stop)
        row = REST_OF_ENCODED.match(classes, link.end()) if link else None
        if row is None or not 0 < row.end() - row.start() <= end - start:
            break
        rows.append(range(*row.span()))
    return rows if len(rows) > 1 else None


def may_end_in_rows(text: str | bytes) -> bool:
    """Whether `open_rows_start` may find rows: the last whole line ends without a blank, as no line of prose does."""
    line_end = text.rfind("\n") if isinstance(text, str) else text.rfind(b"\n")
    return line_end >= _ROW_CHARS.start and len(text[line_end - _ROW_CHARS.start + 2 : line_end].split(None, 1)) == 1


def open_rows_start(text: bytes, least: int) -> int:
    """The index at which the last block of base64 rows begins, if the text ends in such a block and more rows may
    follow. Of a block that is too long, the index of its last _KEPT_ROWS rows. The text's length where it ends in no
    such block. The search stops at the index `least`.

    The block is what `rows_of` would read together."""
    line_end = text.rfind(b"\n")
    open_row = _OPEN_ROW.fullmatch(text, line_end + 1)
    if line_end < 0 or open_row is None:
        return len(text)
    starts: list[int] = []
    classes = text.translate(ENCODED_CLASS)
    width = len(open_row[1])
    while line_end > least:
        if len(text) - line_end > _MAX_ROWS_CHARS:
            starts = starts[:_KEPT_ROWS]
            break
        end = line_end - (text[line_end - 1] == _RETURN)
        body = end
        while body > max(end - 2, least) and classes[body - 1] == _END:
            body -= 1
        start = max(classes.rfind(b" ", least, body), classes.rfind(b"=", least, body), least - 1) + 1
        if end - start not in _ROW_CHARS or end - start < width or (starts and end - start != width):
            break
        starts.append(start)
        width = end - start
        line_end = _line_end_before(text, start)
    for start in reversed(starts):
        if _is_text_row(text, start) and _may_be_text(text[start:]):
            return start
    return len(text)


def _line_end_before(text: bytes, start: int) -> int:
    """The index of the line feed before a row, which may be indented; 0 where something else precedes it."""
    end = start
    while end > 0 and text[end - 1] in b" \t" and start - end < 16:
        end -= 1
    return end - 1 if end > 0 and text[end - 1] == _LINE_FEED else 0


def _is_text_row(text: bytes, start: int) -> bool:
    return bool(as_text(from_base64(text[start : start + PROBE_CHARS // 4 * 3])))


def _may_be_text(rows: bytes) -> bool:
    """Whether rows, the last of which may not be whole, decode to no control character so far."""
    body = rows.translate(None, _BETWEEN_ROWS)
    return not from_base64(body[: len(body) // 4 * 4]).translate(None, _PRINTABLE)


def from_base64(body: bytes) -> bytes:
    """What base64 without its `=` decodes to, in either alphabet; nothing where it is none."""
    try:
        return a2b_base64(body.translate(_STANDARD) + b"=" * (-len(body) % 4))
    except binascii.Error:
        return b""


def as_text(decoded: bytes) -> tuple[str, ...]:
    """(the text,) if the bytes are UTF-8 without control characters, else ()."""
    if not decoded or decoded.translate(None, _PRINTABLE):
        return ()
    text = decoded.decode("utf-8", "ignore")  # an exception would cost more than the rest of the function
    return (text,) if len(text) == len(decoded) or len(text.encode()) == len(decoded) else ()
