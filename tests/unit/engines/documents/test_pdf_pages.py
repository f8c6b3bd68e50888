"""What a PDF has beside its text: contents lists, lines that each page repeats, letters nobody sees, many pages."""

import pytest

from gateway.engines.documents.document_text import running_lines
from gateway.engines.documents.pdf import entries, without_leaders
from gateway.engines.documents.reader import read_document
from tests.support.office_files import pdf_file

DOTS = " ." * 30


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (f"1 Ropes{DOTS} 3", [(0, "-", "1 Ropes … 3")]),
        (f"1.2.1 Knots{'.' * 40} 17", [(2, "-", "1.2.1 Knots … 17")]),
        (f"Preface{DOTS} xii", [(0, "-", "Preface … xii")]),
        (f"A.1 Tides{'·' * 20}9 A.2 Moon{DOTS} 11", [(1, "-", "A.1 Tides … 9"), (1, "-", "A.2 Moon … 11")]),
        (f"4 A title of two\nlines{DOTS} 40", [(0, "-", "4 A title of two lines … 40")]),
        ("He waited ...... and left on page 7", None),
        (f"Copy paper{DOTS} 4.20", None),
        (f"{DOTS} 12", None),
        (f"Name:{DOTS}", None),
        (f"1 Ropes{DOTS} 3 and more text", None),
    ],
)
def test_only_titles_with_page_numbers_are_entries(text: str, items: list[tuple[int, str, str]] | None) -> None:
    assert entries(text) == items


def test_rows_of_dots_elsewhere_are_one_sign() -> None:
    assert without_leaders(f"Name:{DOTS} Date:{DOTS}") == "Name: … Date: … "
    assert without_leaders("and so on ... 3 ...... 4") == "and so on ... 3 ...... 4"


BODY = ["The tide rises.", "Then it falls.", "Ships wait for it."]


def pages(head: str, foot: str, count: int = 4) -> list[list[str]]:
    """`#` stands for the number of a page."""
    return [
        [part.replace("#", str(number)) for part in (head, *(f"{line} {number * 7}" for line in BODY), foot)]
        for number in range(11, 11 + count)
    ]


@pytest.mark.parametrize(
    ("head", "foot"),
    [("A pilot's handbook", "Page #"), ("# Harbours", "#"), ("Part 2, harbours #", "July 1999, no. 4")],
)
def test_a_line_at_the_same_end_of_each_page_comes_once(head: str, foot: str) -> None:
    assert running_lines(pages(head, foot)) == [place for page in (1, 2, 3) for place in ((page, 0), (page, 4))]


def test_left_and_right_pages_may_have_lines_of_their_own() -> None:
    one, other = pages("# Handbook", "by A. Pilot", 8), pages("Harbours #", "First edition", 8)
    mixed = [(one if page % 2 else other)[page] for page in range(8)]
    assert running_lines(mixed) == [place for page in range(2, 8) for place in ((page, 0), (page, 4))]


@pytest.mark.parametrize(
    "shown",
    [
        [["Exercise 3", *BODY], ["Exercise 7", *BODY[::-1]], ["Exercise 8", "Read."]],  # counts something else
        [["Ropes", "a", "b", "c"], ["d", "e", "f", "Ropes"], ["g", "Ropes", "h", "i", "j"]],  # not at one end
        [["Notes", "a", "b", "c"], ["Notes", "d", "e", "f"]],  # on two pages
        [["a\nb", str(n) * 3, f"{n}x", "a\nb"] for n in range(5)],
        [[f"# Step {n}", f"{'a' * n}", f"{'b' * n}"] for n in range(1, 6)],  # the titles of slides
        [[], [], []],
    ],
)
def test_other_lines_stay(shown: list[list[str]]) -> None:
    assert running_lines(shown) == []


HONEST = "The crane of the harbour is under repair until the end of the month, says its office."


def test_a_long_pdf_ends_with_its_time_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.engines.documents.pdf.READ_S", -1.0)
    found = read_document("pdf", pdf_file([[(60, 780, 12, HONEST)]] * 5), plain=True)
    assert found.unread == (2, 5) and HONEST.split()[1] in found.text
