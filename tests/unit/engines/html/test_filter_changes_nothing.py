"""Random pages lose the same texts whether rules that can hide nothing are left out or read like all others."""

import random
import string

import pytest

from gateway.engines.html import rule_filter
from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden

_TAGS = ("div", "p", "span", "section")
_NAMES = ("a", "b", "c", "d")
_DECLARATIONS = (
    "display:none", "display:block", "display:var(--x)", "--x:none", "--x:block", "visibility:hidden",
    "visibility:visible", "position:absolute", "position:static", "left:-9999px", "left:0", "overflow:hidden",
    "overflow:visible", "height:0", "max-height:1px", "max-height:9px", "height:auto", "font-size:0", "font-size:9px",
    "font:var(--f)", "--f:0/0 a", "font:12px/1 a", "color:#fff", "color:#333", "background:#fff", "background:#000",
    "background-color:var(--g)", "--g:#fff", "opacity:0", "opacity:1", "text-indent:-999em", "text-indent:0",
    "clip:rect(0,0,0,0)", "transform:scale(0)", "transform:none", "margin:-9999px", "inset:0 0 0 -9999px", "zoom:1",
    "width:var(--w,0)", "color:transparent", "clip-path:inset(50%)", "border:0", "line-height:0", "color:inherit",
)  # fmt: skip


class _Everything(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


def _step(source: random.Random) -> str:
    name = source.choice(_NAMES)
    forms = (f".{name}", f"#{name}", source.choice(_TAGS), "*", f"[data-{name}]", f":not(.{name})", f":is(.{name},p)")
    step = source.choice(forms)
    return step + source.choice(("", "", "", f".{source.choice(_NAMES)}", ":first-child", ":hover", f":has(.{name})"))


def _selector(source: random.Random) -> str:
    text = _step(source)
    for _ in range(source.randint(0, 2)):
        text += source.choice((" ", ">", "+", "~")) + _step(source)
    return text


def _rule(source: random.Random) -> str:
    selectors = ",".join(_selector(source) for _ in range(source.randint(1, 2)))
    body = ";".join(
        source.choice(_DECLARATIONS) + source.choice(("", "", "", "!important")) for _ in range(source.randint(1, 3))
    )
    rule = f"{selectors}{{{body}}}"
    return source.choice((rule, rule, f"@media screen{{{rule}}}", f"@layer x{{{rule}}}", f"@media print{{{rule}}}"))


def _element(source: random.Random, depth: int) -> str:
    tag = source.choice(_TAGS)
    marks = f' class="{" ".join(source.sample(_NAMES, source.randint(0, 2)))}"'
    if source.random() < 0.3:
        marks += f" id={source.choice(_NAMES)}"
    if source.random() < 0.2:
        marks += f" data-{source.choice(_NAMES)}"
    if source.random() < 0.2:
        marks += f' style="{source.choice(_DECLARATIONS)}"'
    inside = "".join(source.choices(string.ascii_lowercase, k=8)) + " "
    if depth:
        inside += "".join(_element(source, depth - 1) for _ in range(source.randint(0, 3)))
    return f"<{tag}{marks}>{inside}</{tag}>"


def _seen(page: str) -> str:
    root = parse(page)
    drop_hidden(root)
    return text_of(root.find("body"))


@pytest.mark.parametrize("seed", range(8))
def test_the_filter_of_rules_changes_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    source = random.Random(seed)
    plain = "<div>" + "words that stay in any case and make up most of the page " * 40 + "</div>"
    pages = []
    for _ in range(60):
        sheet = "".join(_rule(source) for _ in range(source.randint(1, 8)))
        doctype = source.choice(("<!DOCTYPE html>", ""))
        pages.append(f"{doctype}<style>{sheet}</style>{plain}" + "".join(_element(source, 3) for _ in range(3)))
    filtered = [_seen(page) for page in pages]
    monkeypatch.setattr(rule_filter.Present, "may_match", lambda self, selectors: True)
    monkeypatch.setattr(rule_filter, "decisive", lambda stated: _Everything())
    for page, seen in zip(pages, filtered, strict=True):
        assert _seen(page) == seen, page
    assert len({len(seen) for seen in filtered}) > 10  # some hide, and not the same
