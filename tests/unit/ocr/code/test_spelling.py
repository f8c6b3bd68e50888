"""Signs of code as one cell holds them."""

from gateway.ocr.code.reading import as_code, is_wide


def test_signs_that_code_does_not_hold_are_what_they_look_like_in_one_cell() -> None:
    assert as_code("a =\u223c \u65e5") == "a =~ 0"
    assert is_wide("\u65e5") and not is_wide("0")
