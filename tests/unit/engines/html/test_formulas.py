"""Formulas as plain text and inside each other; how they are written as TeX is in `oddities.txt`."""

from tests.support.read_pages import content_of

_NOTED = "<math><semantics><mi>E</mi><annotation encoding='application/x-tex'>{}</annotation></semantics></math>"


def test_in_plain_text_a_formula_has_no_marks() -> None:
    assert content_of(f"<p>So {_NOTED.format('E')} holds.</p>", format="text") == "So E holds."


def test_formulas_inside_each_other_are_one() -> None:
    nested = "<math>" * 300 + "<mi>x</mi>" + "</math>" * 300
    assert content_of(f"<p>So {nested} holds.</p>") == "So $x$ holds."
