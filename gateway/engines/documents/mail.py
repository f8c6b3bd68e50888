"""Reads a mail or an archive of mails (mbox): who wrote when, the text decoded, attachments by their names.

Runs in the parsing processes. Of a text in several forms the plain one is read, else the HTML. Sources: RFC 5322, RFC
2045 to 2047, RFC 4155. Python's own parser is not used: its time grows with nested parts times lines.
"""

import binascii
import itertools
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from typing import NamedTuple
from urllib.parse import unquote

from gateway.engines.answer.code_fences import fenced
from gateway.engines.documents.feed_page import written
from gateway.engines.documents.feeds import FeedText
from gateway.engines.html.charset import decode
from gateway.engines.markdown.inline import Inline, InlineStyle

_HEAD_BYTES = 65_536
"""Head of a mail. Chosen: lists and filters add some thousand; what is longer is no mail."""
_HEADER_CHARS = 1_000
"""One header. Chosen: a subject and some addressees; the rest is cut."""
_MAX_MAILS, _MAX_PARTS, _MAX_DEPTH = 5_000, 200, 8
"""Mails of an archive, parts of one and their nesting. Chosen: a busy month of a list has 3,000, a mail with a digest
nests three deep. At half archives are cut; at double the time for a forged mail doubles."""
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further mail is written: no page has more (`engines.documents.page`)."""
_TYPES = frozenset({"message/rfc822", "application/mbox", "application/x-mbox", "message/global"})
_MAYBE = frozenset({"", "text/plain", "application/octet-stream"})
_FIELD = re.compile(rb"([!-9;-~]{1,80}):[ \t]?(.*)")
_SURE = frozenset({"date", "message-id", "received", "mime-version"})
_POSTMARK, _CLOCK, _POSTMARK_BYTES = b"From ", re.compile(rb"\d\d:\d\d"), 300
"""First line of each mail of an archive: sender and date (RFC 4155; git writes a commit for the sender)."""
_BOUNDARY = re.compile(r'boundary\s{0,9}=\s{0,9}(?:"([^"]{1,100})"|([^\s;"]{1,100}))', re.IGNORECASE)
_NAME = re.compile(r'name\*?\d?\*?=(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_SHOWN = (("from", "From"), ("to", "To"), ("cc", "Cc"), ("date", "Date"))
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii", ""})
"""Of encoded names of attachments."""
_CODE = {"text/x-patch": "diff", "text/x-diff": "diff"}

Headers = dict[str, str]


class _Part(NamedTuple):
    kind: str
    text: str
    name: str


def is_mail(content_type: str, body: bytes) -> bool:
    """Whether a body is a mail or an archive: called so, or a text that begins as one does."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence in _TYPES:
        return True
    if essence not in _MAYBE:
        return False
    if not body.startswith(_POSTMARK) and not _FIELD.match(body[:100]):
        return False
    names = _headers(body[:_HEAD_BYTES])[0].keys()
    return "from" in names and "subject" in names and not _SURE.isdisjoint(names)


def read_mail(body: bytes, plain: bool) -> tuple[str, str]:
    """(subject of the first mail, Markdown or plain text). In an archive the subject of each mail is its heading."""
    mails = _mails(body)
    blocks: list[str] = []
    first, size = "", 0
    for number, mail in enumerate(mails):
        if number >= _MAX_MAILS or size > _MAX_TEXT_CHARS:
            break
        subject, written_mail = _written_mail(mail, plain, 1 if len(mails) == 1 else 2)
        first = first or subject
        blocks.append(written_mail)
        size += len(written_mail)
    return first, "\n\n".join(blocks)


def _mails(body: bytes) -> list[bytes]:
    """The mails of an archive; one that is none is the only one."""
    starts: list[int] = []
    at = 0 if body.startswith(_POSTMARK) else -1
    while at >= 0 and len(starts) <= _MAX_MAILS:
        if _is_start(body, at):
            starts.append(at)
        at = body.find(b"\n" + _POSTMARK, at + 1) + 1 or -1
    return [body[start:end] for start, end in itertools.pairwise([*starts, len(body)])] or [body]


def _is_start(body: bytes, at: int) -> bool:
    """True for a line with a time between a blank line and a header: texts quote such lines, too."""
    line, _, following = body[at : at + _POSTMARK_BYTES].partition(b"\n")
    before = body[max(0, at - 4) : at].replace(b"\r", b"")
    is_first = not before or before.endswith(b"\n\n")
    return is_first and _CLOCK.search(line) is not None and _FIELD.match(following) is not None


def _headers(mail: bytes) -> tuple[Headers, int]:
    """The headers by their names in lower case, the first of each, and where the text begins."""
    found: dict[str, list[bytes]] = {}
    at, name = 0, ""
    head = mail[:_HEAD_BYTES]
    while at < len(head):
        end = head.find(b"\n", at)
        end = len(head) if end < 0 else end
        line = head[at:end].rstrip(b"\r")
        if not line:
            return _joined(found), end + 1
        field = _FIELD.match(line)
        if line[:1] in b" \t" and name:
            found[name].append(line.strip())
        elif field is not None:
            name = field[1].decode("ascii").lower()
            if name in found:
                name = f"{name}, again"
            found[name] = [field[2].strip()]
        elif at or not line.startswith(_POSTMARK):
            return _joined(found), at
        at = end + 1
    return _joined(found), at


