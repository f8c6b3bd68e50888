"""Fields of records, and texts that stand on a page several times."""

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.repeats import (
    complete_records,
    drop_copies,
    drop_said_twice,
    groups_of,
    judged_alike,
    records_of,
)
from gateway.engines.html.tree import parse


def _blocks(body: str) -> list[blocks.TextBlock]:
    return blocks.collect(parse(f"<body>{body}</body>").find("body"))


_CARDS = "".join(
    f"<li class='card'><h3 class='name'>Lamp {at}</h3><p class='price'>{at} crowns</p><button>Buy</button></li>"
    for at in range(4)
)


def test_names_at_the_same_place_of_cards_are_judged_alike() -> None:
    found = _blocks(f"<p>One more lamp.</p><ul>{_CARDS}</ul>")
    judged = judged_alike(found, [0.9, *[0.9, 0.5, 0.5] * 2, *[0.1, 0.5, 0.5] * 2])
    assert judged[0] == 0.9, "a block without others at its place keeps its probability"
    assert judged[1] == judged[4] == pytest.approx(0.75)
    assert judged[7] == judged[10] == pytest.approx(0.25)


def test_probabilities_of_zero_and_one_are_judged_too() -> None:
    found = _blocks("<p>a b</p><p>c d</p><p>e f</p>")
    assert judged_alike(found, [0.0, 1.0, 0.5]) == pytest.approx([0.0099, 0.9901, 0.5], abs=1e-3)


def _kept(found: list[blocks.TextBlock], keep: list[bool]) -> list[str]:
    return [block.text for block, is_kept in zip(found, keep, strict=True) if is_kept]


_LONG = "".join(f"<div class='c'><p>Lamp {at}</p><div>{'word ' * 20}</div></div>" for at in range(3))
_PRICES = ["1 crowns", "2 crowns", "3 crowns"]


@pytest.mark.parametrize(
    ("markup", "kept", "candidates", "completed"),
    [
        # The name of a card comes with its price.
        (_CARDS, _PRICES, True, ["Lamp 1", "1 crowns", "Lamp 2", "2 crowns", "Lamp 3", "3 crowns"]),
        # Only candidates complete a card.
        (_CARDS, ["2 crowns"], False, ["2 crowns"]),
        # A little kept text of a long card does not bring the rest.
        (_LONG, ["Lamp 1"], True, ["Lamp 1"]),
    ],
)
def test_candidates_complete_a_card(markup: str, kept: list[str], candidates: bool, completed: list[str]) -> None:
    found = _blocks(f"<ul>{markup}</ul><p>Lamps of the valley</p>")
    keep = [block.text in kept for block in found]
    complete_records(found, keep, [candidates and block.text != "Buy" for block in found], records_of(found))
    assert _kept(found, keep) == completed


_SYSTEM = "<ul class='needs'><li>System: {} of this year</li><li>Memory: four gigabytes</li></ul>"
_MEMORY = "<p>Memory: four gigabytes</p>"


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        # Rows that two records share stay in both.
        (f"<div>{_SYSTEM.format('A')}{_SYSTEM.format('B')}</div>", [True] * 4),
        # A text in a box of another shape is a second rendering.
        (
            f"<div class='a'>{_MEMORY}<p>More in the wide one</p></div><div class='b'>{_MEMORY}</div>",
            [True, True, False],
        ),
        # A whole box twice is kept once.
        ("<div class='text'><p>The river had risen in the night.</p></div>" * 2, [True, False]),
    ],
)
def test_copies_are_dropped_and_rows_of_records_stay(markup: str, kept: list[bool]) -> None:
    found = _blocks(markup)
    keep = [True] * len(found)
    drop_copies(found, keep)
    assert keep == kept


def test_a_list_and_the_lists_inside_its_items_are_one_group() -> None:
    inner = "<ul><li>one</li><li>two<ol><li>three</li></ol></li></ul>"
    found = _blocks(f"<ul><li>first {inner}</li><li>second</li></ul><ul><li>other</li></ul>")
    groups = [[found[at].text for at in members] for members in groups_of(found, [None] * len(found)).values()]
    assert groups == [["first", "one", "two", "three", "second"], ["other"]]


def test_a_card_says_its_name_and_price_once() -> None:
    card = (
        "<li class=card><h3>Mug {0}</h3><div><h3>Mug {0}</h3><p>Regular price$3{0}.00 USD</p>"
        "<p>Regular priceSale price$3{0}.00 USD</p><b><i><p>2</p><p>2</p></i></b></div></li>"
    )
    found = _blocks(f"<ul>{''.join(card.format(at) for at in range(3))}</ul>")
    keep = [True] * len(found)
    drop_said_twice(found, keep, records_of(found))
    assert _kept(found, keep)[:4] == ["Mug 0", "Regular price$30.00 USD", "2", "2"]
    assert len(_kept(found, keep)) == 12, "equal numbers may be two facts"


def test_a_lower_price_behind_the_old_one_stays() -> None:
    found = _blocks("<ul>" + "<li><p>$29.00</p><p>$29.00 $24.00</p><p>Mug, was $29.00</p></li>" * 3 + "</ul>")
    keep = [True] * len(found)
    drop_said_twice(found, keep, records_of(found))
    assert _kept(found, keep)[:3] == ["$29.00", "$29.00 $24.00", "Mug, was $29.00"]


def test_cards_whose_classes_differ_in_number_and_place_are_records() -> None:
    cards = (f"<li class='post-{at} {'last' * (at == 2)}'><h2>Bowl</h2><p>$9</p></li>" for at in range(3))
    assert records_of(_blocks("".join(cards))) == [[0, 1], [2, 3], [4, 5]]
