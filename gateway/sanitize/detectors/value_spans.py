"""Where the value behind a secret's name ends: with its quotation, its element, or as a word.

"zQ7\\"w9", "host"              ->  zQ7\\"w9
'Zk83''hf'                      ->  Zk83''hf
<password>a&amp;b</password>    ->  a&amp;b
abc,9xQ;user=bob                ->  abc,9xQ
"""

import re

from gateway.sanitize.detectors.value_forms import (
    MAX_VALUE_CHARS,
    MIN_CERTAIN_CHARS,
    MIN_CHARS,
    is_drawn,
    is_identifier,
    is_random,
)
from gateway.sanitize.folding import View

_AMPERSAND = rb"&(?![A-Za-z_][\w.%\[\]-]{0,40}=|[A-Za-z]{2,8};|#[0-9xX])"
_SIGN = (
    rb"[,;|](?=[^\s\"'`<>,;&|)}\]])(?![A-Za-z_$][\w .$\[\]-]{0,40}[=:]|[a-z]{2,12}[ \t])"  # no next setting or command
    rb"|(?<=[A-Za-z0-9])(?<![(\[=,][bBrRuUfF])[\"'`>](?=[A-Za-z0-9])"  # no end of a quotation
    rb"|<(?=[A-Za-z]{0,16}[0-9])(?![A-Za-z]{1,12}[1-6]?[\s/>])|\\\|"  # no tag or type, no end of a cell
)
_WORD_PART = rb"[^\s\"'`<>,;&|]{1,160}"
_WORD = re.compile(
    b"(?:" + _AMPERSAND + b")?" + _WORD_PART + b"(?:(?:" + _AMPERSAND + b"|" + _SIGN + b")" + _WORD_PART + b"){0,8}"
    rb"(?:&(?=[\s,.]|\Z))?"
)
"""An unquoted value: a sign is part of it unless it separates the fields of a query or the members of a list, or begins
an HTML entity or tag."""
_ELEMENT_BEGINS = re.compile(rb"<[\w:.-]{1,60}+[^<>\n]{0,200}>\s{0,20}(?:<!\[CDATA\[)?")
_MARK = {
    b'"': re.compile(rb"\"(?:\"|'\"'\"|[ \t]{0,2}[+.][ \t]{0,2}\")?"),
    b"'": re.compile(rb"'(?:'|\\''|\"'\"'|[ \t]{0,2}[+.][ \t]{0,2}')?"),
    b"`": re.compile(rb"``?"),
}
"""By quotation mark: the mark, and what may follow it where the quotation goes on: the mark doubled as in SQL, YAML and
CSV, one escaped as in a shell, a sum of strings."""
_MAX_QUOTED_CHARS = 512
_MAX_ELEMENT_CHARS = 532
_CDATA = b"<![CDATA["
_BLANK = re.compile(rb"\s")


def quote_before(text: bytes, end: int) -> bytes:
    """The mark that opens a quotation at `end`, `&` for the entity `&quot;`; empty when there is none."""
    mark = text[end - 1 : end]
    if mark in _MARK:
        return mark
    return b"&" if mark == b";" and text.endswith(b"&quot;", 0, end) else b""


def value_at(view: View, start: int, quote: bytes) -> bytes | None:
    """The word or whole quotation at `start`; None when it is too short, or an unquoted plain word."""
    text = view.folded
    if quote in _MARK:
        end = quotation_end(view, start, quote)
        value = text[start : min(end, start + MAX_VALUE_CHARS)]
        if end > start and (_BLANK.search(value) is None or is_drawn(value)):
            return value if len(value) >= MIN_CHARS else None
    match = _WORD.match(text, start)
    if match is None:
        return None
    value = match.group()
    if len(value) < MIN_CHARS or (not quote and (2 * value.count(b"\x02") >= len(value) or _is_plain_word(value))):
        return None  # letters of other scripts are a sentence, which has no blanks in some
    return value


def element_end(text: bytes, name: int, start: int) -> int:
    """Where the content of an element of XML or HTML ends that begins at `start`, with the name at `name` in its tag;
    -1 where none does."""
    low = text.rfind(b"<", max(0, name - 40), name + 1)
    if low < 0 or _ELEMENT_BEGINS.fullmatch(text, low, start) is None:
        return -1
    closing, no_content = (b"]]>", b"\n") if text.endswith(_CDATA, low, start) else (b"</", b">")
    content = text[start : max(start, text.find(closing, start, start + _MAX_ELEMENT_CHARS))].rstrip()
    return -1 if len(content) < MIN_CHARS or no_content in content else start + len(content)


def quotation_end(view: View, start: int, quote: bytes) -> int:
    """Where the quotation that a mark before `start` opens is closed: by a mark of the same document, which nothing
    escapes. Without one it ends at the first mark, and without any at `start`.

        "zQ7\\"w9" closes behind `w9`; {\\"to\\": \\"x\\\\\\"y\\"} closes behind `y`
    """
    text, marks, level = view.folded, 1, view.backslashes(start - 1) + 1
    while level == 1 and marks < 3 and text[start - marks - 1 : start - marks] == quote:
        marks += 1  # "" in a field of CSV, the three marks of Python
    line_end = text.find(b"\n", start, start + _MAX_QUOTED_CHARS)
    high = line_end if line_end >= 0 else min(len(text), start + _MAX_QUOTED_CHARS)
    closing = quote * marks
    first = at = text.find(closing, start, high)
    while at >= 0:
        more = _MARK[quote].match(text, at, high) if marks == level == 1 else None
        if view.backslashes(at) % (2 * level) != level - 1 or _is_escaped(text, at):
            at = text.find(closing, at + marks, high)
        elif more is not None and more.end() > at + 1:
            at = text.find(closing, more.end(), high)
        else:
            return at
    return first if first >= 0 else start


def _is_escaped(text: bytes, at: int) -> bool:
    """Whether an odd number of backslashes stands before a mark."""
    before = text[max(0, at - 64) : at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _is_plain_word(letters: bytes) -> bool:
    """Whether letters are a word or a name made of words, and not mixed at random."""
    if not letters.isalpha():
        return False
    plain = letters.islower() or letters.isupper() or len(letters) < MIN_CERTAIN_CHARS
    return plain or (is_identifier(letters) and not is_random(letters))
