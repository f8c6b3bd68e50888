"""Rewrites a page as the tree that a browser builds for it, so that any HTML parser reads it alike.

Lexbor (through selectolax) follows the HTML standard, section 13.2.6: it adds the `head` and `body` that were left out,
moves text out of tables, joins second bodies, and closes what was left open. libxml2 does none of it and puts `<main>`
after a bare `<title>` into the head. Its tree is written as HTML again for lxml, which the other modules use; what
libxml2 would take for the start of a box, as it does not know that it is empty, is closed. Knows nothing of content.
"""

import html
import re
from collections import Counter

from gateway.errors import EngineMissing

MISSING = "the web engine is not installed; the operator must install the extra 'web' (pip install 'gateway[web]')"
_MAX_OPEN = 2_000
"""Elements open at once from which a page is left to libxml2. Lexbor looks through the open elements at many tags:
2,000 nested lists take 20 ms, 10,000 take 450 ms. At half, pages with many unclosed elements get the worse parser; at
double the time is four times as long."""
_LONG_TAG_BYTES = 20_000
_LONG_TAG = re.compile(rb"<[A-Za-z][^<>]{%d,}" % _LONG_TAG_BYTES)
"""Tags long enough to hold too many attributes: both parsers compare each attribute with the earlier ones of its tag.
Chosen: 4,000 short attributes, 30 ms. At half, more pages are rewritten; at double the time is four times as long."""
_MAX_TAG_BLANKS = 4_000
"""Blanks in a long tag from which the tag is cut. Chosen: pictures and data inside attributes have a few hundred. At
double the time is four times as long; at half, large data is near."""
_TAG = re.compile(rb"<(/?[A-Za-z][A-Za-z0-9-]*)")
_TAGS_AT_ONCE = 250
"""Tags counted together, see _nests_deeply. Chosen: at double, pages with many elements open at once are looked at tag
by tag for nothing; at half counting takes longer."""
_NOT_NESTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd tr td th thead tbody tfoot colgroup caption rt rp html head body".split()
)
"""Elements that are empty, or that the next of their kind closes: left open they do not nest. Nothing closes others."""
_UNKNOWN_TO_LIBXML = "wbr, source, track, keygen, bgsound, plaintext"
_OPEN_EMPTY = re.compile(r"(<(?:wbr|source|track|keygen|bgsound)(?=[\s>])[^<>]{0,2000})(?<!/)>", re.IGNORECASE)
"""Elements that are empty by the HTML standard (13.1.2), which libxml2 does not know to be: it puts all that follows
inside them, the rest of a paragraph into its first `<wbr>`. It closes them at `/>`."""


def normalised(markup: bytes) -> str:
    """The page as a browser's tree, written as HTML; the page itself where its tree would take too long to build.

    `markup`: the page in UTF-8. Raises EngineMissing without selectolax.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser, SelectolaxError  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    if _may_have_long_tag(markup):
        markup = _LONG_TAG.sub(_with_few_attributes, markup)
    if _nests_deeply(markup):
        return _with_closed_empty(markup.decode())
    try:
        document = LexborHTMLParser(markup)
        tree = document.html or ""
    except SelectolaxError:  # out of memory: repeated unclosed formatting multiplies, in browsers as here
        return _with_closed_empty(markup.decode())
    if document.css_first(_UNKNOWN_TO_LIBXML) is None:
        return tree
    return _with_preformatted_end(_with_closed_empty(tree))


def _with_closed_empty(markup: str) -> str:
    return _OPEN_EMPTY.sub(r"\1/>", markup)


def _may_have_long_tag(markup: bytes) -> bool:
    """Whether a `<` is followed by _LONG_TAG_BYTES without another bracket. Looks at the last `<` of each such stretch
    alone; the pattern, which looks at all, takes longer than building the tree."""
    at = markup.find(b"<")
    while 0 <= at < len(markup) - _LONG_TAG_BYTES:
        end = at + 1 + _LONG_TAG_BYTES
        following = markup.rfind(b"<", at + 1, end)
        if following < 0:
            if markup.find(b">", at, end) < 0:
                return True
            following = markup.find(b"<", end)
        at = following
    return False


def _with_few_attributes(tag: re.Match[bytes]) -> bytes:
    pieces = tag[0].split(None, _MAX_TAG_BLANKS)
    return tag[0] if len(pieces) <= _MAX_TAG_BLANKS else b" ".join(pieces[:-1])


def _nests_deeply(markup: bytes) -> bool:
    """True for a page, in UTF-8, with elements nested so deeply that its tree takes long to build.

    `_is_deep` looks at each tag. Most pages are known to be flat before: tags are counted some hundred at once, as if
    among them all ends came before all starts, which never counts fewer elements open than there are.
    """
    starts = markup.count(b"<")
    if starts <= _MAX_OPEN or starts - markup.count(b"</") <= _MAX_OPEN:
        return False  # so few elements start
    tags = _TAG.findall(markup)
    open_now: Counter[bytes] = Counter()
    for start in range(0, len(tags), _TAGS_AT_ONCE):
        if open_now.total() + _TAGS_AT_ONCE > _MAX_OPEN:
            return _is_deep(tags)
        counts = Counter(tags[start : start + _TAGS_AT_ONCE])
        for tag, count in counts.items():
            if tag[:1] == b"/" and (name := tag[1:].lower()) in open_now:
                open_now[name] -= min(open_now[name], count)
        for tag, count in counts.items():
            if tag[:1] != b"/" and (name := tag.lower()) not in _NOT_NESTED:
                open_now[name] += count
    return False


def _is_deep(tags: list[bytes]) -> bool:
    """True when more than _MAX_OPEN of the elements are open at once. `tags`: such as `div` and `/div`."""
    open_now: Counter[bytes] = Counter()
    depth = 0
    for tag in tags:
        name = tag.lstrip(b"/").lower()
        if name in _NOT_NESTED:
            continue
        if tag[:1] != b"/":
            open_now[name] += 1
            depth += 1
            if depth > _MAX_OPEN:
                return True
        elif open_now[name]:
            open_now[name] -= 1
            depth -= 1
    return False


def _with_preformatted_end(tree: str) -> str:
    """The rest of the page from `<plaintext>` on, which no mark ends, as preformatted text."""
    start = tree.find("<plaintext")
    if start < 0:
        return tree
    opened = tree.find(">", start)
    closed = tree.rfind("</plaintext>")
    if opened < 0 or closed < opened:
        return tree
    text = html.escape(tree[opened + 1 : closed])
    return f"{tree[:start]}<pre>{text}</pre>{tree[closed + len('</plaintext>') :]}"
