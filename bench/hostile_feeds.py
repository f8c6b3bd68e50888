"""Feeds, JSON and plain files of hostile sites as they come over the wire: rows of `bench.hostile_sites`.

`FEEDS` has for each a content type and a maker of about N bytes. Written without a look at the readers' limits.
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


def filled(unit: str, before: str = "", behind: str = "") -> Make:
    """`unit` as often as fits; `#` counts."""

    def make(size: int) -> bytes:
        count = max(1, size // max(1, len(unit)))
        units = "".join(unit.replace("#", str(n)) for n in range(count)) if "#" in unit else unit * count
        return (before + units + behind).encode("utf-8", "surrogatepass")

    return make


def nested(opening: str, closing: str, before: str = "", behind: str = "", inside: str = "words") -> Make:
    def make(size: int) -> bytes:
        depth = max(1, size // (len(opening) + len(closing)))
        return (before + opening * depth + inside + closing * depth + behind).encode()

    return make


_RSS, _RSS_END = (
    '<?xml version="1.0"?><rss version="2.0"><channel><title>t</title><link>http://a.example/</link>',
    "</channel></rss>",
)
_ATOM, _ATOM_END = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>', "</feed>"
LAUGHS = (
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
    return FEED, filled(items, '{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[', '{"id":"z"}]}')


FEEDS: dict[str, tuple[str, Make]] = {
    "rss items": (
        RSS,
        filled(
            "<item><title>i#</title><link>http://a.example/#</link><description>d</description></item>", _RSS, _RSS_END
        ),
    ),
    "rss empty items": (RSS, filled("<item/>", _RSS, _RSS_END)),
    "rss titles": (RSS, filled("<title>t</title>", _RSS, _RSS_END)),
    "rss one description": (
        RSS,
        filled("&lt;b&gt;[", _RSS + "<item><description>", "</description></item>" + _RSS_END),
    ),
    "rss cdata of boxes": (
        RSS,
        filled("<div>", _RSS + "<item><description><![CDATA[", "]]></description></item>" + _RSS_END),
    ),
    "rss cdata of brackets": (
        RSS,
        filled("[", _RSS + "<item><description><![CDATA[<p>", "]]></description></item>" + _RSS_END),
    ),
    "rss many cdata": (RSS, filled("<![CDATA[a]]>", _RSS + "<item><description>", "</description></item>" + _RSS_END)),
    "rss descriptions of pages": (
        RSS,
        filled("<item><description>&lt;table>&lt;tr>&lt;td>1&lt;ul>&lt;li></description></item>", _RSS, _RSS_END),
    ),
    "rss content of pages": (
        RSS,
        filled(
            "<item><c:encoded><![CDATA[<style>*{color:red}</style><p hidden>x</p>]]></c:encoded></item>",
            _RSS.replace("<rss ", '<rss xmlns:c="http://purl.org/rss/1.0/modules/content/" '),
            _RSS_END,
        ),
    ),
    "rss nested": (RSS, nested("<item>", "</item>", _RSS, _RSS_END)),
    "rss never closed": (RSS, filled("<item><title>", _RSS)),
    "rss categories": (RSS, filled("<category>c#</category>", _RSS + "<item>", "</item>" + _RSS_END)),
    "rss links": (RSS, filled("<link>javascript:alert(#)</link>", _RSS + "<item>", "</item>" + _RSS_END)),
    "rss dates": (RSS, filled("<item><pubDate>Mon, 99 Foo 99999 25:61:61 +9999</pubDate></item>", _RSS, _RSS_END)),
    "rss one date": (RSS, filled("9", _RSS + "<item><pubDate>", "</pubDate></item>" + _RSS_END)),
    "rss laughs": (
        RSS,
        lambda size: (LAUGHS + "<rss><channel><item><title>&a10;</title></item></channel></rss>").encode(),
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
    "rss entities unknown": (RSS, filled("&e#;", _RSS + "<item><title>", "</title></item>" + _RSS_END)),
    "rss namespaces": (RSS, filled('<item xmlns:n#="urn:#"/>', _RSS, _RSS_END)),
    "rss namespaces of one": (RSS, filled(' xmlns:n#="urn:#"', "<rss", "><channel/></rss>")),
    "rss attributes": (RSS, filled(' a#="v"', "<rss", "><channel/></rss>")),
    "rss attributes alike": (RSS, filled(' a="v"', "<rss", "><channel/></rss>")),
    "rss instructions": (RSS, filled("<?x y?>", _RSS, _RSS_END)),
    "rss comments": (RSS, filled("<!---->", _RSS, _RSS_END)),
    "rss not closed comment": (RSS, filled("<!-- -", _RSS, "")),
    "rss in utf-16 said": (RSS, filled("<item/>", '<?xml version="1.0" encoding="utf-16"?><rss><channel>', _RSS_END)),
    "rss in idna": (RSS, filled("<item/>", '<?xml version="1.0" encoding="idna"?><rss><channel>', _RSS_END)),
    "rss with nulls": (RSS, filled("<item><title>a\0b</title></item>", _RSS, _RSS_END)),
    "rss of surrogates": (RSS, filled("<item><title>&#xD800;&#xFFFFFFFFF;&#0;</title></item>", _RSS, _RSS_END)),
    "rss as html": (HTML, filled("<item><title>i</title><link>http://a.example/#</link></item>", _RSS, _RSS_END)),
    "rss enclosures": (
        RSS,
        filled('<enclosure url="http://a/#" length="-1" type="x"/>', _RSS + "<item>", "</item>" + _RSS_END),
    ),
    "rdf": (
        XML,
        filled(
            '<item rdf:about="#"><title>t</title></item>',
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">',
            "</rdf:RDF>",
        ),
    ),
    "opml": (XML, nested('<outline text="a">', "</outline>", "<opml><body>", "</body></opml>")),
    "atom entries": (
        ATOM,
        filled(
            '<entry><title>e#</title><link href="#"/><content type="html">&lt;p>c</content></entry>', _ATOM, _ATOM_END
        ),
    ),
    "atom xhtml": (
        ATOM,
        nested("<div>", "</div>", _ATOM + '<entry><content type="xhtml">', "</content></entry>" + _ATOM_END),
    ),
    "atom bases": (ATOM, nested('<entry xml:base="a/">', "</entry>", _ATOM, _ATOM_END, '<link href="x"/>')),
    "atom links": (ATOM, filled('<link href="http://a/#" rel="r"/>', _ATOM + "<entry>", "</entry>" + _ATOM_END)),
    "atom authors": (
        ATOM,
        filled(
            "<author><name>n</name><email>a#@posthaus.org</email></author>", _ATOM + "<entry>", "</entry>" + _ATOM_END
        ),
    ),
    "atom content of base64": (
        ATOM,
        filled("QUJD", _ATOM + '<entry><content type="image/png">', "</content></entry>" + _ATOM_END),
    ),
    "atom content of types": (ATOM, filled('<entry><content type="#">&lt;b></content></entry>', _ATOM, _ATOM_END)),
    "json feed": _json_feed('{"id":"#","url":"http://a/#","title":"t","content_html":"<p>c<ul><li>"},'),
    "json feed of numbers": _json_feed("1,"),
    "json feed of lists": _json_feed("[],"),
    "json feed of wrong types": _json_feed(
        '{"id":[],"url":{},"title":1,"content_html":[null],"content_text":{"a":1},"date_published":5,"authors":"x","tags":{"a":1}},'
    ),
    "json feed of authors": _json_feed('{"id":"1","authors":[{"name":"n"},{"name":5},7,null]},'),
    "json feed of one": (
        FEED,
        filled("<div>", '{"version":"https://jsonfeed.org/version/1","items":[{"content_html":"', '"}]}'),
    ),
    "json feed in depth": (FEED, nested("[", "]", '{"version":"https://jsonfeed.org/version/1","items":', "}", "1")),
    "json feed of keys": (
        FEED,
        filled('"k#":1,', '{"version":"https://jsonfeed.org/version/1","items":[{', '"z":1}]}'),
    ),
    "json feed's items a text": (FEED, filled("x", '{"version":"https://jsonfeed.org/version/1","items":"', '"}')),
    "json feed of surrogates": (
        FEED,
        filled("\\ud800", '{"version":"https://jsonfeed.org/version/1","items":[{"title":"', '"}]}'),
    ),
    "json of exponents": (JSON, filled("1e999,", "[", "1]")),
    "json of one number": (JSON, filled("9", "[", "]")),
    "json of nan": (JSON, filled("NaN,-Infinity,", "[", "1]")),
    "json of blanks": (JSON, filled(" \n", "[", "1]")),
    "json of brackets": (JSON, filled("[")),
    "json lines": (JSON, filled('{"a":#}\n')),
    "json of escapes": (JSON, filled("\\u0000", '["', '"]')),
    "xml of one text": (XML, filled("words ", "<a>", "</a>")),
    "xml of elements": (XML, filled("<a/>", "<r>", "</r>")),
    "xml in depth": (XML, nested("<a>", "</a>")),
    "xml sheet": (
        XML,
        filled('<?xml-stylesheet href="http://127.0.0.1/#" type="text/xsl"?>', '<?xml version="1.0"?>', "<a/>"),
    ),
    "xml inclusions": (
        XML,
        filled(
            '<xi:include href="file:///etc/passwd" parse="text"/>',
            '<a xmlns:xi="http://www.w3.org/2001/XInclude">',
            "</a>",
        ),
    ),
    "text of lines": (TEXT, filled("\n")),
    "text of returns": (TEXT, filled("\r")),
    "text of separators": (TEXT, filled("\u2028\u0085\x0b\x0c")),
    "text of marks": (TEXT, filled("e\u0301\u0302\u0303\u0304")),
    "text of one letter's marks": (TEXT, filled("\u0301", "e")),
    "text of hidden": (TEXT, filled("\u200b\u202e\U000e0041")),
    "text of emoji": (TEXT, filled("\U0001f468\u200d\U0001f469\u200d\U0001f467")),
    "text of one word": (TEXT, filled("w")),
    "text of nulls": (TEXT, filled("a\0")),
    "text of fences": (TEXT, filled("```\n~~~~\n")),
    "text of secrets": (TEXT, filled("password = hunter#hunter2Q! \n")),
    "text of keys": (TEXT, filled("AKIAIOSFODNN7ABCD#EF sk-live-abcdefghijkl# ")),
    "markdown of brackets": (MARKDOWN, filled("[")),
    "markdown of images": (MARKDOWN, filled("![](")),
    "markdown of stars": (MARKDOWN, filled("**a_")),
    "markdown of ticks": (MARKDOWN, filled("`` ` ")),
    "markdown of quotes": (MARKDOWN, filled("> ")),
    "markdown of lists": (MARKDOWN, lambda size: b"\n".join(b" " * n + b"- a" for n in range(int((2 * size) ** 0.5)))),
    "markdown of headings": (MARKDOWN, filled("# h\n")),
    "markdown of tables": (MARKDOWN, filled("|a", "", "\n" + "|-" * 9_000)),
    "markdown of references": (MARKDOWN, filled("[a#]: http://a/#\n")),
    "markdown of tags": (MARKDOWN, filled("<a ")),
}
