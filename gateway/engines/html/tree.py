"""Parses HTML into the tree that a browser builds, and finds, measures and removes parts of it.

Lexbor (through selectolax) follows the HTML standard, section 13.2.6: it adds the `head` and `body` that were left out,
moves text out of tables, joins second bodies and closes what was left open. Its tree is written as HTML again for lxml,
which the other modules use. A page that is sent as XML is rewritten in the syntax of HTML first (`as_html`), characters
that a tree cannot hold become blanks (`holdable`), and declarative shadow trees are put in the place of what they hide
(`take_out`, `put_in`; HTML 4.12.3, DOM 4.2.2). Elements are lxml's and typed Any. Runs in the parsing processes.
"""

import functools
import html
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import re2

from gateway.errors import EngineMissing

FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar",
     "toolbar", "tooltip"}
)  # fmt: skip
BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dir", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
        "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody",
        "td", "tfoot", "th", "thead", "tr", "ul", "caption", "listing", "xmp", "frameset", "noframes", "option",
    }
)  # fmt: skip
"""Elements that a browser puts on lines of their own. Source: HTML Standard, 15.3 (flow content)."""
PREFORMATTED = ("pre", "listing", "xmp")
"""Elements of which every line counts, also one that is a box: what is inside them is one block."""
_CONTENT_IDS = re.compile(
    r"^(main|content|main-?content|page-?content|primary|bodyContent|mw-content-text|content-?main|maincontent|"
    r"article|article-?body|post|entry|skip-?content|site-?content|document|readme)$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_MAX_NESTING = 512
"""Depth of elements in pages beyond libxml2's limit of 2,048, after which it drops the rest of the page. 512 is the
limit of Chromium and WebKit."""
_FORM_CHARS = 400  # a form with more text is a page wrapped in a form, not a search box
_MAIN_SHARE, _NAMED_SHARE = 0.25, 0.35
"""Share of the body's text that a marked main region must hold, and one named so by its id, which is a weaker sign."""
_MAX_HELD = 50_000  # elements of a page that are held, 2.5 MB


class _Flattening:
    """A parser target that limits depth to `_MAX_NESTING`: deeper elements become siblings at that depth."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._depth = 0
        self._deepest: str | None = None

    def start(self, tag: str, attributes: Any) -> None:
        self._depth += 1
        if self._depth >= _MAX_NESTING:
            self._end_deepest()
            self._deepest = tag
        self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._depth >= _MAX_NESTING:
            self._end_deepest()
        else:
            self._builder.end(tag)
        self._depth -= 1

    def _end_deepest(self) -> None:
        if self._deepest is not None:
            self._builder.end(self._deepest)
            self._deepest = None

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> Any:
        return self._builder.close()


def parse(markup: str) -> Any:
    """The root element of a document as a browser builds it, without comments and characters that it cannot hold (see
    `holdable`); None for an empty or unreadable one. Elements are at most 2,048 deep. Raises EngineMissing without lxml
    and selectolax."""
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    options = {"encoding": "utf-8", "huge_tree": True, "collect_ids": False}  # nobody asks for an element by its id
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, **options)
    data = holdable_bytes(markup.encode("utf-8", "replace"))
    if data.isspace() or not data:
        return None
    data = normalised(data).encode()
    try:
        root = etree.fromstring(data, parser)
        if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
            target = _Flattening(etree.TreeBuilder())
            root = etree.fromstring(data, etree.HTMLParser(target=target, **options))
        return root
    except etree.XMLSyntaxError:
        return None


def first_elements(root: Any) -> list[Any]:
    """The first _MAX_HELD elements of a document. The caller keeps a reference to them while it reads the page, which
    saves a twentieth of the time: lxml creates the object of an element again in each pass if nothing refers to it."""
    return list(itertools.islice(root.iter(), _MAX_HELD))


def remove_all(elements: Iterable[Any]) -> None:
    """Removes elements from their parents; the texts that follow them stay. They come in document order.

    An element inside one that is gone stays there: taking it out would cost the square of their depth.
    """
    remove_apart(outermost(list(elements)))


def outermost(elements: list[Any]) -> Iterator[Any]:
    """The elements, given in document order, that are inside none of the others."""
    tags = {element.tag for element in elements}
    gone: set[Any] = set()
    for element in elements:
        if element not in gone:
            if len(element) and len(elements) > 1:
                gone.update(element.iter(*tags))
            yield element


def remove_apart(elements: Iterable[Any]) -> None:
    """`remove_all` for elements of which none is inside another one.

    The texts that follow them are joined at the end: after each removal that would cost the square of their number.
    """
    texts: dict[tuple[Any, bool], list[str]] = {}
    for element in elements:
        parent = element.getparent()
        if parent is None:
            continue
        if tail := element.tail:
            before = element.getprevious()
            texts.setdefault((parent, False) if before is None else (before, True), []).append(tail)
        parent.remove(element)
    for (element, is_tail), pieces in texts.items():
        if is_tail:
            element.tail = "".join((element.tail or "", *pieces))
        else:
            element.text = "".join((element.text or "", *pieces))


def text_of(element: Any) -> str:
    """All text inside an element, runs of blanks as one space."""
    return _SPACE.sub(" ", raw_text(element)).strip()


def raw_text(element: Any) -> str:
    """All text inside an element, unchanged, joined in C."""
    if not len(element):  # in a twentieth of the time
        return element.text or ""
    found: str = _string()(element)
    return found


def text_size(element: Any) -> int:
    """Characters of text inside an element, runs of blanks counted once: `len(text_of(element))`, computed in C."""
    if not len(element) and (text := element.text or "").isascii():  # in a tenth of the time
        return len(" ".join(text.split()))
    return int(_text_length()(element))


def values_of(name: str, root: Any) -> list[str]:
    """All values of an attribute of an element and of those in it, in their order, computed in C."""
    found: list[str] = _values(name)(root)
    return found


@functools.cache
def _values(name: str) -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath(f"descendant-or-self::*/@{name}", smart_strings=False)


@functools.cache
def _string() -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath("string()", smart_strings=False)


@functools.cache
def _text_length() -> Any:
    from lxml import etree  # noqa: PLC0415 - an optional extra

    return etree.XPath("string-length(normalize-space(.))")


@dataclass(frozen=True, slots=True)
class ContentRegion:
    """The element that holds the content. `semantic`: the page marked it (main, role=main, a single article, an id)."""

    element: Any
    semantic: bool


def drop_furniture(root: Any) -> None:
    """Removes elements that the page marks as other than content: navigation, controls."""
    remove_all(list(root.iter("nav", "dialog", "button")))
    remove_all(element for element in list(root.xpath("//*[@role]")) if _is_furniture(element))
    remove_all(element for element in list(root.iter("header", "footer", "aside")) if _is_page_furniture(element))
    remove_all(element for element in list(root.iter("form")) if text_size(element) < _FORM_CHARS)


def _is_furniture(element: Any) -> bool:
    if element.tag in ("body", "html", "main"):
        return False
    return (element.get("role") or "").strip().lower() in FURNITURE_ROLES


def _is_page_furniture(element: Any) -> bool:
    """True for an aside, and for a header or footer of the whole page: those of an article hold its title and notes."""
    parents = ("article", "main", "section", "li")
    return element.tag == "aside" or all(parent.tag not in parents for parent in element.iterancestors())


def region_of(root: Any) -> ContentRegion:
    """The content region: the element that the page marks as main, if it holds enough of the text; else the body."""
    body = root.find("body")
    if body is None:
        body = root
    total = text_size(body)
    for candidate in _marked(body):
        if text_size(candidate) >= _MAIN_SHARE * total:
            return ContentRegion(candidate, True)
    for candidate in body.iter("div", "section", "td"):
        if _CONTENT_IDS.match(candidate.get("id") or "") and text_size(candidate) >= _NAMED_SHARE * total:
            return ContentRegion(candidate, True)
    return ContentRegion(body, False)


def _marked(body: Any) -> list[Any]:
    mains = list(body.iter("main")) or body.xpath(".//*[@role='main']")
    articles = list(body.iter("article"))
    if len(articles) == 1:
        return [*mains, articles[0]] if mains else articles
    return list(mains)


MISSING = "the web engine is not installed; the operator must install the extra 'web' (pip install 'gateway[web]')"
_MAX_OPEN = 2_000
"""Elements open at once from which a page is left to libxml2. Lexbor looks through the open elements at many tags:
2,000 nested lists take 20 ms, 10,000 take 450 ms."""
_LONG_TAG_BYTES = 20_000
_LONG_TAG = re.compile(rb"<[A-Za-z][^<>]{%d,}" % _LONG_TAG_BYTES)
"""Tags long enough to hold too many attributes: both parsers compare each attribute with the earlier ones of its tag.
4,000 short attributes, 30 ms."""
_MAX_ATTRIBUTES = 4_000  # of a long tag, which is cut behind them
_ATTRIBUTE = re.compile(rb"""[^\s/][^\s/=]*+(?:\s*+=\s*+(?:"[^"]*"?|'[^']*'?|[^\s"']\S*)?)?""")
"""An attribute as a browser reads it (HTML Standard, 13.2.5.33 to 13.2.5.38); its value may hold any number of blanks,
and one that holds a bracket ends with the stretch."""
_TAG = re.compile(rb"<(/?[A-Za-z][A-Za-z0-9-]*)")
_TAGS_AT_ONCE = 250  # tags counted together, see _nests_deeply
_NOT_NESTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd tr td th thead tbody tfoot colgroup caption rt rp html head body".split()
)
"""Elements that are empty, or that the next of their kind closes: left open they do not nest. Nothing closes others."""
_UNKNOWN_TO_LIBXML = "wbr, embed, source, track, keygen, bgsound, plaintext"
_OPEN_EMPTY = re.compile(r"(<(?:wbr|embed|source|track|keygen|bgsound)(?=[\s>])[^<>]{0,2000})(?<!/)>", re.IGNORECASE)
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
    further = next(itertools.islice(_ATTRIBUTE.finditer(tag[0]), _MAX_ATTRIBUTES, None), None)
    return tag[0] if further is None else tag[0][: further.start()]


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


_HOSTS = frozenset(
    {
        "article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main",
        "nav", "p", "section", "span",
    }
)  # fmt: skip
"""Elements that may have a shadow tree, beside those of the page's own kinds (with a `-` in their name)."""


@dataclass(slots=True)
class ShadowTree:
    """A tree, taken out of the document, and its element's own children by slot."""

    host: Any
    content: Any
    slots: dict[str, Any]
    assigned: dict[Any, list[Any]]


def take_out(root: Any) -> list[ShadowTree]:
    """Takes all shadow trees out of a document.

    Moving an element walks all that it holds. So what lies deepest is taken out first and put in last: each element is
    moved alone, however deep trees are nested.
    """
    trees = [_taken_out(template) for template in reversed(_templates(root))]
    trees.reverse()
    return trees


def put_in(trees: list[ShadowTree]) -> None:
    """Each tree becomes the content of its element."""
    for tree in trees:
        _read_parts(tree)
    for tree in reversed(trees):
        _assign(tree)
    for tree in trees:
        for slot, nodes in tree.assigned.items():
            slot.text = None
            slot[:] = nodes
        tree.host.text = tree.content.text
        tree.host[:] = list(tree.content)


def _templates(root: Any) -> list[Any]:
    """The templates that a browser makes shadow trees of: the first of an element that may have one."""
    found: dict[Any, Any] = {}
    trees: set[Any] = set()
    for template in root.iter("template"):
        host = template.getparent()
        if (template.get("shadowrootmode") or "").lower() not in ("open", "closed") or host is None or host in found:
            continue
        around = next(host.iterancestors("template"), None)
        if (host.tag in _HOSTS or "-" in host.tag) and (around is None or around in trees):
            found[host] = template
            trees.add(template)
    return list(found.values())


def _taken_out(template: Any) -> ShadowTree:
    host, tail, before = template.getparent(), template.tail, template.getprevious()
    template.tail = None
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        host.text = (host.text or "") + tail
    host.remove(template)
    template.tag = "div"
    return ShadowTree(host, template, {}, {})


def _read_parts(tree: ShadowTree) -> None:
    """Notes the slots of a tree, and empties its sheets: neither is found once elements inside it give up children."""
    for part in list(tree.content.iter("slot", "style", "link")):
        if part.tag == "slot":
            tree.slots.setdefault(part.get("name") or "", part)
        else:
            part.text = None
            part.attrib.clear()


def _assign(tree: ShadowTree) -> None:
    """Takes the element's children out, and notes those that a slot takes up. Words of its own become elements."""
    host, free = tree.host, tree.slots.get("")
    nodes = [_words(host, host.text)]
    for child in list(host):
        nodes += [child, _words(host, child.tail)]
        child.tail = None
        host.remove(child)
    host.text = None
    for node in nodes:
        if node is not None and isinstance(node.tag, str):
            slot = tree.slots.get(node.get("slot") or "")
            if slot is not None:
                tree.assigned.setdefault(slot, []).append(node)
    if free is not None and all(not _holds_more(node) for node in tree.assigned.get(free, ())):
        tree.assigned.pop(free, None)  # blanks alone leave a slot its own content


def _words(host: Any, text: str | None) -> Any:
    if not text:
        return None
    element = host.makeelement("span")
    element.text = text
    return element


def _holds_more(node: Any) -> bool:
    return len(node) > 0 or node.tag != "span" or bool(node.attrib) or bool((node.text or "").strip())
