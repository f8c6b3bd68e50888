"""Pages of generators of documentation: code and tables that they draw with boxes, notes, and lines of navigation."""

import pytest

from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.page import extract

_TEXT = "<p>The class keeps the decomposition of a matrix, so that systems of equations are solved with it again.</p>"


def read(body: str, head: str = "") -> str:
    markup = f"<html><head><title>T</title>{head}</head><body>{body}</body></html>"
    return str(extract(markup.encode(), ExtractOptions("http://docs.test/a"))["content"])


def test_lines_of_code_in_boxes_are_one_block_of_code_without_what_is_shown_at_the_pointer() -> None:
    fragment = (
        '<div class="fragment"><div class="line"><a id="l1"></a><span class="lineno">    1</span>'
        '<span class="keyword">if</span> (a &lt; b) {</div>\n<div class="foldopen"><div class="line">  <a href="f">'
        'f</a>(a);</div>\n</div><div class="line">}</div>\n<div class="line">&#160;</div><div class="line">g();</div>'
        '<div class="ttc" id="a1"><div class="ttname">f</div><div class="ttdoc">Says what f does.</div></div></div>'
    )
    assert "```\nif (a < b) {\n  f(a);\n}\n \ng();\n```" in read(f"<h1>LLT</h1>{_TEXT}{fragment}{_TEXT}")


def test_the_label_of_an_opened_part_and_the_address_that_holds_its_program_are_left_out() -> None:
    run = '<a class="test-arrow" href="https://play.test/?code=let%20x%0Alet%20y%0A&edition=2021">Run</a>'
    part = (
        '<details class="toggle" open><summary class="hideme"><span>Expand description</span></summary>'
        f"{_TEXT}<pre><code>let x\nlet y</code></pre>{run}</details>"
        f"<details><summary>More of it</summary>{_TEXT}</details>"
    )
    text = read(f"<main><h1>read</h1>{part}</main>", '<meta name="generator" content="rustdoc">')
    assert text == f"# read\n\n{_TEXT[3:-4]}\n\n```\nlet x\nlet y\n```\n\nMore of it\n\n{_TEXT[3:-4]}"


def test_a_grid_of_boxes_with_heads_is_a_table() -> None:
    heads = "".join(f'<div class="table-header col-{at}">{at}</div>' for at in ("Type", "Method"))
    cells = "".join(
        f'<div class="col-first"><code>{kind}</code></div><div class="col-last"><code>{name}()</code></div>'
        for kind, name in (("int", "size"), ("void", "clear"))
    )
    grid = f'<div class="summary-table two-column-summary">{heads}{cells}</div>'
    table = "| Type | Method |\n| --- | --- |\n| `int` | `size()` |\n| `void` | `clear()` |"
    assert table in read(f"<main><h1>List</h1>{_TEXT}{grid}</main>")


def test_members_below_headings_inside_a_table_are_tables() -> None:
    rows = (
        '<tr class="heading"><td colspan="2"><h2>Public Member Functions</h2></td></tr>'
        '<tr><td>void</td><td><a href="#a">compute</a> (int a)</td></tr>'
        "<tr><td>&#160;</td><td>Computes all of it.</td></tr>"
        '<tr class="heading"><td colspan="2"><h2>Static Functions</h2></td></tr>'
        "<tr><td>int</td><td>size () const</td></tr><tr><td>int</td><td>rows () const</td></tr>"
    )
    text = read(f'<h1>LLT</h1>{_TEXT}<table class="memberdecls">{rows}</table>{_TEXT}')
    assert (
        "## Public Member Functions\n\n| void | compute (int a) |\n| --- | --- |\n|  | Computes all of it. |\n\n"
        "## Static Functions\n\n| int | size () const |\n| --- | --- |\n| int | rows () const |"
    ) in text


@pytest.mark.parametrize("empty", ["", "&#160;", "✓", "<p>–</p>"])
def test_a_cell_without_words_keeps_its_place(empty: str) -> None:
    shown = empty.replace("&#160;", "").replace("<p>", "").replace("</p>", "")
    rows = f"<tr><td>alpha</td><td>{empty}</td><td>the first of all letters</td></tr>" + "".join(
        f"<tr><td>{word}</td><td>yes</td><td>another letter of the alphabet</td></tr>" for word in ("beta", "gamma")
    )
    text = read(f"<main><h1>Letters</h1>{_TEXT}<table><tr><th>Name<th>Short<th>Says</tr>{rows}</table></main>")
    assert f"\n| alpha | {shown} | the first of all letters |\n" in text


def test_a_note_that_is_laid_out_as_a_table_is_a_note() -> None:
    note = (
        '<div class="note"><table border="0" summary="Note"><tr><td rowspan="2" width="25"><img alt="[Note]" '
        'src="note.png"></td><th align="left">Note</th></tr><tr><td><p>Prior content is overwritten.</p></td></tr>'
        "</table></div>"
    )
    text = read(f'<div class="refsect1"><h2>Description</h2>{_TEXT}{note}</div>')
    assert text.endswith("\n\n> **Note:** Prior content is overwritten.")


def test_terms_that_the_synopsis_names_too_stay_with_their_definitions() -> None:
    names = [f"::csv::{name} values sepChar" for name in ("join", "split", "report")]
    synopsis = "".join(f'<li><a href="#{at}">{name}</a></li>' for at, name in enumerate(names))
    terms = "".join(f"<dt>{name}</dt><dd>Says of {name[7:12]} what it does in a sentence.</dd>" for name in names)
    text = read(f"<h1>csv</h1><ul>{synopsis}</ul><h2>Commands</h2>{_TEXT}<dl>{terms}</dl>")
    assert all(f"\n\n**{name}**\n\n" in text for name in names)


@pytest.mark.parametrize(
    "line",
    [
        '<p>Next: <a href="b.html">Exports</a>, Previous: <a href="a.html">Start</a>, Up: <a href="i.html">Top</a>'
        ' [<a href="t.html">Contents</a>][<a href="x.html">Index</a>]</p>',
        '<b>Next:</b> <a href="b.html">NaN</a> <b>Up:</b> <a href="a.html">Overflow</a> <b>Previous:</b> '
        '<a href="a.html">Overflow</a><br>',
        '<div class="spirit-nav"><a href="a.html"><img src="p.png" alt="Prev"></a><a href="i.html"><img src="h.png" '
        'alt="Home"></a><a href="b.html"><img src="n.png" alt="Next"></a></div>',
    ],
    ids=["Texinfo", "LaTeX2HTML", "DocBook"],
)
def test_links_to_the_pages_around_one_are_left_out(line: str) -> None:
    text = read(f"{line}<hr><h3>Float</h3>{_TEXT}<hr>{line}")
    assert text == f"### Float\n\n{_TEXT[3:-4]}"


def test_a_sentence_that_begins_as_such_a_line_does_is_kept() -> None:
    sentence = 'Next we read <a href="b">the contents</a> of the page up to <a href="c">its end</a>, and no further.'
    assert "Next we read" in read(f"<main><h1>Read</h1>{_TEXT}<p>{sentence}</p>{_TEXT}</main>")


@pytest.mark.parametrize(
    "head",
    ['<meta name="Generator" content="texi2any">', '<link rel="stylesheet" href="../linuwial.css" title="Linuwial">'],
)
def test_a_page_of_a_known_generator_is_documentation(head: str) -> None:
    markup = f"<html><head><title>T</title>{head}</head><body><h1>A</h1>{_TEXT}</body></html>"
    assert extract(markup.encode(), ExtractOptions("http://a.test/b"))["page_type"] == "documentation"
