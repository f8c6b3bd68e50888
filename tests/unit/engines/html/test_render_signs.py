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


def test_a_page_whose_state_holds_its_text_needs_no_browser() -> None:
    state = json.dumps({"props": {"pageProps": {"text": PROSE}}})
    script = f"<script id=__NEXT_DATA__ type=application/json>{state}</script>"
    assert not page_of(f"<body><div id=__next></div>{script}</body>")["needs_browser"]


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


@pytest.mark.parametrize(("count", "needs"), [(1, True), (9, False)], ids=["a short text", "a long text"])
def test_a_page_whose_text_for_browsers_without_scripts_is_long_needs_none(count: int, needs: bool) -> None:
    text = "".join(
        f"<p>The ferry number {at} sails from the pier to the island and back again.</p>" for at in range(count)
    )
    page = page_of(f"<title>Ferry</title><div id=root></div><script src=/a.js></script><noscript>{text}</noscript>")
    assert f"number {count - 1}" in page["content"] and page["needs_browser"] is needs
