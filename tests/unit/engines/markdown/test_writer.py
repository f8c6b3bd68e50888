"""HTML becomes Markdown that means the same: structure, code, tables, lists, links, and text that stays text."""

import pytest
from lxml import etree

from gateway.engines.documents.simhash import both, near
from gateway.engines.html.tree import BLOCKS, parse
from gateway.engines.markdown.writer import Writer, WriterOptions
from gateway.engines.words.text import bigrams, stem, terms
from tests.support.read_pages import page_of


def written(html: str, *, plain: bool = False) -> str:
    root = parse(f"<html><body>{html}</body></html>")
    return Writer(WriterOptions("http://a.test/docs/page.html", plain)).write(root.find("body"))


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2>A <em>b</em></h2><p>c<br>d</p>", "## A *b*\n\nc  \nd"),
        ("<p>one</p>two<div>three</div>", "one\n\ntwo\n\nthree"),
        ("<p>a <b> bold </b>text <code>x`y</code></p>", "a **bold** text ``x`y``"),
        ('<p><a href="../x y.html?q=(1)">link</a></p>', "[link](http://a.test/x%20y.html?q=%281%29)"),
        ('<p><a href="#here">no target</a> <a href="javascript:x()">none</a></p>', "no target none"),
        ("<p>super<wbr>cali<b>x</b> and <wbr>more</p><p>next</p>", "supercali**x** and more\n\nnext"),
        ("<ul>Lead<li>one</li>tail<li>two</ul>", "Lead\n\n- one\n\n  tail\n\n- two"),
        ("<ul>Indented<br>text <b>only</b><p>more</ul>", "Indented  \ntext **only**\n\nmore"),
        ('<ul><a href="a">x</a> <a href="b">y</a></ul>', "[x](http://a.test/docs/a) [y](http://a.test/docs/b)"),
        ("<ul><li>a<menu><li>b</menu></ul>", "- a\n  - b"),
        ("<p>See <img src='data:image/png;base64,AAAA' alt='Plan of hives'> there</p>", "See Plan of hives there"),
        ("<div><label>Weight</label><output>4 kg</output></div>", "Weight 4 kg"),
        ("<pre>  two\n    four\n</pre>", "```\n  two\n    four\n```"),
        ('<div class="highlight-python3"><pre>x = 1</pre></div>', "```python3\nx = 1\n```"),
        ("<div class='highlight highlight-source-shell'><pre>ls</pre></div>", "```shell\nls\n```"),
        ('<pre><code class="language-rust">fn a() {}</code></pre>', "```rust\nfn a() {}\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ('<pre><span class="lineno">1 </span>x<br>y</pre>', "```\nx\ny\n```"),
        ("<pre><input><code>a x</code><code>x = y()</code><button>copy</button></pre>", "```\na x\nx = y()\n```"),
        ("<pre>run <code>a</code> <code>b</code></pre>", "```\nrun a b\n```"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ('<ol start="3"><li>a</li><li><p>b</p><pre>c</pre></li></ol>', "3. a\n\n4. b\n\n   ```\n   c\n   ```"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<blockquote><pre>  if x:\n    y</pre></blockquote>", "```\n  if x:\n    y\n```"),
        ("<table><tr><th>a<th>b<tr><td><pre>x\n  y</pre><td><pre>z\n  w</pre></table>",
         "| a | b |\n| --- | --- |\n| `x`<br>`  y` | `z`<br>`  w` |"),
        ("<table><tr><th>h|1<th>h2<tr><td>a<br>b<td><p>c</p><p>d</table>",
         "| h\\|1 | h2 |\n| --- | --- |\n| a<br>b | c<br>d |"),
        ("<table><tr><td colspan=2>a<tr><td rowspan=2>b<td>c<tr><td>d</table>",
         "| a |  |\n| --- | --- |\n| b | c |\n|  | d |"),
        ("<p>a<br><br>b<br>c<br> <br>- d</p>", "a\n\nb  \nc\n\n\\- d"),
        ("<h2>a<br><br>b</h2>", "## a b"),
        ("<ul><li>a<br><br>b</li></ul>", "- a\n\n  b"),
        ("<p><a href='/x'>a<br><br>b</a></p>", "[a  \nb](http://a.test/x)"),
        ("<table><tr><th>a<th>b<tr><td>c<br><br>d<td>e</table>", "| a | b |\n| --- | --- |\n| c<br>d | e |"),
        ("<a href='/x'><p>Sale!</p><h2>Mug</h2><p>$9</p></a>", "Sale!\n\n## [Mug](http://a.test/x)\n\n$9"),
        ("<table role=presentation><tr><th>a</th><td>b</td></tr></table>", "| a | b |\n| --- | --- |"),
        ("<table role=presentation><tr><td><p>a</p></td><td><p>b</p></td></tr></table>", "a\n\nb"),
        ("<p># no heading</p><p>- no list</p><p>1. no list</p>", "\\# no heading\n\n\\- no list\n\n1\\. no list"),
        ("<p>vector&lt;int&gt; and *args and __init__</p>", "vector\\<int> and \\*args and \\_\\_init\\_\\_"),
        ('<figure><img src="i.png" alt="A picture"><figcaption>Seen</figcaption></figure>',
         "![A picture](http://a.test/docs/i.png)\n\nSeen"),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", "**term**\n\nmeaning"),
        ('<a href="/card"><h3>Title</h3><p>Teaser</p></a>', "### [Title](http://a.test/card)\n\nTeaser"),
        ("<ul><li><h2>A</h2><p>b</p><ul><li><h3>C</h3><pre>d</pre></li></ul></li></ul>",
         "## A\n\nb\n\n### C\n\n```\nd\n```"),
        ("<ul><li><h4>A</h4><p>b</p><ul><li><p>c</p></li></ul><h4>D</h4></li></ul>",
         "- #### A\n\n  b\n\n  - c\n\n  #### D"),
        ("<ul><li><h3>A</h3></li><li><h3>B</h3></li></ul>", "- ### A\n- ### B"),
        ("<ol><li><h3>A</h3><p>b</p></li></ol>", "1. ### A\n\n   b"),
        ("<p><a href='/n?body=a%0Ab%0Ac'>Report a bug</a> <a href='/n?q=a%0Ab'>x</a></p>",
         "Report a bug [x](http://a.test/n?q=a%0Ab)"),
        ("<hr><p>a</p><hr><hr><p>b</p><hr>", "a\n\n---\n\nb"),
        ("<p><img src=plus.png alt='+'> More <img src=s.png alt=':D'></p>", "More ![:D](http://a.test/docs/s.png)"),
        ("<table><tr><td>a<td><td>b<tr><td>c<td><td>d</table>", "| a | b |\n| --- | --- |\n| c | d |"),
        # An exponent is marked, and the number of a note is not.
        ("<p>Up to 2<sup>32</sup> of them", "Up to 2^32 of them"),
        ("<p>10<sup>-9</sup> s", "10^-9 s"),
        ("<p>O(<i>n</i><sup>2</sup>)", "O(*n*^2)"),
        ("<p>the n<sup>th</sup> and the 1<sup>st</sup>", "the nth and the 1st"),
        ("<p>a word<sup>3</sup>", "a word3"),
        ('<p>in 2019<sup><a href="#n">3</a></sup>', "in 20193"),
        # The kind of a term stands behind a colon.
        ('<dl><dt><strong>by</strong><span class="classifier">mapping, function</span></dt><dd>Groups.</dd></dl>',
         "**by**: mapping, function\n\nGroups."),
        # Numbered code below the name of its file is code.
        ('<table class="highlighttable"><tr><th colspan="2" class="filename">a.sh</th></tr><tr><td class="linenos">'
         '<pre>1\n2</pre></td><td class="code"><pre>cd a\nls</pre></td></tr></table>', "a.sh\n\n```\ncd a\nls\n```"),
        # An admonition is framed and labelled.
        ('<div class="admonition note"><p class="admonition-title">Note</p><p>Text.</p></div>', "> **Note:** Text."),
        ('<div class="admonition-warning admonition"><p>Text.</p></div>', "> **Warning:** Text."),
        ('<div class="note"><h3 class="title">Note</h3><p>One.</p><p>Two.</p></div>', "> **Note:** One.\n>\n> Two."),
        ('<div class="markdown-alert markdown-alert-tip"><p class="markdown-alert-title">Tip</p><p>Text.</p></div>',
         "> **Tip:** Text."),
        ('<div class="admonition seealso"><p class="admonition-title">See also</p><ul><li>A</li></ul></div>',
         "> **See also:**\n>\n> - A"),
        ('<div class="note"><p>Text.</p></div>', "Text."),
        ("<blockquote><p>Text.</p></blockquote>", "> Text."),
    ],
)  # fmt: skip
def test_html_becomes_markdown(html: str, markdown: str) -> None:
    assert written(html) == markdown


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_block_inside_a_heading_is_set_apart(name: str) -> None:
    region, heading, block = (etree.Element(tag) for tag in ("div", "h3", name))
    region.append(heading)
    heading.append(block)
    block.text, block.tail = "Opinion", "The week in books"
    assert Writer(WriterOptions("http://a.test/")).write(region) == "### Opinion The week in books"


def test_plain_text_has_no_marks() -> None:
    html = "<h1>Head</h1><p>a <b>b</b> <a href=x>c</a> *d*</p><ul><li>e</li></ul><pre>  f</pre>"
    assert written(html, plain=True) == "Head\n\na b c *d*\n\n- e\n\n  f"


def test_stems_and_bigrams() -> None:
    assert stem("crawling") == stem("crawled") == stem("crawls") and stem("caches") == stem("cache")
    assert terms("The crawler's caches") == [stem("crawler"), stem("caches")]
    assert bigrams("语言模型 x 中") == ["语言", "言模", "模型", "中"]


def test_near_duplicates_are_told_from_different_texts() -> None:
    base = " ".join(f"word{number} follows word{number * 7 % 91}" for number in range(150))
    assert both("A b,  C")[0] == both("a B c")[0]
    assert near(both(base)[1], both(base + " today")[1])
    assert not near(both(base)[1], both(" ".join(f"other{number} text{number % 13}" for number in range(400)))[1])


def test_a_page_tells_its_title_dates_icon_links_and_images() -> None:
    html = """<html lang=en><head><title>T &amp; t</title><link rel="shortcut icon" href="/f.ico">
    <meta property="article:published_time" content="2026-03-04T10:00:00Z"><meta property="og:image" content="/o.png">
    <link rel=canonical href="http://A.test/docs/page.html?utm_source=x"></head><body>
    <nav><a href="/nav">nav</a></nav><main><p>Some text of the page. <a href="deep/">in</a> <a href="f.zip">zip</a></p>
    <img src="data:x" data-src="lazy.png" alt="lazy"><img src="dot.gif" width=1 height=1></main></body></html>"""
    page = page_of(html, "http://a.test/docs/page.html", links=True, images=True)
    assert (page["title"], page["published"], page["favicon"]) == ("T & t", "2026-03-04", "http://a.test/f.ico")
    assert page["canonical"] == "http://a.test/docs/page.html"
    assert [link[0] for link in page["links"]] == ["http://a.test/docs/deep/", "http://a.test/nav"]
    assert [image["url"] for image in page["images"]] == ["http://a.test/o.png", "http://a.test/docs/lazy.png"]
