"""Rules that can hide nothing are left out before selectors are read; what is hidden stays the same."""

import pytest

from gateway.engines.html.css import declared
from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.marked_elements import MarkedElements
from gateway.engines.html.rule_filter import Present, decisive

_TEXT = "The page says a good deal that everybody may read, at some length and in plain words. " * 3


def _decisive(*bodies: str) -> frozenset[str]:
    return decisive(declared(body) for body in bodies)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("width:200px;overflow:hidden", "width"),
        ("left:-20px;position:absolute", "left"),
        ("font-size:14px", "font-size"),
        ("opacity:.9", "opacity"),
        ("color:#333", "color"),
        ("margin-bottom:var(--gap)", "margin-bottom"),
        ("--unused:none", "--unused"),
        ("width:var(--w);--w:100px", "width"),
    ],
)
def test_what_hides_nothing_on_a_page_is_not_decisive(body: str, name: str) -> None:
    assert name not in _decisive(body, "background-color:#fff")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("display:none", {"display"}),
        ("left:-9999px", {"left", "position"}),
        ("max-height:0", {"max-height", "overflow", "overflow-x", "overflow-y"}),
        ("color:#fefefe;background-color:white", {"color", "background-color"}),
        ("height:var(--h);--h:var(--none);--none:0", {"height", "--h", "--none", "overflow"}),
        ("inset:var(--away);--away:0 0 0 -9999px", {"inset", "left", "position", "--away"}),
        ("font:var(--f);--f:0/0 a", {"font", "font-size"}),
        ("opacity:var(--o, 0)", {"opacity"}),
        ("opacity:calc(var(--a) * 0)", {"opacity"}),
        ("transform:scale(var(--s))", {"transform", "--s"}),
    ],
)
def test_what_may_hide_comes_with_all_that_it_depends_on(body: str, names: set[str]) -> None:
    assert names <= _decisive(body)


@pytest.mark.parametrize(
    ("selector", "may"),
    [
        (".card a", True),
        (".card video", False),
        (".gone, #also-gone p", False),
        (".gone, .card", True),
        (".card:not(.gone)", True),
        (".gone:not(.card)", False),
        (".card:is(.gone, [x=(])", True),
        (".card:hover", False),
        (".card::before", False),
        (".card:first-child", True),
        (r".c\61rd", True),
        ("A", True),
    ],
)
def test_a_rule_that_names_what_the_page_lacks_is_not_read(selector: str, may: bool) -> None:
    root = parse("<body><div class=card id=top><a href=/>x</a></div>")
    present = Present(MarkedElements(root), is_strict=True)
    assert present.may_match(selector) is may


@pytest.mark.parametrize(
    ("css", "is_hidden"),
    [
        (".x{display:none} div.x{display:block}", False),
        ("div.x{display:none} .x{display:block;width:100px}", True),
        (".x{display:none} .gone,.x{display:block!important}", False),
        (".x{--d:none} div{display:var(--d)}", True),
        (".x{--d:none} .x{--d:block} div{display:var(--d)}", False),
        (".x{position:absolute;left:-9999px} div{position:static}", True),
        (".x{left:-9999px} #x{position:static}", False),
        (".x{overflow:hidden;max-height:0} #x{max-height:50px}", False),
        (".x{color:#fff} div{background:#fff}", True),
        (".x{color:#fff} div{background:#000}", False),
    ],
)
def test_hiding_follows_all_rules_that_decide(css: str, is_hidden: bool) -> None:
    root = parse(f"<!DOCTYPE html><style>{css}</style><p>{_TEXT}</p><div class=x id=x>secret words</div><p>{_TEXT}")
    drop_hidden(root)
    assert ("secret" not in text_of(root.find("body"))) is is_hidden


def test_variables_of_variables_without_end_count_as_any_value() -> None:
    chain = "".join(f"--a{number}:var(--a{number + 1});" for number in range(5_000))
    assert "height" in _decisive(f"{chain}height:var(--a0)")
