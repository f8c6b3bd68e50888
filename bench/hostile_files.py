# ruff: noqa: E501 - a row for each kind
"""Feeds, pages and data of hostile sites as they come over the wire: rows of `bench.hostile_sites`.

`FILES` has for each a content type and a maker of about N bytes. Written without a look at the readers' limits.
"""

from collections.abc import Callable

Make = Callable[[int], bytes]
RSS, ATOM, FEED, XML = "application/rss+xml", "application/atom+xml", "application/feed+json", "application/xml"
HTML, TEXT, MARKDOWN, JSON = (
    "text/html; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/markdown",
    "application/json",
)


def _filled(unit: str, before: str = "", behind: str = "") -> Make:
    """`unit` as often as fits; `#` counts."""

    def make(size: int) -> bytes:
        count = max(1, size // max(1, len(unit)))
        units = "".join(unit.replace("#", str(n)) for n in range(count)) if "#" in unit else unit * count
        return (before + units + behind).encode("utf-8", "surrogatepass")

    return make


def _nested(opening: str, closing: str, before: str = "", behind: str = "", inside: str = "words") -> Make:
    def make(size: int) -> bytes:
        depth = max(1, size // (len(opening) + len(closing)))
        return (before + opening * depth + inside + closing * depth + behind).encode()

    return make


_RSS, _RSS_END = (
    '<?xml version="1.0"?><rss version="2.0"><channel><title>t</title><link>http://a.example/</link>',
    "</channel></rss>",
)
_ATOM, _ATOM_END = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>', "</feed>"
_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 11))
    + "]>"
)
_LONG = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "{}">]>'
_OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY % b SYSTEM "http://127.0.0.1:{port}/hit/xxe">%b;]>'


