"""Which pages seem to need a browser, and the text that some of them carry as data."""

import json

import pytest

from gateway.engines.html.scripts import EmbeddedState, read_signs
from gateway.engines.html.tree import parse
from tests.support.read_pages import page_of

PROSE = "The river rises in the hills behind the town and runs for forty miles. " * 8
SCRIPT = "<script>" + "run();" * 200 + "</script>"


@pytest.mark.parametrize(
    ("markup", "text", "needs"),
    [
        ("<div id=root></div><script src=/a.js></script>", "", True),
        ("<div id=app><p>Loading, please wait</p></div><script src=/a.js></script>", "Loading, please wait", True),
        ("<app-root></app-root><script src=/a.js></script>", "", True),
        ("<div id=root></div>", "", False),
        ("<div id=root></div><script src=/a.js></script>", PROSE, False),
        (f"<div id=root>{PROSE}</div><script src=/a.js></script>", "word " * 30, False),
        (f"<p>{'word ' * 20}</p>{SCRIPT}", "word " * 20, True),
        ("<p>A short page without scripts.</p>", "A short page without scripts.", False),
        (f"<p>{'word ' * 40}</p><script>go()</script>", "word " * 40, False),
        ("<noscript>Please enable JavaScript.</noscript><script>1</script>", "word " * 30, True),
        ("<noscript><img src=/pixel></noscript><script>1</script>", "word " * 30, False),
        ('<script type="application/ld+json">' + " " * 5_000 + "{}</script>", "word " * 10, False),
    ],
    ids=range(12),
)
def test_a_page_needs_a_browser_if_it_has_few_words_and_a_sign_of_more(markup: str, text: str, needs: bool) -> None:
    assert read_signs(parse(f"<html><body>{markup}</body></html>")).needs_browser(text) is needs


def next_page(state: object) -> bytes:
    data = json.dumps(state)
    return f"<body><div id=__next></div><script id=__NEXT_DATA__ type=application/json>{data}</script></body>".encode()


def test_the_state_of_next_is_read_instead_of_running_its_scripts() -> None:
    post = {"title": "The river", "body": f"<p>{PROSE}</p><p>An end &amp; more of it.</p>"}
    settings = {"className": "a b c d e f", "query": {"text": "these are five words only"}}
    state = {"props": {"pageProps": {"post": post, **settings}}, "buildId": "x" * 40}
    page = page_of(next_page(state))
    assert page["content"].startswith("The river\n\nThe river rises")
    assert "An end & more of it." in page["content"] and "five words" not in page["content"]
    assert not page["needs_browser"]


def test_flight_data_is_read_element_by_element() -> None:
    def element(tag: str, children: object) -> list[object]:
        return ["$", tag, None, {"className": "not this class", "children": children}]

    head = element("head", element("title", "not this one"))
    paragraph = element("p", [PROSE, element("b", "bold words"), " end"])
    body = element("main", [element("h1", "The great river"), paragraph])
    rows = "0:" + json.dumps(element("html", [head, body])) + '\n1:I["chunk",["a"],"default"]\n2:T5,hello'
    pieces = (json.dumps([1, rows[at : at + 100]]) for at in range(0, len(rows), 100))
    pushes = "".join(f"<script>self.__next_f.push({piece})</script>" for piece in pieces)
    text = EmbeddedState(parse(f"<html><body><script>self.__next_f=[]</script>{pushes}</body></html>")).text()
    assert text.startswith("The great river\n\nThe river rises") and text.endswith("bold words end")
    assert "not this" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    ["", "{", "[]", "5", '"x"', '{"a":' * 2_000, "[" + "[1]," * 60_000 + "1]", '{"t":"' + "<p " * 300_000 + '"}',
     '{"t":"' + "a {" * 200_000 + '"}'],
    ids=range(9),
)  # fmt: skip
def test_data_of_any_form_is_read_in_bounded_time(state: str) -> None:
    markup = f"<body><script id=__NEXT_DATA__>{state}</script><script>self.__next_f.push([1,{state}])</script></body>"
    assert isinstance(EmbeddedState(parse(markup)).text(), str)
