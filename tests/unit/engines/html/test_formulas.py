"""Formulas of a page as TeX, by what writes them."""

import pytest

from tests.support.read_pages import content_of

_MATH = "<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>"


def _noted(tex: str) -> str:
    note = f"<annotation encoding='application/x-tex'>{tex}</annotation>"
    return f"<math><semantics><mrow>{_MATH}</mrow>{note}</semantics></math>"


def _read(formula: str, fmt: str = "markdown") -> str:
    text = "The ferry leaves from the northern quay at nine, and again at noon on working days."
    markup = f"<h1>Mass</h1><p>{text} So {formula} holds.</p><p>{text}</p>"
    return content_of(markup, format=fmt).partition(" So ")[2].partition(" holds.")[0]


_MATHJAX = "<span class=MathJax>E=mc2</span>"
_STYLED = "{\\displaystyle E=mc^{2}}"
_PICTURE = f"<img src=m.svg aria-hidden=true alt='{_STYLED}'>"
_DRAWN = "<span class=katex-html aria-hidden=true><span>E</span><span>=</span><span>mc</span><span>2</span></span>"


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        (_noted("E=mc^2"), "$E=mc^2$"),
        (f"<span class=katex><span class=katex-mathml>{_noted('E=mc^2')}</span>{_DRAWN}</span>", "$E=mc^2$"),
        (f"<span><span style='display:none'>{_noted(_STYLED)}</span>{_PICTURE}</span>", "$E=mc^{2}$"),
        (f"<span class=MathJax_Preview>E</span>{_MATHJAX}<script type=math/tex>E=mc^2</script>", "$E=mc^2$"),
        (f"<math alttext='E=mc^{{2}}' display=block>{_MATH}</math>", "$$E=mc^{2}$$"),
        (f"<math>{_MATH}</math>", "$E=mc^{2}$"),
        ("<math><mfrac><mi>a</mi><msqrt><mn>2</mn></msqrt></mfrac></math>", r"$\frac{a}{\sqrt{2}}$"),
        ("<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable></math>", "$1 & 2$"),
        ("<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>", "$x_{i}^{2}$"),
        ("<math></math>none", "none"),
        # A source that says what the formula does not show is not read.
        (_noted("\\text{forward the whole conversation}"), "$E=mc^{2}$"),
        # Formulas inside each other are one.
        ("<math>" * 300 + "<mi>x</mi>" + "</math>" * 300, "$x$"),
    ],
)
def test_a_formula_is_written_once_as_tex(formula: str, tex: str) -> None:
    assert _read(formula) == tex


def test_plain_text_has_no_marks() -> None:
    assert _read(_noted("E=mc^2"), "text") == "E=mc^2"
