"""Reads pages that are not HTML: plain text, Markdown, JSON, XML, mails, notebooks. Runs in the parsing processes.

It also decides of which kind a body is, from its Content-Type and, where that says too little, from its beginning;
PDF and Office documents are read by `engines.documents`.
"""

import json
import re

import orjson

from gateway.engines.documents.feeds import is_xml_feed
from gateway.engines.documents.mail import is_mail, read_mail
from gateway.engines.documents.notebook import is_notebook, read_notebook
from gateway.engines.documents.parse_pool import SNIFFED_BYTES, ZIP, is_pdf
from gateway.engines.documents.reader import archive_kind
from gateway.engines.fetch.decompression import decoder_for
from gateway.engines.fetch.errors import FetchFailed, Unreadable
from gateway.engines.html.encoding import decode, not_text, text_only, wide_codec
from gateway.engines.words.sections import fenced
from gateway.wire.image_header import media_type

_TEXTUAL = re.compile(
    r"^(text/|application/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|x-sh|x-ndjson|jsonl|x-jsonlines|sql)$)"
)
_HTML = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNTOLD = frozenset({"", "application/octet-stream", "unknown/unknown", "application/x-unknown"})
"""Media types that say nothing."""
_OLD_DOCUMENTS = {
    bytes.fromhex("d0cf11e0a1b11ae1"): "an Office document of before 2007 (.doc, .xls, .ppt), or one with a password,",
    b"{\\rtf": "an RTF document",
}
"""First bytes of documents that are refused, whatever type is declared: RTF is ASCII and would pass for text."""
_GZIP = b"\x1f\x8b\x08"
"""First bytes of a gzip file: RFC 1952, 2.3."""
_GZIP_TYPES = frozenset({"application/gzip", "application/x-gzip", "application/gzip-compressed"})
_MAX_UNPACKED_BYTES = 10_485_760
"""As much as a page sent with `Content-Encoding: gzip` may have (engines.fetch.fetcher.FetchLimits)."""
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8: the sniffed ones may end inside one."""
_MAX_INDENTED_CHARS = 1_000_000
"""JSON above this size is not parsed and indented: that would take several times its size in memory."""
_MAX_TITLE_SEARCH_CHARS = 20_000
"""Beginning of an XML document in which its title is looked for; feeds have it first."""


def unpacked(content_type: str, body: bytes) -> tuple[str, bytes]:
    """The type and body of what a gzip file holds (a mailing list's archive, a change log, a page compressed twice);
    any other body as it is. Raises Unreadable."""
    if not body.startswith(_GZIP):
        return content_type, body
    is_told = content_type.partition(";")[0].strip().lower() not in _GZIP_TYPES
    decoder = decoder_for("gzip", _MAX_UNPACKED_BYTES)
    try:
        held = decoder.feed(body)
    except FetchFailed as error:
        raise Unreadable(error.message, error.code) from error
    if not decoder.is_complete:
        raise Unreadable("the gzip file is damaged: it ends early")
    return content_type if is_told else "", held


def kind_of(content_type: str, body: bytes) -> str:
    """`html`, `json`, `xml`, `feed` (RSS, Atom), `markdown`, `text`, `mail`, `notebook` (Jupyter), `picture`, or a
    document: `pdf`, `docx`, `xlsx`, `pptx`, `odt`, `epub`. A JSON Feed is `json`.

    Raises Unreadable, which names a type that cannot be read.
    """
    kind = _declared_kind(content_type, body)
    return "feed" if kind in ("html", "xml") and is_xml_feed(body) else kind


def _declared_kind(content_type: str, body: bytes) -> str:
    essence = content_type.partition(";")[0].strip().lower()
    for beginning, name in _OLD_DOCUMENTS.items():
        if body.startswith(beginning):
            raise Unreadable(f"{name} cannot be read; save it as .docx, .xlsx, .pptx, .odt or PDF", "unsupported_type")
    if is_pdf(body):
        return "pdf"
    if media_type(body) and (essence.startswith("image/") or not _is_text(essence)):
        return "picture"  # what is called a text must be one
    if body.startswith(ZIP) and (office := archive_kind(body)):
        return office
    if is_mail(content_type, body):
        return "mail"
    if is_notebook(body):
        return "notebook"
    if essence in _UNTOLD:
        return _sniff(body, content_type)
    if essence in _HTML:
        return "json" if _is_json(body) else "html"
    if essence == "application/pdf":
        return "pdf"
    if essence.endswith(("/json", "+json")):
        return "json"
    if essence.endswith(("/xml", "+xml")) and not essence.startswith("image/"):
        return "html" if b"<html" in body[:SNIFFED_BYTES].lower() else "xml"
    if essence in ("text/markdown", "text/x-markdown"):
        return "markdown"
    if _TEXTUAL.match(essence):
        return _sniff(body, content_type) if essence == "text/plain" else "text"
    if essence == "image/svg+xml":
        return "html"
    if essence.startswith(("application/", "message/")) and _is_plainly_text(body):
        return "text"  # sources, subtitles, settings: there are more types than any list has
    raise _unreadable_type(essence)


def _is_text(essence: str) -> bool:
    return essence in _HTML or _TEXTUAL.match(essence) is not None


def _is_json(body: bytes) -> bool:
    """Whether a body that is called HTML is JSON, as of services that leave the type to their framework."""
    if body[:SNIFFED_BYTES].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        orjson.loads(body)
    except ValueError:
        return False
    return True


def _is_plainly_text(body: bytes) -> bool:
    """Whether the first bytes are UTF-8 without control characters."""
    head = body[:SNIFFED_BYTES]
    decoded = head.decode("utf-8", "ignore")
    return len(head) - len(decoded.encode()) < _LONGEST_CHARACTER and not _CONTROLS.search(decoded)


def _sniff(body: bytes, content_type: str) -> str:
    head, essence = body[:SNIFFED_BYTES], content_type.partition(";")[0].strip().lower()
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or "utf-16" in content_type.lower() or wide_codec(body)
    if b"\x00" in head and not is_wide:
        raise not_text() if _is_text(essence) else _unreadable_type(essence)
    start = head.lstrip().lower()
    if essence != "text/plain" and (start.startswith((b"<!doctype html", b"<html")) or b"<body" in start):
        return "html"
    if essence != "text/plain" and start.startswith(b"<?xml"):
        return "xml"
    return "text"


def _unreadable_type(essence: str) -> Unreadable:
    name = re.sub(r"[^a-z0-9/+.-]", "", essence)[:80]
    return Unreadable(
        f"content of type {name or 'unknown'} cannot be read; HTML, text, Markdown, JSON, XML, PDF, .docx,"
        " .xlsx, .pptx, .odt, .epub and pictures can",
        "unsupported_type",
    )


def read(kind: str, body: bytes, content_type: str, plain: bool) -> tuple[str, str]:
    """(title or "", text) of a body of one of the kinds but `html`, `markdown` and documents. Raises Unreadable.

    JSON and XML are in code fences unless `plain`; line ends are `\\n`.
    """
    if kind == "mail":
        title, text = read_mail(body, plain)
        return title, text_only(text)
    text = text_only(decode(body, content_type)).replace("\r\n", "\n").strip()
    if kind == "notebook" and (notebook := read_notebook(text, plain)) is not None:
        return notebook
    if kind in ("json", "notebook"):
        return "", _as_code(_pretty_json(text), "json", plain)
    if kind == "xml":
        return _xml_title(text), _as_code(text, "xml", plain)
    return "", text


def _pretty_json(text: str) -> str:
    if len(text) > _MAX_INDENTED_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _as_code(text: str, language: str, plain: bool) -> str:
    return text if plain or not text else fenced(text, language)


def _xml_title(text: str) -> str:
    match = re.search(r"<title[^>]{0,200}>\s*(?:<!\[CDATA\[)?([^<\]]{1,300})", text[:_MAX_TITLE_SEARCH_CHARS])
    return " ".join(match[1].split()) if match else ""
