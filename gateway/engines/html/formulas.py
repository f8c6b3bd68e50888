"""Writes the formulas of a document as TeX, each as the text of one `math` element.

A formula is MathML with or without its TeX source (an annotation or `alttext`: KaTeX, LaTeXML, MediaWiki), a picture
beside hidden MathML (MediaWiki), or a script of MathJax 2. A source is believed if the MathML shows its letters, else
nobody sees it. Runs in the parsing processes, before hidden elements are removed. Knows no Markdown.
"""

import re
import unicodedata
from collections import Counter
from typing import Any

from gateway.engines.html.dom import remove_all

_MAX_TEX_CHARS = 4_000
"""Longest source of a formula. Chosen: long derivations have 2,000. At half these lose their source, at double a page
made for it hides a text in one."""
_MAX_UNSEEN_LETTERS = 8
"""Letters of a source that the formula does not show. Chosen: names of fonts and spaces that are no commands. At half,
sources with such names are not believed; at double, a short sentence passes for one."""
_MAX_DEPTH = 40
"""Nesting of MathML that is written; deeper elements are their text. Chosen: fractions in roots nest ten deep. At half
nothing changes; double is near Python's limit of recursion where frames are many."""
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[^{}]{0,30}\}|\\[A-Za-z]+")
_STYLED = re.compile(r"\{?\\(?:display|text)style\s*(.*?)\}?", re.DOTALL)
_NOT_LETTERS = re.compile(r"[\W_]+")
_TWO = {"mfrac": r"\frac{{{0}}}{{{1}}}", "msup": "{0}^{{{1}}}", "msub": "{0}_{{{1}}}", "mroot": r"\sqrt[{1}]{{{0}}}",
        "mover": "{0}^{{{1}}}", "munder": "{0}_{{{1}}}"}  # fmt: skip
_THREE = frozenset({"msubsup", "munderover"})
_SILENT = frozenset({"annotation", "annotation-xml", "mspace", "mphantom", "none", "mprescripts"})


def write_formulas(root: Any) -> None:
    """Gives each formula of the document its source as its only text, in place."""
    inside: set[Any] = set()
    for formula in list(root.iter("math")):
        if formula not in inside:
            inside.update(formula.iter("math"))
            _write(formula)
    if inside:
        _drop_renderings(root)
    for script in [each for each in root.iter("script") if (each.get("type") or "").lower().startswith("math/tex")]:
        while (drawn := script.getprevious()) is not None and _is_drawn_by_script(drawn):
            remove_all([drawn])
        tex, is_block = (script.text or "").strip(), "display" in script.get("type")
        _become(script, tex[:_MAX_TEX_CHARS], is_block=is_block)


def _become(element: Any, tex: str, *, is_block: bool) -> None:
    element.clear(keep_tail=True)
    element.tag, element.text = "math", tex
    if is_block:
        element.set("display", "block")


def _write(formula: Any) -> None:
    shown = _linear(formula, 0).strip()
    sources = [note.text or "" for note in formula.iter("annotation") if "tex" in (note.get("encoding") or "").lower()]
    tex = next(filter(None, [*sources, formula.get("alttext") or ""]), "").strip()
    match = _STYLED.fullmatch(tex)
    own = match[1].strip() if match is not None else tex
    image = _picture_of(formula, tex)
    written = own if _is_shown(tex, shown) else shown
    _become(formula, written, is_block=formula.get("display") == "block")
    if image is not None:
        _become(image, written, is_block=False)


def _is_shown(tex: str, shown: str) -> bool:
    """Whether the formula shows the letters of its source, but for its commands."""
    if not tex or len(tex) > _MAX_TEX_CHARS:
        return False
    return (_letters(tex) - _letters(shown)).total() <= _MAX_UNSEEN_LETTERS


def _letters(text: str) -> Counter[str]:
    return Counter(_NOT_LETTERS.sub("", unicodedata.normalize("NFKC", _COMMAND.sub(" ", text))).lower())


def _picture_of(formula: Any, tex: str) -> Any:
    """The picture behind the box of a hidden formula, if it has the formula's source as its description."""
    box = formula.getparent()
    picture = None if box is None else box.getnext()
    return picture if picture is not None and picture.tag == "img" and tex and picture.get("alt") == tex else None


def _drop_renderings(root: Any) -> None:
    """Removes what repeats a formula for the eye, beside its MathML for readers of the screen."""
    drawn = [each for each in root.iter("span") if each.get("class") == "katex-html"]
    remove_all([each for each in drawn if _holds_formula(each.getprevious())])


def _holds_formula(element: Any) -> bool:
    return element is not None and next(element.iter("math"), None) is not None


def _is_drawn_by_script(element: Any) -> bool:
    return isinstance(element.tag, str) and (element.get("class") or "").startswith("MathJax")


def _linear(element: Any, depth: int) -> str:
    """MathML as TeX, its names as they are."""
    if not isinstance(element.tag, str) or element.tag in _SILENT:
        return ""
    if depth > _MAX_DEPTH:
        return " ".join("".join(element.itertext()).split())
    if not len(element):
        text = " ".join((element.text or "").split())
        return f" {text} " if element.tag == "mtext" else text
    parts = [_linear(child, depth + 1) for child in element]
    if element.tag in _TWO and len(parts) == 2:
        return _TWO[element.tag].format(*parts)
    if element.tag in _THREE and len(parts) == 3:
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if element.tag == "msqrt":
        return rf"\sqrt{{{''.join(parts)}}}"
    if element.tag == "mtable":
        return r" \\ ".join(parts)
    if element.tag == "mtr":
        return " & ".join(parts)
    return f"({','.join(parts)})" if element.tag == "mfenced" else "".join(parts)
