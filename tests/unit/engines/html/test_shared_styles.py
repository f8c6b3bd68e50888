"""Elements of one rule share their style only where all variables have the same values."""

import pytest

from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden

WORDS = "The ferry leaves at nine and comes back at noon. " * 20


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<div class=a><p>one</p></div><div class=b><p>two</p></div>", "two"),
        ("<div class=b><div class=a><p>one</p></div><p>two</p></div>", "two"),
        ("<div class=a><div class=b><p>one</p></div><p>two</p></div>", "one"),
        ("<div style='--d:none'><p>one</p></div><div style='--d:block'><p>two</p></div> <p>three</p>", "two three"),
        ("<p style='--d:none'>one</p><p style='--d:block'>two</p><p class=a>three</p>", "two"),
    ],
)
def test_an_element_has_the_variables_of_its_own_place(markup: str, shown: str) -> None:
    root = parse(f"<style>.a{{--d:none}} .b{{--d:block}} p{{display:var(--d)}}</style>{markup}<i>{WORDS}</i>")
    drop_hidden(root)
    assert text_of(root.find("body")).removesuffix(WORDS.strip()).split() == shown.split()
