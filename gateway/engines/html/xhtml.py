"""Writes a page that is sent as XML in the syntax of HTML, in which it is read.

XML has two forms that HTML takes for something else: any element may be empty (`<script src="a.js"/>`, behind which all
would be script), and CDATA sections hold text. Source: XML 1.0, HTML standard 13.1. Pure.
"""

import html
import re

_EMPTY = re.compile(r"<([A-Za-z_][\w:.-]{0,60})((?:\s[^<>]{0,2000})?)/>")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_VOID = frozenset(
    {
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta",
        "param", "source", "track", "wbr",
    }
)  # fmt: skip


def is_xml(content_type: str) -> bool:
    """Whether a page with this Content-Type is read as XML by browsers."""
    return content_type.partition(";")[0].strip().lower().endswith(("/xml", "+xml"))


def as_html(markup: str) -> str:
    """The markup with end tags for empty elements that HTML expects to be closed, and CDATA as text."""
    before, *sections = markup.split(_CDATA)
    for index, section in enumerate(sections):
        text, end, rest = section.partition(_CDATA_END)
        sections[index] = html.escape(text, quote=False) + rest if end else _CDATA + section
    markup = "".join((before, *sections))
    return _EMPTY.sub(_closed, markup) if "/>" in markup else markup


def _closed(tag: re.Match[str]) -> str:
    return tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"
