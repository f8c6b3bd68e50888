"""Footnotes are read with the text that leads to them, wherever and however a page writes them."""

import re

import pytest

from bench.growth import grows
from gateway.engines.html.notes import link_notes
from gateway.engines.html.tree import parse
from tests.support.read_pages import content_of

_TEXT = (
    "<p>The ferry to the islands leaves from the old quay and takes forty minutes when the sea is calm{} and the wind "
    "is low.</p><p>Tickets are sold on board by the mate{}, who takes coins and cards, and children travel without."
    "</p><p>Bicycles stand on the rear deck, tied with ropes that the crew hands out at the quay.</p>"
)


def _read(markup: str) -> str:
    return content_of(f"<html><body><h1>The ferry</h1>{markup}</body></html>", "http://quay.test/ferry")


@pytest.mark.parametrize(
    "mark", ["<sup>{0}</sup>", "<sup><a href='#n{0}'>{0}</a></sup>", "<a href='#n{0}'><sup>[{0}]</sup></a>"]
)
@pytest.mark.parametrize(
    "notes",
    [
        "<ol><li id=n1>By the log.</li><li id=n2>Against one vote.</li></ol>",
        "<p id=n1>1. By the log.</p><p id=n2>2. Against one vote.</p>",
        "<p id=n1><sup>1</sup> By the log.</p><p id=n2><sup>2</sup> Against one vote.</p>",
        "<div><div id=n1>[1] By the log.</div><div id=n2>[2] Against one vote.</div></div>",
        "<dl><dt>1</dt><dd id=n1>By the log.</dd><dt>2</dt><dd id=n2>Against one vote.</dd></dl>",
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        "<main>{0}<section class=footnotes><h2>Notes</h2>{1}</section></main>",
        "<main><article>{0}</article></main><div class='page-notes'><h4>Footnotes</h4>{1}</div>",
        "<main>{0}</main><aside>{1}</aside>",
        "<article>{0}<footer>{1}</footer></article><footer>All rights reserved.</footer>",
    ],
)
def test_a_note_is_read_wherever_it_stands(place: str, notes: str, mark: str) -> None:
    text = _read(place.format(_TEXT.format(mark.format(1), mark.format(2)), notes))
    assert "calm[^1] and" in text and "mate[^2], who" in text
    assert re.search(r"(?m)^\[\^1\]: By the log\.$", text)
    assert re.search(r"(?m)^\[\^2\]: Against one vote\.$", text)


@pytest.mark.parametrize(
    "repeated",
    [
        "<p>a<sup>1</sup></p><p>1 b</p>",
        "<div><span>1</span>",
        "<p>1 a<br>2 b</p>",
        "<sup>1</sup><span class=note>a b</span>",
    ],
)
def test_notes_are_found_in_linear_time(repeated: str) -> None:
    assert grows(link_notes, lambda count: parse(f"<body><sup>1</sup>{repeated * count}"), (200, 400, 800)) is None
