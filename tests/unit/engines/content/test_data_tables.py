"""Tables of data below a text."""

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.selection import data_tables, keep_tables
from gateway.engines.html.tree import parse

_LEAD = "<p>The prize was given in these years to these people.</p>"
_ROWS = "".join(f"<tr><td>19{at:02}</td><td>Person {at}</td></tr>" for at in range(1, 5))
_HEAD = "<tr><th>Year</th><th>Person</th></tr>"
_TABLE = f"<table>{_HEAD}{_ROWS}</table>"


def _kept(body: str, known: str = "") -> bool:
    """Whether the table's last cell is kept when the model keeps the sentence alone."""
    found = blocks.collect(parse(f"<body><article>{body}</article></body>").find("body"))
    keep = [block.element.tag == "p" and block.text.startswith("The prize") for block in found]
    keep_tables(found, keep, [block.text == known for block in found], data_tables(found))
    return any(is_kept and block.text == "Person 4" for block, is_kept in zip(found, keep, strict=True))


@pytest.mark.parametrize(
    ("body", "is_kept"),
    [
        (_LEAD + _TABLE, True),
        (f"{_LEAD}<h2>Laureates</h2><div class='scroll'><div>{_TABLE}</div></div>", True),
        (_LEAD + f"<table><caption>All of them</caption>{_HEAD}{_ROWS}</table>", True),
        (f"<table><tr><td>{_LEAD}{_TABLE}</td></tr></table>", True),
        (_TABLE, False),
        (_TABLE + _LEAD, False),
        (f"{_LEAD}<table role=presentation>{_ROWS}</table>", False),
        (f"{_LEAD}<table class='navbox'>{_HEAD}{_ROWS}</table>", False),
        (f"<section>{_LEAD}</section><section><h2>Dates</h2>{_TABLE}</section>", False),
        (f"{_LEAD}{'<div>Menu</div>' * 50}{_TABLE}", False),
    ],
)
def test_a_table_below_a_kept_sentence_is_kept(body: str, is_kept: bool) -> None:
    assert _kept(body) is is_kept


def test_a_table_with_a_part_that_is_known_to_be_no_content_stays_out() -> None:
    assert not _kept(_LEAD + _TABLE, known="Person 2")
