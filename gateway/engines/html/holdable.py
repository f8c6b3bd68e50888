"""Replaces the characters of HTML and XML that a tree of elements cannot hold.

These are the characters that XML 1.0 (§2.2) excludes, and references to them. libxml2 reads them from HTML but refuses
to write them: moving a text that has one raises ValueError. Pure.
"""

import re

import re2

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r")
_CHARACTERS = re.compile(b"[" + re.escape(_CONTROLS) + b"]|\xef\xbf[\xbe\xbf]")
_REFERENCES = re.compile(
    rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9])"
    rb"|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[fF]{3}[efEF])(?![0-9a-fA-F]));?"
)
_ANY_REFERENCE = re2.compile(
    rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?:[^0-9]|$)"
    rb"|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[fF]{3}[efEF])(?:[^0-9a-fA-F]|$))"
)
"""Finds out whether `_REFERENCES` may match, in a tenth of its time."""


def holdable(markup: str) -> str:
    """The markup with a blank for each character that a tree cannot hold."""
    return holdable_bytes(markup.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def holdable_bytes(markup: bytes) -> bytes:
    """The same for markup in UTF-8."""
    has_controls = len(markup.translate(None, _CONTROLS)) < len(markup)  # rare; the pattern takes five times as long
    may_have_others = b"\xef" in markup and (b"\xef\xbf\xbe" in markup or b"\xef\xbf\xbf" in markup)
    if has_controls or may_have_others:
        markup = _CHARACTERS.sub(b" ", markup)
    return _REFERENCES.sub(b" ", markup) if _ANY_REFERENCE.search(markup) else markup
