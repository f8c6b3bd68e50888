"""Seeded generators of hostile and odd inputs, by kind: `PAGES`, `TEXTS`, `BODIES`, `STREAMS`, `ARCHIVES`, `ROBOTS`,
`SITEMAPS`. Each takes a size, about the characters or bytes of the result, and returns the same for the same size.

Units are repeated with a running number or a random word, as a parser may be fast on equal pieces and slow on others.
"""

import gzip
import random
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

import orjson

Generator = Callable[[int], str]
BytesGenerator = Callable[[int], bytes]
_WORDS = ("page", "value", "of", "the", "list", "item", "text", "reads", "price", "table", "code", "about", "other")


def _repeat(unit: str, size: int) -> str:
    """The unit again and again; `{n}` in it is a running number, `{w}` a word drawn from the seed."""
    source, pieces, length = random.Random(unit), list[str](), 0
    for number in count():
        if length >= size:
            return "".join(pieces)
        piece = unit.replace("{n}", str(number)).replace("{w}", source.choice(_WORDS)) if "{" in unit else unit
        pieces.append(piece)
        length += len(piece)
    raise AssertionError


def _repeated(unit: str, before: str = "", after: str = "") -> Generator:
    return lambda size: before + _repeat(unit, size) + after


def _nested(unit: str, closing: str = "") -> Generator:
    """The unit opened again and again, with its text, then closed as often."""

    def make(size: int) -> str:
        times = max(1, size // (len(unit) + len(closing)))
        return unit * times + "end" + closing * times

    return make


def _document(body: Generator) -> Generator:
    return lambda size: f"<!doctype html><html><head><title>t</title></head><body>{body(size)}</body></html>"


_BODY_UNITS = {
    "paragraphs": "<p>{w} {n}",
    "paragraphs of a letter": "<p>x",
    "headings": "<h2>{w}</h2>",
    "headings alone": "<h3>{w} {n}",
    "cells": "<td>{w}",
    "rows": "<tr><td>{w}<td>{n}</tr>",
    "attributes": ' data-{n}="{w}"',
    "classes": "{w}-{n} ",
    "style": "color: red; {w}: none; ",
    "links": '<a href="/{w}/{n}">{w} {n}</a> ',
    "same links": '<a href="#">{w}</a>',
    "images": '<img src="/{w}/{n}.png" alt="{w}">',
    "items": "<li>{w} {n}",
    "definitions": "<dt>{w}<dd>{n} {w}",
    "lists beside items": "<ul><li>{w}</ul>",
    "emphasis": "<b>{w}</b><i>{n}</i>",
    "breaks": "<br>",
    "breaks and blanks": "<br> {w} ",
    "navigation": "<nav>{n}</nav>{w}",
    "buttons": "<button>x</button>{w} ",
    "forms": "<form>{w}</form>{n}",
    "scripts": "<script>{w}</script>{n} ",
    "noscripts": "<noscript>{w} {n}</noscript>",
    "headers": "<header>{w}</header><footer>{n}</footer>{w}",
    "articles": "<article>{w} {n}</article>",
    "mains": "<main>{w}</main>",
    "roles": '<div role="navigation">{w}</div>{n}',
    "hidden": '<div hidden style="display:none">{w}</div>{n}',
    "rules": "<style>.{w} p:nth-child({n}n+1):not(.c{n} *) { color: var(--{w}{n}) }</style><p class={w}>{w}</p>",
    "nested rules": "<style>.{w} { &.c{n} { @media (width > 9px) { left: calc(1px * {n}) } } }</style><p>{w}</p>",
    "main ids": '<div id="main">{w} {n}</div>',
    "comments": '<div class="comment" id="c{n}"><p>{w} {n}</p></div>',
    "comment headings": "<h3>{n} comments</h3><p>{w}</p>",
    "quotations": "<blockquote>{w}</blockquote>",
    "code": "<pre>```{w}\n{n}</pre>",
    "inline code": "<code>`{w}`</code> ",
    "entities": "&amp;&lt;&#65;&bogus;{w}",
    "signs": "*_`[]()<>\\#|~!-+",
    "stars": "*",
    "underscores": "_a",
    "brackets": "[",
    "bracket pairs": "[{w}](",
    "backticks": "`{w} ",
    "blanks": " \t\n",
    "open tags": "<{w}",
    "closing tags": "</p>",
    "html comments": "<!-- {w} -->{n}",
    "figures": "<figure><img src=x><figcaption>{w}</figcaption></figure>",
    "figures of one": "<figure><img src={n}></figure>",
    "spans of cells": "<tr><td colspan=60 rowspan=60>{w}</td></tr>",
    "microdata": '<div itemscope itemtype="https://schema.org/{w}"><p>{w}</p></div>',
    "shadow trees": "<x-a><template shadowrootmode=open><style>p{top:0}</style><slot>{w}</slot></template>{n}</x-a>",
    "words": "{w} ",
    "long word": "x",
    "full stops": ". ",
    "prices": "$ {n} ",
    "controls": "\x01\x02",
    "wide": "\u6f22\u5b57",
    "combining": "e\u0301\u0302",
}
_NESTED = {
    "nested div": ("<div>", "</div>"),
    "nested div with text": ("<div>x", "</div>"),
    "nested div never closed": ("<div>", ""),
    "nested span": ("<span>", "</span>"),
    "nested b": ("<b>x", ""),
    "nested font": ("<font><p>x", ""),
    "nested lists": ("<ul><li>x", "</ul>"),
    "nested quotations": ("<blockquote>x", "</blockquote>"),
    "nested tables": ("<table><tr><td>x", "</table>"),
    "nested mains": ("<main>x", "</main>"),
    "nested main ids": ('<div id="main">x', "</div>"),
    "nested articles": ("<article>x", "</article>"),
    # Long enough that no size passes the depth from which the tree is built in another way, with twice the elements.
    "nested forms": ("<form><div>" + "a form in a form " * 4, "</div></form>"),
    "nested headers": ("<header>x", "</header>"),
    "nested links": ("<a href=x>y", ""),
    "nested noscripts": ("<noscript>x", "</noscript>"),
    "nested navigation": ("<nav>x", "</nav>"),
    "nested shadow trees": ("<x-a><template shadowrootmode=open><p>x", "<slot></slot></template>y</x-a>"),
    "nested comments": ("<div class=comment>x", "</div>"),
}
_HEAD_UNITS = {
    "meta": '<meta name="{w}{n}" content="{w}">',
    "metas of a date": '<meta property="article:published_time" content="{w}">',
    "links of icons": '<link rel="icon" sizes="{n}x{n}" href="/{n}">',
    "titles": "<title>{w}</title>",
    "bases": '<base href="/{n}">',
    "linked data": '<script type="application/ld+json">{"@type": [ "{w}", "text": "{w} ',
    "linked data dates": '<script type="application/ld+json">"datePublished" : </script>',
    "style rules": "<style>.{w}-{n} { display: none }</style>",
    "style rules of relations": "<style>p:has(> .{w} ~ i):nth-child({n} of :has(b)) { display: none }</style>",
    "refreshes": '<meta http-equiv="refresh" content="1; url={n}">',
}


def _attributes(unit: str) -> Generator:
    return _repeated(unit, "<div ", ">text</div>")


def _pages() -> dict[str, Generator]:
    pages = {name: _document(_repeated(unit)) for name, unit in _BODY_UNITS.items()}
    pages["attributes"] = _document(_attributes(_BODY_UNITS["attributes"]))
    pages["classes"] = _document(_repeated(_BODY_UNITS["classes"], '<div class="', '">text</div>'))
    pages["style"] = _document(_repeated(_BODY_UNITS["style"], '<div style="', '">text</div>'))
    pages["cells"] = _document(_repeated(_BODY_UNITS["cells"], "<table><tr>", "</table>"))
    pages["rows"] = _document(_repeated(_BODY_UNITS["rows"], "<table>", "</table>"))
    pages["items"] = _document(_repeated(_BODY_UNITS["items"], "<ul>", "</ul>"))
    pages["lists beside items"] = _document(_repeated("<ul><li>{w}</ul>", "<ul><li>a", "</ul>"))
    pages["definitions"] = _document(_repeated(_BODY_UNITS["definitions"], "<dl>", "</dl>"))
    pages["one attribute"] = _document(_repeated("{w}", '<p title="', '">text'))
    pages["one link"] = _document(_repeated("{w}/", '<a href="/', '">text</a>'))
    pages["one heading"] = _document(_repeated("{w} ", "<h1>", "</h1>"))
    pages["one paragraph with breaks"] = _document(_repeated("{w}<br>", "<p>"))
    pages["one code block"] = _document(_repeated("{w}\n", "<pre><code class='language-x'>", "</code></pre>"))
    pages["one cell"] = _document(_repeated("{w} ", "<table><tr><td>a<td>", "</table>"))
    pages |= {name: _document(_nested(*unit)) for name, unit in _NESTED.items()}
    return pages | {name: _repeated(unit, "<html><head>", "</head><body>text") for name, unit in _HEAD_UNITS.items()}


PAGES: dict[str, Generator] = _pages()
"""HTML pages of about so many characters."""

_TEXT_UNITS = (
    "[", "]", "[a](", "![", "](", "[a]", "*", "**a", "_", "`", "``` \n", "```\n", "~~~\n", "> ", ">",
    "> > a\n", "- ", "- a\n",
    "1. ", "# ", "#", "# a\n", "|", "| a ", "|---\n", "\n", "\r\n", "\r", " ", "\t", " \n", "a", "a ", "a\n",
    "a b c. ", ". ", "\\",
    "<", "<b>", "</b>", "<!--", "&", "&amp;", "%41", "=", ":", "://", "http://", "@", "a@b.", "a@", "1", "1 ",
    "1.", "12-", "+1 ",
    "1234 ", "password", "password=", "key: ", "token ", "-----BEGIN ", "PRIVATE KEY-----", "eyJ", "sk-",
    "AKIA", "\u200b",
    "\u0430", "e\u0301", "\u6f22", "\U000e0041", "\ue000", "\x00", "\ufffd", "\ud55c", "\u0130", '"', "'",
    '\\"', "{", "}",
    '{"a":', "[REDACTED:", "<think>", "<|ref|>", "--", "a,", "a;", "a-", "a_", "a.", "a/", "A1", "0x", "::",
    "1:", "a: ", " .", " . 1 ", "- a … 1\n",
)  # fmt: skip
TEXTS: dict[str, Generator] = {repr(unit): _repeated(unit) for unit in _TEXT_UNITS}
_LONG_HEADINGS = "".join(f"{'#' * level} {'h' * 290}\n\n" for level in range(1, 6))
TEXTS["sections under long headings"] = _repeated("###### {n}\n\np\n\n", _LONG_HEADINGS)
"""Plain text and Markdown of about so many characters."""


def _json_of(item: str, size: int) -> bytes:
    return b'{"model":"m","messages":[],"x":[' + ",".join([item] * (size // (len(item) + 1))).encode() + b"]}"


def _messages(size: int) -> bytes:
    message = {"role": "user", "content": "hello there"}
    return orjson.dumps({"model": "m", "messages": [message] * (size // 45)})


BODIES: dict[str, BytesGenerator] = {
    **{f"values {item}": partial(_json_of, item) for item in ("[]", '{"a":1}', "0.1", '""', "null")},
    "messages": _messages,
    "empty messages": lambda size: b'{"model":"m","messages":[' + b"{}," * (size // 3) + b"{}]}",
    "nested lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "nested objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    "open strings": lambda size: b'{"a":"' + b'\\"' * (size // 2),
    "escapes": lambda size: b'{"a":"' + b"\\u0041" * (size // 6) + b'"}',
    "many keys": lambda size: orjson.dumps({f"k{number}": 0 for number in range(size // 11)}),
    "batch": lambda size: b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"ping"}'] * (size // 41)) + b"]",
}
"""Request bodies of about so many bytes."""

STREAMS: dict[str, BytesGenerator] = {
    "line ends": lambda size: b"\n" * size,
    "carriage returns": lambda size: b"\r" * size,
    "comments": lambda size: b": x\n" * (size // 4),
    "empty data": lambda size: b"data:\n\n" * (size // 7),
    "data of one event": lambda size: b"data: x\n" * (size // 8),
    "one line": lambda size: b"data: " + b"x" * size,
    "fields": lambda size: b"id: 1\nevent: e\nretry: 5\n" * (size // 25),
    "events": lambda size: b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' * (size // 57),
    "mixed ends": lambda size: b"data: a\r\rdata: b\n\r\n" * (size // 20),
}
"""Server-sent events of about so many bytes."""


def _gzip_members(size: int) -> bytes:
    return gzip.compress(b"", mtime=0) * (size // 20)


ARCHIVES: dict[str, BytesGenerator] = {
    "empty members": _gzip_members,
    "members of a letter": lambda size: gzip.compress(b"a", mtime=0) * (size // 21),
    "zeros": lambda size: gzip.compress(b"\0" * size * 10, mtime=0),
    "random": lambda size: gzip.compress(random.Random(size).randbytes(size), mtime=0),
    "cut": lambda size: gzip.compress(random.Random(size).randbytes(size), mtime=0)[:-9],
}
"""Bodies in gzip of about so many bytes (`zeros`: unpacked, ten times that)."""

_ROBOTS_UNITS = (
    "user-agent: {w}{n}\n", "user-agent: *\n", "user-agent: *\ndisallow: /{n}\n", "disallow: /{w}/{n}\n",
    "disallow: /*{n}*\n", "disallow: /{w}*\n",
    "allow: /%41%{n}\n", "crawl-delay: {n}\n", "sitemap: https://e/{n}\n", "\n", "#\n", ":\n", "x", "disallow:\n", "*",
)  # fmt: skip
ROBOTS: dict[str, Generator] = {
    **{repr(unit): _repeated(unit, "user-agent: *\n") for unit in _ROBOTS_UNITS},
    "a rule of stars": lambda size: "user-agent: *\ndisallow: /" + "*a" * (size // 2),
    "rules of stars": lambda size: "user-agent: *\n" + ("disallow: /" + "*a" * 100 + "b$\n") * (size // 214),
    "a rule of percents": lambda size: "user-agent: *\ndisallow: /" + "%2a" * (size // 3),
}
"""robots.txt files of about so many characters."""

_SITEMAP_UNITS = (
    "<url><loc>https://e/{n}</loc></url>", "<url><loc>{w}", "<url>", "<loc>",
    "<url><loc> </loc><lastmod>{n}</lastmod></url>",
    "<sitemap><loc>https://e/{n}.xml</loc></sitemap>", "<!-- {w} -->", "<![CDATA[{w}]]>", "&amp;", "https://e/{n}\n",
    "<url><image:image><image:loc>https://e/{n}</image:loc></image:image></url>",
)  # fmt: skip
SITEMAPS: dict[str, Generator] = {
    repr(unit): _repeated(
        unit, '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">', "</urlset>"
    )
    for unit in _SITEMAP_UNITS
}
"""Sitemaps of about so many characters."""


def names(kinds: Iterable[dict[str, Generator]]) -> list[str]:
    """All names of some tables."""
    return [name for kind in kinds for name in kind]


def json_ld(begin: str, unit: str, end: str, size: int) -> str:
    text = begin + unit * (size // len(unit)) + end
    return f'<body>a<script type="application/ld+json">{text}</script>'


_PRODUCT_START = '{"@type":"Product","name":"a b","description":"'
STRUCTURED: dict[str, Callable[[int], str]] = {
    "nested lists": lambda size: json_ld("", "[", "]" * size, size // 2),
    "nested objects": lambda size: json_ld("", '{"a":', "1" + "}" * (size // 10), size // 2),
    "items": partial(json_ld, '{"@type":"ItemList","itemListElement":[', '{"name":"a"},', "1]}"),
    "lists": partial(json_ld, "[", '{"@type":"ItemList","itemListElement":[{"name":"a"}]},', "1]"),
    "products": partial(json_ld, "[", '{"@type":"Product","name":"a","offers":[{"price":1}]},', "1]"),
    "offers": partial(json_ld, '{"@type":"Product","name":"a","offers":[', '{"offers":[{"price":1}]},', "1]}"),
    "types": partial(json_ld, '{"@type":[', '"Product",', '"a"],"name":"b"}'),
    "marks": partial(json_ld, _PRODUCT_START, "<", '"}'),
    "half tags": partial(json_ld, _PRODUCT_START, "<a ", '"}'),
    "references": partial(json_ld, _PRODUCT_START, "&amp;", '"}'),
    "long number": partial(json_ld, '{"@type":"Product","name":"a","offers":{"price":"', "1.", '"}}'),
    "scripts": lambda size: '<script type="application/ld+json">[</script>' * (size // 45),
    "nested scopes": lambda size: "<div itemscope itemprop=a>" * (size // 26),
    "nested properties": lambda size: "<div itemscope>" + "<div itemprop=a>b" * (size // 17),
    "properties": lambda size: "<div itemscope itemtype=Product>" + "<i itemprop=name>b</i>" * (size // 22),
}
"""Pages whose structured data is hostile."""