def _joined(found: dict[str, list[bytes]]) -> Headers:
    return {name: b" ".join(lines)[:_HEADER_CHARS].decode("utf-8", "replace") for name, lines in found.items()}


def _readable(value: str) -> str:
    """A header with its encoded words decoded (RFC 2047)."""
    if "=?" not in value:
        return " ".join(value.split())
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError):
        return value
    texts = [
        decode(piece, f"text/plain; charset={charset or 'utf-8'}") if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    ]
    return " ".join("".join(texts).split())


def _written_mail(mail: bytes, plain: bool, level: int) -> tuple[str, str]:
    headers, start = _headers(mail)
    inline = Inline(InlineStyle("", plain))
    subject = _readable(headers.get("subject", ""))
    lines = [(label, _readable(headers[name])) for name, label in _SHOWN if headers.get(name)]
    shown = [f"{label}: {text}" if plain else f"**{label}:** {inline.escape(text)}" for label, text in lines]
    heading = subject if plain or not subject else f"{'#' * level} {inline.escape(subject)}"
    blocks = [heading, ("\n" if plain else "  \n").join(shown)]
    parts = list(_parts(headers, mail[start:], 0, [_MAX_PARTS]))
    for part in parts:
        if part.kind == "text/html":
            blocks.append(written(FeedText(part.text, is_html=True), plain))
        elif part.kind in _CODE and not plain:
            blocks.append(fenced(part.text.strip("\r\n"), _CODE[part.kind]))
        elif part.kind:
            blocks.append(part.text.strip())
        else:
            blocks.append(f"[attachment: {part.name}]" if plain else f"\\[attachment: {inline.escape(part.name)}]")
    return subject, "\n\n".join(block for block in blocks if block)


def _parts(headers: Headers, body: bytes, depth: int, left: list[int]) -> Iterator[_Part]:
    """The texts and attachments of a part; an attachment has no kind. `left`: how many parts may still be read."""
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        return
    declared = headers.get("content-type", "text/plain")
    kind = declared.partition(";")[0].strip().lower()
    boundary = _BOUNDARY.search(declared) if kind.startswith("multipart/") else None
    if boundary is not None:
        inner = _pieces(body, (boundary[1] or boundary[2]).encode("utf-8", "replace"))
        if kind == "multipart/alternative":
            inner = [_chosen(inner)] if inner else []
        for piece in inner:
            part_headers, start = _headers(piece)
            yield from _parts(part_headers, piece[start:], depth + 1, left)
        return
    disposition = headers.get("content-disposition", "")
    name = _NAME.search(disposition) or _NAME.search(declared)
    is_text = kind.startswith("text/") or kind == "" or kind.startswith("multipart/")
    is_file = disposition.strip().lower().startswith("attachment") and kind not in _CODE
    if kind == "message/rfc822" and not is_file:
        inner_headers, start = _headers(body)
        subject = _readable(inner_headers.get("subject", ""))
        sender = _readable(inner_headers.get("from", ""))
        yield _Part("text/plain", f"{sender}: {subject}".strip(": "), "")
        yield from _parts(inner_headers, body[start:], depth + 1, left)
    elif not is_text or is_file:
        yield _Part("", "", _file_name(name[1] or name[2]) if name else kind)
    else:
        text = decode(_decoded(body, headers.get("content-transfer-encoding", "")), declared)
        yield _Part(kind if kind in ("text/html", *_CODE) else "text/plain", text.replace("\r\n", "\n"), "")


def _file_name(value: str) -> str:
    """The name of an attachment, which may be encoded as RFC 2231 or, against the standard, RFC 2047 says."""
    charset, marks, text = value.partition("''")
    return unquote(text, charset or "utf-8", "replace") if marks and charset.lower() in _CHARSETS else _readable(value)


def _pieces(body: bytes, boundary: bytes) -> list[bytes]:
    """The parts between the lines of a boundary. Text before the first line and after the last one is left out."""
    found: list[bytes] = []
    line = b"\n--" + boundary
    for piece in (b"\n" + body).split(line, _MAX_PARTS)[1:]:
        if piece.startswith(b"--"):
            break
        if piece[:1].strip() and found:  # another boundary that begins as this one does
            found[-1] += line + piece
        else:
            found.append(piece.partition(b"\n")[2])
    return found


def _chosen(pieces: list[bytes]) -> bytes:
    """Of several forms of a text the plain one that is not empty, else the one that is preferred, the last."""
    for piece in pieces:
        headers, start = _headers(piece)
        if headers.get("content-type", "text/plain").lower().startswith("text/plain") and piece[start:].strip():
            return piece
    return pieces[-1]


def _decoded(body: bytes, encoding: str) -> bytes:
    try:
        if encoding.strip().lower() == "base64":
            return binascii.a2b_base64(body)
        if encoding.strip().lower() == "quoted-printable":
            return binascii.a2b_qp(body)
    except binascii.Error:
        return body
    return body
