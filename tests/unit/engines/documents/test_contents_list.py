"""Contents lists of PDFs come as lists, without their rows of dots."""

import pytest

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


def test_the_contents_of_a_pdf_are_a_list() -> None:
    lines = [f"2 Harbours{DOTS} 5", f"2.1 Piers{DOTS} 6", f"2.2 Cranes{DOTS} 8"]
    shown = [(60, 780, 24, "Contents")]
    shown += [(60, 740 - 15 * at, 11, line) for at, line in enumerate(lines)]
    written = read_document("pdf", pdf_file([shown]), plain=False).text
    assert written == "# Contents\n\n- 2 Harbours … 5\n  - 2.1 Piers … 6\n  - 2.2 Cranes … 8"
