"""The report on a page: confidences, low confidence, warnings, scripts."""

from dataclasses import replace

from gateway.geometry.boxes import Line, Rect, Uncertain
from gateway.ocr.server.report import PageReport


def line(text: str, fit: float) -> Line:
    return Line(Rect(0, 0, 10, 10), text=text, score=fit, fit=fit, is_read=True)


def report(*blocks: list[Line]) -> PageReport:
    made = PageReport(lambda _: (1, 2, 3, 4))
    for block in blocks:
        made.add(block)
    return made


def test_a_sure_page_has_no_warning() -> None:
    fields = report([line("The harbour office opens at nine", 0.99)]).fields(details=False)
    assert fields == {"low_confidence": False, "scripts": ["Latin"], "warnings": []}


def test_details_name_every_line_with_box_confidence_page_and_block() -> None:
    fields = report([line("one", 0.99)], [line("two", 0.5), line("", 0.1)]).fields(details=True)
    assert fields["lines"] == [
        {"text": "one", "box": [1, 2, 3, 4], "confidence": 0.99, "page": 1, "block": 1},
        {"text": "two", "box": [1, 2, 3, 4], "confidence": 0.5, "page": 1, "block": 2},
    ]


def test_many_letters_in_uncertain_lines_are_low_confidence() -> None:
    fields = report([line("sure enough", 0.99), line("gibber1sh", 0.5)]).fields(details=False)
    assert fields["low_confidence"] and "1 of 2 lines are uncertain" in fields["warnings"][0]


def test_letters_in_boxes_of_their_own_are_never_told_as_certain() -> None:
    fields = report([line("Town", 0.99), *[line(letter, 0.999) for letter in "K1EL"]]).fields(details=True)
    assert [each["confidence"] for each in fields["lines"]] == [0.99, 0.75, 0.75, 0.75, 0.75]
    assert fields["low_confidence"] and "4 of 5 lines are uncertain" in fields["warnings"][0]
    rows = report([line("Rows of the table", 0.99), line("7", 0.99), line("-", 0.99)])
    assert not rows.fields(details=False)["warnings"]


def test_places_that_could_not_be_read_are_told() -> None:
    fields = report([line("sure enough", 0.99), line("", 0.2)]).fields(details=False)
    assert fields["low_confidence"] and "1 places" in fields["warnings"][0]


def test_an_unreadable_script_is_named_once_with_its_warning() -> None:
    made = report([line("sure enough", 0.99)])
    for _ in range(2):
        made.name_unreadable("Thai", "text in Thai script cannot be read")
    fields = made.fields(details=False)
    assert fields["low_confidence"] and fields["scripts"] == ["Latin", "Thai"]
    assert fields["warnings"] == ["text in Thai script cannot be read"]


def test_lines_can_continue_the_block_before() -> None:
    made = report([line("one", 0.99)])
    made.add([line("two", 0.99)], continues=True)
    assert [each["block"] for each in made.fields(details=True)["lines"]] == [1, 1]


def test_words_that_may_be_read_otherwise_are_told_with_their_boxes_fifty_at_most() -> None:
    doubts = tuple(Uncertain("105", ("1O5",), Rect(0, 0, 5, 5)) for _ in range(60))
    fields = report([replace(line("105", 0.99), doubts=doubts)]).fields(details=False)
    assert fields["uncertain"] == [{"text": "105", "alternatives": ["1O5"], "box": [1, 2, 3, 4]}] * 50
