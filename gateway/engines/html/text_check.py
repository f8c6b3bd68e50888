"""Refuses binary content that is labelled as text: an image, an archive or a program sent as text/html or text/plain.

It judges the decoded text by what no text has much of: control characters, and characters that the encoding lacks.
Knows no format of files, so a new one needs no rule.
"""

import unicodedata
from collections import Counter

from gateway.engines.fetch.errors import FetchFailed

_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r\f\v\b\x1b")
"""Control characters without those of text files: white space, and what terminals and printers read (man pages print
bold letters with backspaces, logs have colours with escapes)."""

_SAMPLE_CHARS = 20_000
"""Characters judged at the beginning, in the middle and at the end. Chosen: at half, small pictures within a text weigh
more; at double, each page costs twice the time (0.4 ms for three samples)."""

_MAX_CONTROLS = 0.02
"""Share of control characters. Random bytes have .10 in any one-byte encoding and .05 in those of two bytes; real pages
have none but a stray NUL. Chosen: at half, a page with a NUL after each of its lines is near the limit; at double,
archives of text files, whose headers are NULs, pass sooner."""

_MAX_UNREADABLE = 0.3
"""Share of U+FFFD, of private and of unassigned characters. A page in another encoding than it declares has one for
each accented letter: .05 in French, .25 in Vietnamese, and .7 in Russian, of which nothing can be read. Chosen: at
half, Vietnamese pages are lost though most of them can be read; at double, Russian ones come as replacement
characters."""

_MAX_UNASSIGNED = 0.1
"""Share of private and unassigned characters alone: random bytes read as UTF-16 have .17, icon fonts a few."""

_CATEGORY_CHARS = 2_000
"""Of each sample, for the shares that need a look at every character. Chosen: 0.1 ms a sample of this size."""

_FEW = 8
"""So many bad characters are accepted in any text. Chosen: one broken line; the smallest pictures (43 bytes) have more,
at double they do not."""


def text_only(text: str) -> str:
    """`text` itself. Raises FetchFailed (`unsupported_type`) when it is no text."""
    starts = {0, max(0, (len(text) - _SAMPLE_CHARS) // 2), max(0, len(text) - _SAMPLE_CHARS)}
    samples = [text[start : start + _SAMPLE_CHARS] for start in sorted(starts)]
    encoded = "".join(samples).encode("utf-8", "surrogatepass")
    controls = len(encoded) - len(encoded.translate(None, _CONTROLS))
    if _is_above(controls, _MAX_CONTROLS, sum(map(len, samples))):
        raise not_text()
    looked_at = "".join(sample[:_CATEGORY_CHARS] for sample in samples)
    if looked_at.isascii():
        return text
    unreadable = looked_at.count("\ufffd")
    unassigned = sum(count for char, count in Counter(looked_at).items() if unicodedata.category(char) in ("Cn", "Co"))
    if _is_above(unassigned, _MAX_UNASSIGNED, len(looked_at)) or _is_above(
        unreadable + unassigned, _MAX_UNREADABLE, len(looked_at)
    ):
        raise not_text()
    return text


def _is_above(count: int, share: float, size: int) -> bool:
    return count > _FEW and count > share * size


def not_text() -> FetchFailed:
    """The error for a body that is binary."""
    return FetchFailed(
        "the page is not text, whatever its Content-Type says; HTML, text, Markdown, JSON, XML and PDF can be read",
        "unsupported_type",
    )
