"""What opens inside a box that is opened itself: drawings are read, menus are not."""

from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden

_TEXT = "The statement removes rows from a table, and what it removes is told by the clauses below. " * 4


def _opened(number: int, inside: str) -> str:
    button = f'<p>part {number}: <button onclick="show({number})">show</button></p>'
    return f'{button}<div style="display:none">{inside}</div>'


def _drawing(label: str) -> str:
    return f"<div><svg><text>{label}</text></svg></div>"


def _read(body: str) -> str:
    root = parse(f"<!DOCTYPE html><title>Syntax</title><h1>Syntax</h1><p>{_TEXT}</p>{body}")
    drop_hidden(root)
    return text_of(root.find("body"))


def test_diagrams_inside_an_opened_diagram_are_read() -> None:
    inner = _drawing("WHERE") + _opened(3, _drawing("COLLATE"))
    found = _read(_opened(1, _drawing("DELETE FROM") + _opened(2, inner)))
    assert all(word in found for word in ("DELETE FROM", "WHERE", "COLLATE"))


def test_other_boxes_inside_an_opened_box_stay_hidden() -> None:
    assert "secret menu" not in _read(_opened(1, _opened(2, "<ul><li>secret menu</li></ul>")))


def test_a_drawing_inside_a_box_that_nothing_opens_stays_hidden() -> None:
    hidden = f'<div style="display:none">{_opened(2, _drawing("SECRET"))}</div>'
    assert "SECRET" not in _read(f"<hr>{hidden}")
