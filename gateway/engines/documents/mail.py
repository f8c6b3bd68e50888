"""Reads a mail or an archive of mails (mbox): who wrote when, the text decoded, attachments by their names.

Runs in the parsing processes, by the standard library's `email`. Of a text in several forms the plain one is read, else
the HTML. Sources: RFC 5322, RFC 2045 to 2047, RFC 4155.
"""

import itertools
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Any, NamedTuple

from gateway.engines.documents.feeds import FeedText, written
from gateway.engines.html.encoding import decode
from gateway.engines.markdown.inline import Inline, InlineStyle
from gateway.engines.words.sections import fenced

_HEAD_BYTES = 65_536
_HEADER_CHARS = 1_000
"""Of one header; the rest is cut."""
_ENCODED_CHARS = 8_000
"""Of a header before it is decoded: the standard library's decoder takes time with the square of a header's length."""
_MAX_MAILS, _MAX_PARTS, _MAX_DEPTH = 5_000, 200, 8
"""Mails of an archive, parts of one and their nesting."""
_MAX_BOUNDARIES = 1_000
"""Places in a mail that state a boundary, above which it is read as text alone: the time of the standard library's
parser grows with nested parts times lines."""
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further mail is written: no page has more (`engines.documents.page`)."""
_TYPES = frozenset({"message/rfc822", "application/mbox", "application/x-mbox", "message/global"})
_MAYBE = frozenset({"", "text/plain", "application/octet-stream"})
_FIELD = re.compile(rb"([!-9;-~]{1,80}):[ \t]?")
_SURE = ("date", "message-id", "received", "mime-version")
_POSTMARK, _CLOCK, _POSTMARK_BYTES = b"From ", re.compile(rb"\d\d:\d\d"), 300
"""First line of each mail of an archive: sender and date (RFC 4155; git writes a commit for the sender)."""
_SHOWN = ("From", "To", "Cc", "Date")
_CODE = {"text/x-patch": "diff", "text/x-diff": "diff"}


class _MailPart(NamedTuple):
    """A text of a mail, or an attachment, which has a name and no kind."""

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
    headers = BytesHeaderParser().parsebytes(body[:_HEAD_BYTES])
    return "from" in headers and "subject" in headers and any(name in headers for name in _SURE)


def read_mail(body: bytes, plain: bool) -> tuple[str, str]:
    """(subject of the first mail, Markdown or plain text). In an archive the subject of each mail is its heading."""
    mails = _mails(body)
    blocks: list[str] = []
    first, size = "", 0
    for mail in mails[:_MAX_MAILS]:
        if size > _MAX_TEXT_CHARS:
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


def _header(mail: Message, name: str) -> str:
    """A header with its encoded words decoded (RFC 2047)."""
    encoded: Any = mail.get(name, "")
    if isinstance(encoded, str) or len(str(encoded)) > _ENCODED_CHARS:  # else a Header, which keeps bytes as they came
        encoded = str(encoded)[:_ENCODED_CHARS]
    try:
        pieces = decode_header(encoded)
    except (HeaderParseError, ValueError):
        pieces = [(str(encoded), None)]
    texts = [
        decode(piece, f"text/plain; charset={charset or 'utf-8'}") if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    ]
    text = "".join(texts).encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # bytes that were not encoded
    return " ".join(text.split())[:_HEADER_CHARS]


def _written_mail(body: bytes, plain: bool, level: int) -> tuple[str, str]:
    mail = message_from_bytes(body if body.count(b"boundary") <= _MAX_BOUNDARIES else body.replace(b"boundary", b""))
    inline = Inline(InlineStyle("", plain))
    subject = _header(mail, "Subject")
    lines = [(label, text) for label in _SHOWN if (text := _header(mail, label))]
    shown = [f"{label}: {text}" if plain else f"**{label}:** {inline.escape(text)}" for label, text in lines]
    heading = subject if plain or not subject else f"{'#' * level} {inline.escape(subject)}"
    blocks = [heading, ("\n" if plain else "  \n").join(shown)]
    for part in itertools.islice(_parts(mail, 0), _MAX_PARTS):
        if part.kind == "text/html":
            blocks.append(written(FeedText(part.text, is_html=True), plain))
        elif part.kind in _CODE and not plain:
            blocks.append(fenced(part.text.strip("\r\n"), _CODE[part.kind]))
        elif part.kind:
            blocks.append(part.text.strip())
        else:
            blocks.append(f"[attachment: {part.name}]" if plain else f"\\[attachment: {inline.escape(part.name)}]")
    return subject, "\n\n".join(block for block in blocks if block)


def _parts(part: Message, depth: int) -> Iterator[_MailPart]:
    """The texts and attachments of a part, in order."""
    kind, payload = part.get_content_type(), part.get_payload()
    inner = [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else None
    is_file = part.get_content_disposition() == "attachment" and kind not in _CODE
    if depth > _MAX_DEPTH:
        return
    if inner is not None and not is_file:
        if kind == "message/rfc822" and inner:
            sender, subject = _header(inner[0], "From"), _header(inner[0], "Subject")
            yield _MailPart("text/plain", f"{sender}: {subject}".strip(": "), "")
        for each in [_chosen(inner)] if kind == "multipart/alternative" and inner else inner:
            yield from _parts(each, depth + 1)
    elif is_file or not kind.startswith(("text/", "multipart/")):
        yield _MailPart("", "", _file_name(part) or kind)
    else:
        body = part.get_payload(decode=True)
        declared = f"text/plain; charset={part.get_content_charset() or ''}"
        text = decode(body if isinstance(body, bytes) else b"", declared)
        yield _MailPart(kind if kind in ("text/html", *_CODE) else "text/plain", text.replace("\r\n", "\n"), "")


def _file_name(part: Message) -> str:
    """The name of an attachment, which may be encoded as RFC 2231 or, against the standard, RFC 2047 says."""
    holder = Message()
    holder["name"] = str(part.get_filename() or "")
    return _header(holder, "name")


def _chosen(forms: list[Message]) -> Message:
    """Of several forms of a text the plain one that is not empty, else the one that is preferred, the last."""
    for form in forms:
        if form.get_content_type() == "text/plain" and str(form.get_payload()).strip():
            return form
    return forms[-1]
