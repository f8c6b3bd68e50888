"""Words of code put into their cells, where reading and cells differ in number."""

from gateway.ocr.code.reading import as_code, is_wide, placed


def test_a_sign_that_was_not_read_leaves_its_cell_empty() -> None:
    assert "".join(cell or "." for cell in placed("shouldnt", [*"shouldn", "", "t"])) == "shouldn.t"


def test_a_first_letter_that_was_cut_off_is_left_to_its_shape_and_unknown_cells_take_what_was_read() -> None:
    assert placed("NAME", ["_", "N", "", "M", ""]) == ("", "N", "A", "M", "E")


def test_a_letter_read_twice_is_dropped() -> None:
    assert "".join(placed("valuee", list("value"))) == "value"


def test_a_reading_of_something_else_is_not_put_into_the_cells() -> None:
    assert placed("qwxyz", list("alphabet")) == ()
    assert placed("", list("alpha")) == ()


def test_signs_that_code_does_not_hold_are_what_they_look_like_in_one_cell() -> None:
    assert as_code("a =\u223c \u65e5") == "a =~ 0"
    assert is_wide("\u65e5") and not is_wide("0")
