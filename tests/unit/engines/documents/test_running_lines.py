"""What a PDF repeats at the heads and feet of its pages comes once, and nothing else is lost."""

import pytest

from gateway.engines.documents.document_text import running_lines
from gateway.engines.documents.reader import read_document
from tests.support.office_files import pdf_file

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
    found = running_lines(pages(head, foot))
    assert found == [place for page in (1, 2, 3) for place in ((page, 0), (page, 4))]


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


def test_a_pdf_is_read_without_its_running_lines() -> None:
    body = "Harbour {} has a pier of its own."
    shown = [
        [(60, 800, 10, f"Handbook {n}"), (60, 700, 12, body.format(n * n)), (60, 40, 10, "Draft")] for n in range(1, 5)
    ]
    written = read_document("pdf", pdf_file(shown), plain=True).text
    assert written.count("Handbook") == written.count("Draft") == 1
    assert all(f"Harbour {n * n} has" in written for n in range(1, 5))
    chosen = read_document("pdf", pdf_file(shown[:2]), plain=True).text
    assert chosen.count("Handbook") == chosen.count("Draft") == 2
