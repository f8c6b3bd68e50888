"""Equations of Office documents (OMML) as TeX: `<m:f>` with z over n becomes `\\frac{z}{n}`.

Source: ECMA-376, part 1, 22.1 (Office Math), read 2026-11-28. Word and PowerPoint write equations alike.
"""

from collections.abc import Iterator
from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MAX_DEPTH = 40
_MAX_TEX_CHARS = 4_000
_OPERATORS = {"∑": r"\sum", "∏": r"\prod", "∐": r"\coprod", "∫": r"\int", "∬": r"\iint", "∮": r"\oint"}
_ACCENTS = {
    "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar", "\u0305": r"\overline", "\u0307": r"\dot",
    "\u0308": r"\ddot", "\u20d7": r"\vec", "¯": r"\bar", "→": r"\vec", "^": r"\hat", "~": r"\tilde",
}  # fmt: skip
_BRACES = {"{": r"\{", "}": r"\}", "": "."}


def tex_of(equation: Any) -> str:
    """The TeX of an `m:oMath` or of an element inside one."""
    return _content(equation, 0).strip()[:_MAX_TEX_CHARS]


def _content(element: Any, depth: int) -> str:
    if element is None:
        return ""
    if depth > _MAX_DEPTH:
        return "".join(element.itertext())
    return "".join(_written(child, depth + 1) for child in element if isinstance(child.tag, str))


def _written(element: Any, depth: int) -> str:
    if not element.tag.startswith(M):
        return ""
    name = element.tag[len(M) :]
    if name == "t":
        return element.text or ""
    if name.endswith("Pr"):
        return ""
    parts = {child.tag[len(M) :]: _content(child, depth) for child in element if str(child.tag).startswith(M)}
    base, upper, lower = parts.get("e", ""), parts.get("sup", ""), parts.get("sub", "")
    if name in ("sSup", "sSub", "sSubSup"):
        return _grouped(base) + _scripts(lower, upper)
    if name == "sPre":
        return "{}" + _scripts(lower, upper) + _grouped(base)
    if name == "nary":
        sign = _property(element, "chr", "∫")
        return f"{_OPERATORS.get(sign, sign)}{_scripts(lower, upper)} {base}"
    if name in ("limLow", "limUpp"):
        return f"{base}{'_' if name == 'limLow' else '^'}{{{parts.get('lim', '')}}}"
    if name == "f":
        return _fraction(element, parts)
    if name == "rad":
        degree = parts.get("deg", "").strip()
        return (rf"\sqrt[{degree}]" if degree else r"\sqrt") + f"{{{base}}}"
    if name == "func":
        function = parts.get("fName", "").strip()
        return f"{function} {base}"
    if name in ("acc", "bar", "groupChr"):
        return _marked(element, name, base)
    if name == "d":
        return _delimited(element, depth)
    if name in ("m", "eqArr"):
        rows = [" & ".join(_content(each, depth) for each in _inside(row, "e")) for row in _inside(element, "mr")]
        rows = rows or [_content(each, depth) for each in _inside(element, "e")]
        kind = "matrix" if name == "m" else "aligned"
        lines = r" \\ ".join(rows)
        return rf"\begin{{{kind}}}{lines}\end{{{kind}}}"
    return _content(element, depth)


def _inside(element: Any, name: str) -> Iterator[Any]:
    yield from element.iterchildren(f"{M}{name}")


def _fraction(element: Any, parts: dict[str, str]) -> str:
    top, bottom = parts.get("num", ""), parts.get("den", "")
    if _property(element, "type", "bar") in ("lin", "skw"):
        return f"{_grouped(top)}/{_grouped(bottom)}"
    return rf"\frac{{{top}}}{{{bottom}}}"


def _marked(element: Any, name: str, base: str) -> str:
    """An expression with a mark above or below it: an accent, a bar, a brace."""
    if name == "acc":
        sign = _property(element, "chr", "\u0302")
        mark = _ACCENTS.get(sign, r"\hat")
        return f"{mark}{{{base}}}"
    is_above = _property(element, "pos", "bot") == "top"
    kind = "line" if name == "bar" else "brace"
    return rf"\{'over' if is_above else 'under'}{kind}{{{base}}}"


def _delimited(element: Any, depth: int) -> str:
    left, right = _property(element, "begChr", "("), _property(element, "endChr", ")")
    between = _property(element, "sepChr", "|")
    inner = between.join(_content(each, depth) for each in _inside(element, "e"))
    if left in "([|" and right in ")]|" and left and right and not inner.startswith((r"\frac", r"\begin")):
        return f"{left}{inner}{right}"
    return rf"\left{_BRACES.get(left, left)}{inner}\right{_BRACES.get(right, right)}"


def _property(element: Any, name: str, otherwise: str) -> str:
    """A property of an element, such as the sign of a sum; `otherwise` where it is not stated."""
    found = next((each for each in element.iterfind(f"./*/{M}{name}") if each.getparent().tag.endswith("Pr")), None)
    return otherwise if found is None else str(found.get(f"{M}val", ""))


def _grouped(tex: str) -> str:
    return tex if len(tex) <= 1 else f"{{{tex}}}"


def _scripts(lower: str, upper: str) -> str:
    return (f"_{{{lower}}}" if lower else "") + (f"^{{{upper}}}" if upper else "")
