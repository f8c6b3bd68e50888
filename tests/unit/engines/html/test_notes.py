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
    "note",
    [
        "<span class=inline-note title='By the log.'>1<span style='display:none'>By the log.</span></span>",
        "<sup>1</sup><span hidden>By the log.</span>",
        "<label for=s1>1</label><input type=checkbox id=s1><span class=sidenote>By the log.</span>",
        "<sup title='By the log.'>1</sup>",
        "<button popovertarget=p1>1</button><span popover id=p1>By the log.</span>",
        "<a href='#'>1</a><span role=tooltip>By the log.</span>",
    ],
)
def test_a_note_beside_its_number_stands_below_the_paragraph(note: str) -> None:
    text = _read(f"<main>{_TEXT.format(note, '')}</main>")
    assert "calm[^1] and the wind is low.\n\n[^1]: By the log.\n\nTickets" in text


def test_what_stands_between_two_notes_belongs_to_the_first() -> None:
    notes = "<h4>Notes</h4><p>1 By the log.</p><ul><li>May</li><li>June</li></ul><p>2 Against one vote.</p>"
    text = _read(f"<main>{_TEXT.format('<sup>1</sup>', '<sup>2</sup>')}</main><div>{notes}</div>")
    assert re.search(r"\[\^1\]: By the log\.\n\n- May\n- June\n\n\[\^2\]: Against", text)


def test_numbers_without_notes_are_parted_from_their_words_and_powers_are_not() -> None:
    text = _read(f"<main>{_TEXT.format('<sup>1</sup>', '<sup>2</sup>')}</main>")
    assert "calm[1] and" in text and "mate[2], who" in text
    assert "12 km2 of" in _read("<p>The lake has 12 km<sup>2</sup> of water and 10<sup>3</sup> boats on it.</p>")


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
