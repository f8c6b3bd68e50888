"""Texts that a page shows when its reader points, ticks or scrolls, or when an animation has run."""

import pytest

from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden

ANSWER = "The answer stands in the second part."
_TEXT = "<p>The ferry leaves from the northern quay at nine, and again at noon on all working days of the week.</p>" * 3


def shows(css: str, body: str, head: str = "") -> bool:
    root = parse(f"<!doctype html><html><head>{head}<style>{css}</style></head><body>{_TEXT}{body}</body></html>")
    drop_hidden(root)
    return ANSWER in text_of(root)


_MENU = f'<div class="m"><a href="/x">Menu</a><div class="t"><p>{ANSWER}</p></div></div>'
_TABS = f'<input type="radio" id="a" checked><input type="RADIO" id="b"><div class="t"><p>{ANSWER}</p></div>'


@pytest.mark.parametrize(
    ("css", "body"),
    [
        (".t{display:none}.m:hover .t{display:block}", _MENU),
        (".t{visibility:hidden;opacity:0}.m:focus-within>.t{visibility:visible;opacity:1}", _MENU),
        (".m .t{transform:scale(0)}.m:is(:hover,:focus-within) .t{transform:none}", _MENU),
        (".t{display:none}@media (hover:hover){:hover>.t{display:block}}", _MENU),
        (".t{display:none}#b:checked~.t{display:block}", _TABS),
        (".t{max-height:0;overflow:hidden}#a:not(:checked)~.t{max-height:50em}", _TABS),
        (".t{opacity:0;animation:in 1s forwards}@keyframes in{from{opacity:0}to{opacity:1}}", _MENU),
        (".t{opacity:0;animation:1s both in}@-webkit-keyframes in{0%{opacity:0}50%,100%{opacity:1}}", _MENU),
        ("[class=t]{opacity:0}[class=t].seen{opacity:1}", _MENU),
        (".m .t{opacity:0;transform:translateY(9px)}.m .t.seen{opacity:1;transform:none}", _MENU),
    ],
)
def test_what_the_reader_or_the_page_shows_later_is_kept(css: str, body: str) -> None:
    assert shows(css, body)


@pytest.mark.parametrize(
    ("css", "body"),
    [
        (".t{display:none}.m:hover .t{color:red}", _MENU),
        (".t{display:none}.nothing:hover .t{display:block}", _MENU),
        (".t{visibility:hidden;opacity:0}.m:hover .t{opacity:1}", _MENU),
        (".t{opacity:0}.t:hover{opacity:1}", _MENU),
        (".t{position:absolute;left:-9999px}.m:focus-within .t{left:0}", _MENU),
        (".t{display:none}@media print{.m:hover .t{display:block}}", _MENU),
        (".t{display:none}.m:checked~.t,.m:checked .t{display:block}", _MENU),
        (".t{opacity:0;animation:in 1s}@keyframes in{to{opacity:1}}", _MENU),
        (".t{opacity:0;animation:in 1s forwards}@keyframes in{to{opacity:0}}", _MENU),
        (".t{opacity:0;animation:other 1s forwards}@keyframes in{to{opacity:1}}", _MENU),
        (".t{opacity:0}.seen{opacity:1}", _MENU),
        (".t{display:none}.m .t.seen{display:block;opacity:1}", _MENU),
    ],
)
def test_what_nothing_shows_is_left_out(css: str, body: str) -> None:
    assert not shows(css, body)


@pytest.mark.parametrize(
    ("css", "tag"),
    [
        (".t{display:flex}", 'div class="t" hidden'),
        ("dialog{display:block}", "dialog"),
        ("", 'p hidden style="display:block"'),
    ],
)
def test_a_style_of_the_page_shows_what_the_browsers_own_sheet_hides(css: str, tag: str) -> None:
    assert shows(css, f"<{tag}>{ANSWER}</{tag.split(maxsplit=1)[0]}>")
    assert not shows(css + "[hidden],dialog{display:none!important}", f"<{tag}>{ANSWER}</{tag.split(maxsplit=1)[0]}>")


@pytest.mark.parametrize("attribute", ['aria-hidden="true"', "inert"])
def test_a_style_does_not_show_what_other_attributes_hide(attribute: str) -> None:
    assert not shows(".t{display:flex}", f'<div class="t" {attribute}>{ANSWER}</div>')


def test_a_cloak_that_a_framework_takes_off_hides_nothing() -> None:
    assert shows("[v-cloak]{display:none}", f'<div id="app" v-cloak><p>{ANSWER}</p></div>')
    assert not shows("[v-cloak]{display:none}", f'<div v-cloak style="display:none"><p>{ANSWER}</p></div>')


_WHITE = f'<div><p style="color:#fff">{ANSWER}</p></div>'


def test_white_text_on_a_page_that_states_no_ground_is_left_out() -> None:
    assert not shows("", _WHITE)
    assert not shows("", f'<p><font color="white">{ANSWER}</font></p>')


@pytest.mark.parametrize(
    ("css", "body", "head"),
    [
        ("", _WHITE, '<link rel="stylesheet" href="/a.css">'),
        ("@import 'a.css';", _WHITE, ""),
        (":root{color-scheme:dark}", _WHITE, ""),
        ("", _WHITE, '<meta name="color-scheme" content="dark light">'),
        ("", _WHITE.replace("<div>", '<div class="hero">'), "<script>paint()</script>"),
        ("", f'<table background="night.gif"><tr><td>{_WHITE}</table>', ""),
        (".h::before{content:'';position:absolute;inset:0;background:#000}", f'<div class="h">{_WHITE}</div>', ""),
        ("body{color:#fff}", f"<p>{ANSWER}</p>", ""),
    ],
)
def test_white_text_is_kept_where_its_ground_may_be_another(css: str, body: str, head: str) -> None:
    assert shows(css, body, head)