def _long_entity(size: int) -> bytes:
    return (
        _LONG.format("x" * (size // 2))
        + "<rss><channel><item><title>"
        + "&a;" * (size // 6)
        + "</title></item></channel></rss>"
    ).encode()


def _json_feed(items: str) -> tuple[str, Make]:
    return FEED, _filled(items, '{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[', '{"id":"z"}]}')


FEEDS: dict[str, tuple[str, Make]] = {
    "rss items": (
        RSS,
        _filled(
            "<item><title>i#</title><link>http://a.example/#</link><description>d</description></item>", _RSS, _RSS_END
        ),
    ),
    "rss empty items": (RSS, _filled("<item/>", _RSS, _RSS_END)),
    "rss titles": (RSS, _filled("<title>t</title>", _RSS, _RSS_END)),
    "rss one description": (
        RSS,
        _filled("&lt;b&gt;[", _RSS + "<item><description>", "</description></item>" + _RSS_END),
    ),
    "rss cdata of boxes": (
        RSS,
        _filled("<div>", _RSS + "<item><description><![CDATA[", "]]></description></item>" + _RSS_END),
    ),
    "rss cdata of brackets": (
        RSS,
        _filled("[", _RSS + "<item><description><![CDATA[<p>", "]]></description></item>" + _RSS_END),
    ),
    "rss many cdata": (RSS, _filled("<![CDATA[a]]>", _RSS + "<item><description>", "</description></item>" + _RSS_END)),
    "rss descriptions of pages": (
        RSS,
        _filled("<item><description>&lt;table>&lt;tr>&lt;td>1&lt;ul>&lt;li></description></item>", _RSS, _RSS_END),
    ),
    "rss content of pages": (
        RSS,
        _filled(
            "<item><c:encoded><![CDATA[<style>*{color:red}</style><p hidden>x</p>]]></c:encoded></item>",
            _RSS.replace("<rss ", '<rss xmlns:c="http://purl.org/rss/1.0/modules/content/" '),
            _RSS_END,
        ),
    ),
    "rss nested": (RSS, _nested("<item>", "</item>", _RSS, _RSS_END)),
    "rss never closed": (RSS, _filled("<item><title>", _RSS)),
    "rss categories": (RSS, _filled("<category>c#</category>", _RSS + "<item>", "</item>" + _RSS_END)),
    "rss links": (RSS, _filled("<link>javascript:alert(#)</link>", _RSS + "<item>", "</item>" + _RSS_END)),
    "rss dates": (RSS, _filled("<item><pubDate>Mon, 99 Foo 99999 25:61:61 +9999</pubDate></item>", _RSS, _RSS_END)),
    "rss one date": (RSS, _filled("9", _RSS + "<item><pubDate>", "</pubDate></item>" + _RSS_END)),
    "rss laughs": (
        RSS,
        lambda size: (_LAUGHS + "<rss><channel><item><title>&a10;</title></item></channel></rss>").encode(),
    ),
    "rss long entity": (RSS, _long_entity),
    "rss from outside": (
        RSS,
        lambda size: (_OUTSIDE + "<rss><channel><item><title>&a;</title></item></channel></rss>").encode(),
    ),
    "rss entities declared": (
        RSS,
        lambda size: (
            "<!DOCTYPE x [" + "".join(f'<!ENTITY e{n} "v">' for n in range(size // 20)) + "]><rss><channel/></rss>"
        ).encode(),
    ),
    "rss entities unknown": (RSS, _filled("&e#;", _RSS + "<item><title>", "</title></item>" + _RSS_END)),
    "rss namespaces": (RSS, _filled('<item xmlns:n#="urn:#"/>', _RSS, _RSS_END)),
    "rss namespaces of one": (RSS, _filled(' xmlns:n#="urn:#"', "<rss", "><channel/></rss>")),
    "rss attributes": (RSS, _filled(' a#="v"', "<rss", "><channel/></rss>")),
    "rss attributes alike": (RSS, _filled(' a="v"', "<rss", "><channel/></rss>")),
    "rss instructions": (RSS, _filled("<?x y?>", _RSS, _RSS_END)),
    "rss comments": (RSS, _filled("<!---->", _RSS, _RSS_END)),
    "rss not closed comment": (RSS, _filled("<!-- -", _RSS, "")),
    "rss in utf-16 said": (RSS, _filled("<item/>", '<?xml version="1.0" encoding="utf-16"?><rss><channel>', _RSS_END)),
    "rss in idna": (RSS, _filled("<item/>", '<?xml version="1.0" encoding="idna"?><rss><channel>', _RSS_END)),
    "rss with nulls": (RSS, _filled("<item><title>a\0b</title></item>", _RSS, _RSS_END)),
    "rss of surrogates": (RSS, _filled("<item><title>&#xD800;&#xFFFFFFFFF;&#0;</title></item>", _RSS, _RSS_END)),
    "rss as html": (HTML, _filled("<item><title>i</title><link>http://a.example/#</link></item>", _RSS, _RSS_END)),
    "rss enclosures": (
        RSS,
        _filled('<enclosure url="http://a/#" length="-1" type="x"/>', _RSS + "<item>", "</item>" + _RSS_END),
    ),
    "rdf": (
        XML,
        _filled(
            '<item rdf:about="#"><title>t</title></item>',
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">',
            "</rdf:RDF>",
        ),
    ),
    "opml": (XML, _nested('<outline text="a">', "</outline>", "<opml><body>", "</body></opml>")),
    "atom entries": (
        ATOM,
        _filled(
            '<entry><title>e#</title><link href="#"/><content type="html">&lt;p>c</content></entry>', _ATOM, _ATOM_END
        ),
    ),
    "atom xhtml": (
        ATOM,
        _nested("<div>", "</div>", _ATOM + '<entry><content type="xhtml">', "</content></entry>" + _ATOM_END),
    ),
    "atom bases": (ATOM, _nested('<entry xml:base="a/">', "</entry>", _ATOM, _ATOM_END, '<link href="x"/>')),
    "atom links": (ATOM, _filled('<link href="http://a/#" rel="r"/>', _ATOM + "<entry>", "</entry>" + _ATOM_END)),
    "atom authors": (
        ATOM,
        _filled(
            "<author><name>n</name><email>a#@posthaus.org</email></author>", _ATOM + "<entry>", "</entry>" + _ATOM_END
        ),
    ),
    "atom content of base64": (
        ATOM,
        _filled("QUJD", _ATOM + '<entry><content type="image/png">', "</content></entry>" + _ATOM_END),
    ),
    "atom content of types": (ATOM, _filled('<entry><content type="#">&lt;b></content></entry>', _ATOM, _ATOM_END)),
    "json feed": _json_feed('{"id":"#","url":"http://a/#","title":"t","content_html":"<p>c<ul><li>"},'),
    "json feed of numbers": _json_feed("1,"),
    "json feed of lists": _json_feed("[],"),
    "json feed of wrong types": _json_feed(
        '{"id":[],"url":{},"title":1,"content_html":[null],"content_text":{"a":1},"date_published":5,"authors":"x","tags":{"a":1}},'
    ),
    "json feed of authors": _json_feed('{"id":"1","authors":[{"name":"n"},{"name":5},7,null]},'),
    "json feed of one": (
        FEED,
        _filled("<div>", '{"version":"https://jsonfeed.org/version/1","items":[{"content_html":"', '"}]}'),
    ),
    "json feed in depth": (FEED, _nested("[", "]", '{"version":"https://jsonfeed.org/version/1","items":', "}", "1")),
    "json feed of keys": (
        FEED,
        _filled('"k#":1,', '{"version":"https://jsonfeed.org/version/1","items":[{', '"z":1}]}'),
    ),
    "json feed's items a text": (FEED, _filled("x", '{"version":"https://jsonfeed.org/version/1","items":"', '"}')),
    "json feed of surrogates": (
        FEED,
        _filled("\\ud800", '{"version":"https://jsonfeed.org/version/1","items":[{"title":"', '"}]}'),
    ),
    "json of exponents": (JSON, _filled("1e999,", "[", "1]")),
    "json of one number": (JSON, _filled("9", "[", "]")),
    "json of nan": (JSON, _filled("NaN,-Infinity,", "[", "1]")),
    "json of blanks": (JSON, _filled(" \n", "[", "1]")),
    "json of brackets": (JSON, _filled("[")),
    "json lines": (JSON, _filled('{"a":#}\n')),
    "json of escapes": (JSON, _filled("\\u0000", '["', '"]')),
    "xml of one text": (XML, _filled("words ", "<a>", "</a>")),
    "xml of elements": (XML, _filled("<a/>", "<r>", "</r>")),
    "xml in depth": (XML, _nested("<a>", "</a>")),
    "xml sheet": (
        XML,
        _filled('<?xml-stylesheet href="http://127.0.0.1/#" type="text/xsl"?>', '<?xml version="1.0"?>', "<a/>"),
    ),
    "xml inclusions": (
        XML,
        _filled(
            '<xi:include href="file:///etc/passwd" parse="text"/>',
            '<a xmlns:xi="http://www.w3.org/2001/XInclude">',
            "</a>",
        ),
    ),
    "text of lines": (TEXT, _filled("\n")),
    "text of returns": (TEXT, _filled("\r")),
    "text of separators": (TEXT, _filled("\u2028\u0085\x0b\x0c")),
    "text of marks": (TEXT, _filled("e\u0301\u0302\u0303\u0304")),
    "text of one letter's marks": (TEXT, _filled("\u0301", "e")),
    "text of hidden": (TEXT, _filled("\u200b\u202e\U000e0041")),
    "text of emoji": (TEXT, _filled("\U0001f468\u200d\U0001f469\u200d\U0001f467")),
    "text of one word": (TEXT, _filled("w")),
    "text of nulls": (TEXT, _filled("a\0")),
    "text of fences": (TEXT, _filled("```\n~~~~\n")),
    "text of secrets": (TEXT, _filled("password = hunter#hunter2Q! \n")),
    "text of keys": (TEXT, _filled("AKIAIOSFODNN7ABCD#EF sk-live-abcdefghijkl# ")),
    "markdown of brackets": (MARKDOWN, _filled("[")),
    "markdown of images": (MARKDOWN, _filled("![](")),
    "markdown of stars": (MARKDOWN, _filled("**a_")),
    "markdown of ticks": (MARKDOWN, _filled("`` ` ")),
    "markdown of quotes": (MARKDOWN, _filled("> ")),
    "markdown of lists": (MARKDOWN, lambda size: b"\n".join(b" " * n + b"- a" for n in range(int((2 * size) ** 0.5)))),
    "markdown of headings": (MARKDOWN, _filled("# h\n")),
    "markdown of tables": (MARKDOWN, _filled("|a", "", "\n" + "|-" * 9_000)),
    "markdown of references": (MARKDOWN, _filled("[a#]: http://a/#\n")),
    "markdown of tags": (MARKDOWN, _filled("<a ")),
}

PAGES: dict[str, tuple[str, Make]] = {
    "bases": (HTML, _filled('<base href="http://a#.example/">', "<head>", "<p>words <a href=x>y</a>")),
    "a long base": (HTML, _filled("a/", '<head><base href="http://a.example/', '">' + "<a href=x>y</a>" * 999)),
    "base of script": (HTML, _filled("<a href=x>y</a> ", '<head><base href="javascript:alert(1)//">', "")),
    "refreshes": (HTML, _filled('<meta http-equiv=refresh content="0;url=/#">', "<head>", "<p>words")),
    "a long refresh": (HTML, _filled("; url=", '<head><meta http-equiv=refresh content="0', '"><p>words')),
    "canonicals": (HTML, _filled('<link rel=canonical href="http://127.0.0.1:22/#">', "<head>", "<p>words")),
    "canonical to a file": (
        HTML,
        _filled("<p>words words words</p>", "<head><link rel=canonical href=file:///etc/passwd></head>"),
    ),
    "a long canonical": (HTML, _filled("a", '<head><link rel=canonical href="http://b/', '"><p>words')),
    "languages": (HTML, _filled('<link rel=alternate hreflang=x-# href="/#">', "<head>", "<p>words")),
    "titles": (HTML, _filled("<title>t</title>", "<head>", "<p>words")),
    "a long title": (HTML, _filled("t ", "<title>", "</title><p>words")),
    "metas": (HTML, _filled('<meta name=description content="d#">', "<head>", "<p>words")),
    "meta charsets": (HTML, _filled("<meta charset=utf-7>", "<head>", "<p>words")),
    "links": (HTML, _filled('<a href="/p/#">a link</a> ')),
    "links of users": (HTML, _filled('<a href="http://u:p@h#/">a</a> ')),
    "links of breaks": (HTML, _filled('<a href="java\nscript:#">a</a> ')),
    "links of one": (HTML, _filled("a", '<a href="', '">a link</a>')),
    "links of dots": (HTML, _filled("../a/./", '<a href="/', '">a link</a>' * 9)),
    "links of percents": (HTML, _filled("%25%", '<a href="/', '">a link</a>')),
    "links of idna": (HTML, _filled('<a href="http://\u00e9\u200d#.example/">a</a> ')),
    "pictures": (HTML, _filled('<img src="/#.png" alt="[a](b)">')),
    "sources": (HTML, _filled("/#.png 1x, ", '<img srcset="', '" src=a>')),
    "frames": (HTML, _filled('<iframe srcdoc="&lt;p>words"></iframe>')),
    "spans of cells": (HTML, _filled("<td colspan=1000 rowspan=65534>c", "<table><tr>")),
    "spans of rows": (HTML, _filled("<tr><td rowspan=65534 colspan=1000>c", "<table>")),
    "numbers of lists": (HTML, _filled("<ol start=99999999999999999999><li value=-9999999999999>i</ol>")),
    "lists in lists": (HTML, _nested("<ul><li>", "</ul>")),
    "quotes in quotes": (HTML, _nested("<blockquote>", "</blockquote>")),
    "tables in tables": (HTML, _nested("<table><tr><td>", "</table>")),
    "paragraphs in tables": (HTML, _filled("<table><p>a")),
    "marks in marks": (HTML, _filled("<b><p><i>a")),
    "links in links": (HTML, _filled("<a href=x>a<p>")),
    "fonts": (HTML, _filled("<font size=#>a")),
    "forms": (HTML, _filled("<form><select><option>a<input>")),
    "templates": (HTML, _nested("<template>", "</template>")),
    "shadows": (HTML, _nested("<div><template shadowrootmode=open><slot></slot>", "</template></div>")),
    "svg": (HTML, _nested("<svg><foreignObject>", "</foreignObject></svg>")),
    "math": (HTML, _nested("<math><mi><mtext>", "</mtext></mi></math>")),
    "plain": (HTML, _filled("<plaintext>")),
    "declarations": (HTML, _filled("<!")),
    "ends": (HTML, _filled("</p></br>")),
    "opened": (HTML, _filled("<")),
    "quotes": (HTML, _filled('<a "')),
    "entities": (HTML, _filled("&#x110000;&ampamp&notit;&", "<p>")),
    "half an entity": (HTML, _filled("&", "<p>")),
    "styles": (
        HTML,
        _filled(
            ".a# .b#:not(.c) > d~e{display:none}", "<style>", "</style><div class=a1><p class=b1>words</p></div>" * 99
        ),
    ),
    "style of has": (
        HTML,
        _filled(":has(p)", "<style>div", "{display:none}</style>" + "<div><p>words</p></div>" * 999),
    ),
    "style of nots": (HTML, _nested(":not(", ")", "<style>p", "{display:none}</style><p>words", "a")),
    "style of media": (HTML, _nested("@media screen{", "}", "<style>", "</style><p>words", "p{display:none}")),
    "style of imports": (HTML, _filled('@import url("http://127.0.0.1/#");', "<style>", "</style><p>words")),
    "style of variables": (HTML, _filled("--a#:var(--a#);", "<style>p{", "}</style><p>words")),
    "style of calc": (HTML, _nested("calc(", ")", "<style>p{height:", "}</style><p>words", "0")),
    "style of a page": (HTML, _filled('<p style="position:absolute;left:-#px;color:#fff">words</p>')),
    "style of one element": (HTML, _filled("color:red;", '<p style="', '">words')),
    "classes": (HTML, _filled("c# ", '<p class="', '">words')),
    "ids": (HTML, _filled("<p id=a>words</p>")),
    "controls": (HTML, _filled('<button aria-controls="a# a b c"></button><p id=a# hidden>words</p>')),
    "linked data": (
        HTML,
        _filled(
            '{"@type":"Product","name":"n#","offers":{"price":"1"}},',
            '<script type="application/ld+json">[',
            "{}]</script><p>words",
        ),
    ),
    "linked data in depth": (
        HTML,
        _nested('{"@graph":[', "]}", '<script type="application/ld+json">', "</script><p>words", "1"),
    ),
    "linked data of many": (
        HTML,
        _filled('<script type="application/ld+json">{"@type":"Article","headline":"h#"}</script>', "", "<p>words"),
    ),
    "microdata": (
        HTML,
        _nested("<div itemscope itemtype=https://schema.org/Product itemprop=isRelatedTo itemref=a id=a>", "</div>"),
    ),
    "microdata referring": (HTML, _filled("<div itemscope itemref='a b c d' id=a><i itemprop=name id=b>n</i></div>")),
    "application's data": (
        HTML,
        _filled(
            '{\\"a\\":[\\"words of a page\\"]},',
            '<script id=__NEXT_DATA__ type=application/json>{"a":"[',
            '1]"}</script>',
        ),
    ),
    "rows of code": (HTML, _filled("``` \n<b>~~~", "<pre><code>")),
    "codes": (HTML, _filled("<code>`</code>")),
    "breaks": (HTML, _filled("<br>")),
    "rules": (HTML, _filled("<hr>words")),
    "terms": (HTML, _filled("<dl><dt>a<dd>b")),
    "details": (HTML, _nested("<details><summary>s</summary>", "</details>")),
    "rubies": (HTML, _filled("<ruby>a<rt>b<rp>c")),
    "scripts": (HTML, _filled("<script>document.write('<p>')</script>", "", "<p>words")),
    "an open script": (HTML, _filled("</scrip", "<script>", "")),
    "a double escaped script": (HTML, _filled("<!--<script>", "<script>", "")),
    "nulls": (HTML, _filled("<p\0>a\0")),
    "turned text": (HTML, _filled("\u202e\u2066a", "<p>")),
    "letters' marks": (HTML, _filled("\u0336\u0489", "<p>a")),
    "a doctype": (HTML, _filled('"', "<!DOCTYPE html PUBLIC ", "><p>words")),
    "xhtml of entities": (
        "application/xhtml+xml",
        lambda size: (_LAUGHS + "<html><body><p>&a10;</p></body></html>").encode(),
    ),
    "drawing": (
        "image/svg+xml",
        _nested("<g>", "</g>", '<svg xmlns="http://www.w3.org/2000/svg">', "</svg>", '<use href="#a" id="a"/>'),
    ),
}
