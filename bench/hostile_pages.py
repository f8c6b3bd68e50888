# ruff: noqa: E501 - a row for each kind
"""Hostile pages and documents of any size, second collection: `MORE_PAGES`, `MORE_DOCUMENTS`, `MORE_SITEMAPS`.

Each maker takes a number of characters and gives about as many. They were written without a look at the limits of the
readers: template and foreign content, tables whose spans multiply, style sheets, attribute lists, entities, structured
data that refers to itself, feeds, and bodies whose declared charset is wrong.
"""

import json
from collections.abc import Callable

Make = Callable[[int], str]
MakeBytes = Callable[[int], bytes]


def said(unit: str, before: str = "", behind: str = "") -> Make:
    """The unit again and again, between two fixed parts."""
    return lambda size: before + unit * max(1, (size - len(before) - len(behind)) // len(unit)) + behind


def numbered(unit: str, before: str = "", behind: str = "") -> Make:
    """The unit with `#` replaced by a new number each time."""

    def make(size: int) -> str:
        count = max(1, size // (len(unit) + 4))
        return before + "".join(unit.replace("#", str(number)) for number in range(count)) + behind

    return make


def nested(opening: str, closing: str, inside: str = "text") -> Make:
    def make(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return opening * depth + inside + closing * depth

    return make


def _one_attribute(name: str, unit: str, tag: str = "p") -> Make:
    return said(unit, f"<{tag} {name}='", f"'>a text to be read</{tag}>")


def _style(rules: Make, body: str = "<p class='a b c'>a text to be read</p>" * 40) -> Make:
    return lambda size: f"<style>{rules(size - len(body))}</style>{body}"


def _styled_body(size: int) -> str:
    """As many rules as elements, each rule for another element."""
    count = size // 90
    rules = "".join(f".k{number} .m{number}>a:not(.z){{display:none}}" for number in range(count))
    return f"<style>{rules}</style>" + "".join(f"<p class='k{n}'><b class='m{n}'>x{n}</b>" for n in range(count))


def _linked_data(size: int) -> str:
    """A graph in which every node names all others by @id."""
    count = max(2, int((size / 24) ** 0.5))
    ids = [{"@id": f"#n{number}"} for number in range(count)]
    graph = [{"@id": f"#n{number}", "@type": "Article", "author": ids, "isPartOf": ids} for number in range(count)]
    return f'<script type="application/ld+json">{json.dumps({"@graph": graph})}</script><p>a text to be read'


def _deep_data(size: int) -> str:
    depth = size // 24
    inside = '{"@type":"Article","a":' * depth + "1" + "}" * depth
    return f'<script type="application/ld+json">{inside}</script><p>a text to be read'


MORE_PAGES: dict[str, Make] = {
    "templates in templates": nested("<template>", "</template>"),
    "empty elements": said("<wbr><source src=a><track><keygen name=b>text"),
    "frames of documents": said("<iframe srcdoc='<p>a text'>b</iframe>"),
    "one frame": said("<p>a text", "<iframe srcdoc='", "'></iframe>"),
    "frameset": said("<frame src=a>", "<frameset>", "<noframes><p>a text</noframes></frameset>"),
    "svg in foreignObject": nested("<svg><foreignObject>", "</foreignObject></svg>"),
    "math in annotation": nested("<math><annotation-xml encoding='text/html'>", "</annotation-xml></math>"),
    "svg style title": said("<svg><style><title><p>", "", "</svg>"),
    "noscript nested": nested("<noscript><p>", "</noscript>"),
    "selects and options": said("<select><option><optgroup><p>text"),
    "unclosed formatting": said("<b><i><u><a href=x><font><p>"),
    "adoption agency": said("<a><b><p></a></b>"),
    "misnested tables": said("<table><p>a<tr><div>b<td><table>"),
    "spans of 65534": said("<tr><td rowspan=65534 colspan=1000>a<td>b", "<table>", "</table>"),
    "span of 9 digits": said("<tr><td rowspan=999999999 colspan=999999999>a", "<table>", "</table>"),
    "one wide row": said("<td>a", "<table><tr>", "</table><table><tr><td>x<tr><td>y</table>"),
    "wide and long": lambda size: "<table><tr>" + "<td>" * (size // 16) + "<tr><td>a" * (size // 12) + "</table>",
    "colgroup": said("<col span=1000>", "<table><colgroup>", "<tr><td>a</table>"),
    "list starts": said("<ol start=2147483647 reversed><li value=-999999999>a"),
    "definition lists": said("<dl><dt>a<dd>b<dl>"),
    "one class attribute": _one_attribute("class", "c "),
    "100,000 classes": numbered("c# ", "<p class='", "'>a text to be read</p>"),
    "one style attribute": _one_attribute("style", "display:none;color:#fff;"),
    "style of brackets": _one_attribute("style", "a:url(("),
    "style escapes": _one_attribute("style", "\\64\\69"),
    "many attributes": numbered("a#=b ", "<p ", ">a text to be read</p>"),
    "data attributes": numbered("<i data-a#='x'>y</i>"),
    "aria controls": numbered("<button aria-controls='t# t1 t2 t3'>b</button><div id=t# hidden>text</div>"),
    "labelled by all": said("<p id=a aria-labelledby='a a a a a a a a'>text"),
    "ids alike": said("<p id=a><a href='#a'>x</a>"),
    "usemap": said("<img usemap='#m'><map name=m><area href=x></map>"),
    "srcset": numbered("a#.png #w, ", "<img src=a.png srcset='", "'><p>text"),
    "srcset commas": said(",", "<img srcset='", "'><p>text"),
    "srcset data": _one_attribute("srcset", "data:image/png;base64,AAAA 1x, ", "img"),
    "picture sources": said("<picture><source srcset='a 1x, b 2x' media='(min-width:1px)'><img src=a></picture>"),
    "sizes": _one_attribute("sizes", "calc((", "img"),
    "rules": _style(numbered(".k#{display:none}")),
    "rules alike": _style(said(".a{color:red}")),
    "rules of lists": _style(said(".a,.b,p,", "", "q{display:none}")),
    "rules of descendants": _style(said("p ", "", "{display:none}")),
    "rules of siblings": _style(said("p~p+", "", "p{display:none}")),
    "rules of not": _style(nested(":not(", ")", "p")),
    "rules of is": _style(nested(":is(p,", ")", "p")),
    "rules of has": _style(said("p:has(> p, + p, ~ p){display:none}")),
    "rules of nth": _style(numbered("p:nth-child(#n + 1 of .a, .b){display:none}")),
    "rules nested": _style(nested("p{&:hover{", "}}", "display:none")),
    "media nested": _style(nested("@media all{", "}", "p{display:none}")),
    "layers": _style(numbered("@layer l#{p{display:block}}")),
    "imports": _style(said("@import url(a);")),
    "comments of css": _style(said("/*")),
    "strings of css": _style(said("\"\\\n'")),
    "variables": _style(numbered(":root{--v#:var(--v1,var(--v2,none))}p{display:var(--v#)}")),
    "important": _style(numbered("p.a.b.c{display:none !important;visibility:hidden !important;--a#:1}")),
    "a rule for each element": _styled_body,
    "refresh loop": numbered("<meta http-equiv=refresh content='0;url=/p#'>"),
    "refresh url of urls": said("url=", "<meta http-equiv=refresh content='0;", "'><p>text"),
    "canonical loop": numbered("<link rel=canonical href=/a#><base href=/b#>"),
    "alternates": numbered("<link rel=alternate hreflang=x-# href=/a#>"),
    "metas": numbered("<meta property='og:image:#' content='x#'>"),
    "author metas": numbered("<meta name=author content='a#, b; c and d'>"),
    "dates": said("<time datetime='2024-13-45T99:99:99+99:99'>1 May 2024</time>"),
    "entities": said("&amp;#38;amp;&notit;&CounterClockwiseContourIntegral"),
    "numeric entities": said("&#0000000000000000000000065;&#x110000;&#xD800;&#-1;"),
    "entity without end": said("&#9", "<p>"),
    "ampersands": said("&"),
    "null bytes": said("a\0<p\0>"),
    "comments": said("<!--->-->--!><!-- -- -->"),
    "comment open": said("<!--", "<p>text"),
    "cdata": said("<![CDATA[ ]]>", "<svg>"),
    "processing": said("<?php ?><!DOCTYPE a [<!ENTITY b 'c'>]>"),
    "script states": said("<!--<script></script", "<script>", "</script><p>text"),
    "textarea title": said("<textarea><title><xmp><plaintext>"),
    "plaintext": said("<p>", "<plaintext>"),
    "frames": numbered("<iframe srcdoc='<p>a<iframe srcdoc=b>' src=/f#>"),
    "custom elements": numbered("<x-e#><slot name=s#>t</slot></x-e#>"),
    "shadow roots": nested("<div><template shadowrootmode=open><slot>", "</slot></template></div>"),
    "ruby": said("<ruby>a<rb>b<rt>c<rtc>d<rp>("),
    "microdata": numbered("<div itemscope itemtype=https://schema.org/Article itemref='r# r1'><i itemprop=name id=r#>n"),
    "microdata nested": nested("<div itemscope itemprop=author>", "</div>"),
    "rdfa": nested("<div vocab=https://schema.org/ typeof=Article property=author resource='#a'>", "</div>"),
    "linked data graph": _linked_data,
    "linked data deep": _deep_data,
    "linked data scripts": said("<script type=application/ld+json>{\"@type\":\"Article\",\"name\":\"n\"}</script>"),
    "linked data array": said('{"@type":["Article","A"],"author":[[[{"name":["n"]}]]]},', "<script type='application/ld+json'>[", "1]</script><p>t"),
    "state assigned": said('{"a":[1,"b"]},', "<script>window.__INITIAL_STATE__=[", "1]</script><p>text"),
    "flight data": said('self.__next_f.push([1,"1:{\\"a\\":\\"b\\"}\\n"])', "<script>", "</script><p>text"),
    "pre lines": said("`~\n", "<pre><code>", "</code></pre>"),
    "code of backticks": numbered("<code>```#``</code> "),
    "headings of links": said("<h1><a href=#a><h2>t"),
    "links of brackets": said("<a href='](a' title='\")'>](</a>"),
    "images of brackets": said("<img alt='](a' src=')('>"),
    "zero width": said("\u200b\u202e\u2066\U000e0041", "<p>"),
    "combining": said("\u0301", "<p>a"),
    "blanks": said(" \t\n\r\f\u00a0\u3000", "<p>", "<p>text"),
    "one word": said("a", "<p>"),
    "hangul": said("\u1100\u1161\u11a8", "<p>"),
    "surrogates spelt": said("&#xD83D;&#xDE00;", "<p>"),
    "breaks": said("<br><wbr><hr>", "<p>"),
    "details": nested("<details><summary>s</summary>", "</details>"),
    "fieldsets": nested("<form><fieldset><legend>l</legend>", "</fieldset></form>"),
    "marquee": nested("<marquee><blink><center><font size=7>", "</font></center></blink></marquee>"),
    "base many": numbered("<base href='http://h#.example/'>"),
    "quotes nested": nested("<blockquote><q><cite>", "</cite></q></blockquote>"),
    "mathml": nested("<math><mfrac><mi>a</mi>", "</mfrac></math>"),
    "object param": nested("<object data=a><param name=b value=c>", "</object>"),
}  # fmt: skip


FELL = ("headings of links", "strings of css", "srcset commas", "empty elements", "one frame", "frameset")
"""Those of MORE_PAGES that took the square of their size, or were no page or lost text for a fault of ours."""


def _laughs(size: int) -> str:
    """Entities that stand for ten of the one before."""
    entities = '<!ENTITY e0 "lol">' + "".join(
        f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 10)
    )
    return f"<!DOCTYPE a [{entities}]><rss><channel><item><title>{'&e9;' * max(1, size // 9)}</title></item></channel></rss>"


MORE_DOCUMENTS: dict[str, Make] = {
    "laughs": _laughs,
    "outside entity": said("&x;", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>', "</title></channel></rss>"),
    "feed items": numbered("<item><title>t#</title><link>/a#</link><description>&lt;b&gt;d</description></item>", "<rss><channel>", "</channel></rss>"),
    "feed of cdata": said("<item><description><![CDATA[<p>]]]]><![CDATA[>]]></description></item>", "<rss><channel>", "</channel></rss>"),
    "feed of html twice": said("&amp;lt;p&amp;gt;", "<rss><channel><item><description>", "</description></item></channel></rss>"),
    "atom links": said("<link rel='self' href='a'/><category term='b'/>", "<feed xmlns='http://www.w3.org/2005/Atom'><entry>", "</entry></feed>"),
    "atom in atom": nested("<entry><source>", "</source></entry>"),
    "feed of namespaces": numbered("<n#:a xmlns:n#='u#'/>", "<rss>", "</rss>"),
    "opml": nested("<outline text='a' xmlUrl='b'>", "</outline>"),
    "json feed": said('{"id":"1","content_html":"<p>a","attachments":[{"url":"b"}]},', '{"version":"https://jsonfeed.org/version/1.1","items":[', "{}]}"),
    "vcards": said("BEGIN:VEVENT\nDTSTART:20240101\nRRULE:FREQ=SECONDLY\nSUMMARY:\\,\\n\n x\nEND:VEVENT\n", "BEGIN:VCALENDAR\n"),
    "csv quotes": said('"a""b,"\n'),
    "csv columns": said(",", "", "\n1\n2\n"),
    "markdown links": said("[a]: <b> 'c'\n[a][a]"),
    "markdown lists": said("> - 1. * "),
    "rst": said(".. a::\n\n   |b|_ `c <d>`__\n"),
    "mail": said("From: a\nContent-Type: multipart/mixed; boundary=a\n\n--a\n"),
    "subtitles": said("1\n00:00:00,000 --> 99:99:99,999\n<i>a\n\n"),
    "yaml": numbered("a#: &a# [*a1, *a1]\n", "a1: &a1 [x]\n"),
}  # fmt: skip

MORE_SITEMAPS: dict[str, Make] = {
    "index of itself": said("<sitemap><loc>https://example.org/sitemap.xml</loc></sitemap>", "<sitemapindex>", "</sitemapindex>"),
    "index of all": numbered("<sitemap><loc>https://example.org/s#.xml</loc><lastmod>9999-99-99</lastmod></sitemap>", "<sitemapindex>", "</sitemapindex>"),
    "urls in urls": nested("<url><loc>", "</loc></url>", "https://example.org/"),
    "alternates of urls": numbered("<url><loc>/a#</loc><xhtml:link hreflang='x' href='/b#'/></url>", "<urlset>", "</urlset>"),
    "priorities": said("<url><loc>a</loc><priority>1e999</priority><changefreq>\0</changefreq></url>", "<urlset>", "</urlset>"),
    "laughs": _laughs,
}  # fmt: skip


def _coded(text: str, encoding: str, told: str) -> MakeBytes:
    def make(size: int) -> bytes:
        page = f"<meta charset={told}><p>" + text * max(1, size // len(text))
        return page.encode(encoding, "replace")[:size]

    return make


CHARSETS: dict[str, MakeBytes] = {
    "utf-7 script": _coded("+ADw-script+AD4-alert(1)+ADw-/script+AD4- ", "ascii", "utf-7"),
    "utf-16 without mark": _coded("<p>text \u4e00", "utf-16-le", "utf-16"),
    "utf-16 be told le": _coded("<p>text \u4e00", "utf-16-be", "utf-16le"),
    "utf-32": _coded("<p>text", "utf-32-le", "utf-32"),
    "iso-2022-jp": _coded("\u65e5\u672c\u8a9e<p>", "iso2022_jp", "iso-2022-jp"),
    "iso-2022-jp cut": lambda size: b"<meta charset=iso-2022-jp><p>" + b"\x1b$B\x1b(J" * (size // 6),
    "iso-2022-kr": _coded("\ud55c\uad6d<p>", "iso2022_kr", "iso-2022-kr"),
    "hz": lambda size: b"<meta charset=hz-gb-2312><p>" + b"~{~}~\n" * (size // 6),
    "utf-8 told latin": _coded("\u00e9\u4e00 text<p>", "utf-8", "iso-8859-1"),
    "latin told utf-8": _coded("\u00e9\u00ff text<p>", "latin-1", "utf-8"),
    "gb18030 leads": lambda size: b"<meta charset=gb18030><p>" + b"\x810\x810" * (size // 4),
    "shift_jis leads": lambda size: b"<meta charset=shift_jis><p>" + b"\x81" * size,
    "big5 leads": lambda size: b"<meta charset=big5-hkscs><p>" + b"\x87\xff" * (size // 2),
    "overlong": lambda size: b"<meta charset=utf-8><p>" + b"\xc0\xbc\xe0\x80\xbcscript>" * (size // 12),
    "lone tails": lambda size: b"<meta charset=utf-8><p>" + b"\x80\xbf" * (size // 2),
    "cesu": lambda size: b"<meta charset=utf-8><p>" + b"\xed\xa0\xbd\xed\xb8\x80" * (size // 6),
    "ebcdic": _coded("<p>text", "cp037", "cp037"),
    "no charset": lambda size: bytes(range(256)) * (size // 256),
    "zip charset": lambda size: b"<meta charset=zip><p>" + b"x\x9cK" * (size // 3),
    "punycode": lambda size: b"<meta charset=punycode><p>" + b"-a9" * (size // 3),
    "idna charset": lambda size: b"<meta charset=idna><p>" + b"xn--a." * (size // 6),
    "unicode_escape": lambda size: b"<meta charset=unicode_escape><p>" + b"\\u0041" * (size // 6),
    "raw_unicode_escape": lambda size: b"<meta charset=raw-unicode-escape><p>" + b"\\U0000003c" * (size // 10),
    "marks": lambda size: b"\xef\xbb\xbf\xff\xfe\xfe\xff" * (size // 7),
}
