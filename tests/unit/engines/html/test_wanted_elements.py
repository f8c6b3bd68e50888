"""Elements that are asked for alone match what they match when all elements are compared."""

import random
from typing import Any

import pytest

from gateway.engines.html.dom import parse
from gateway.engines.html.selector_matcher import SelectorMatcher
from gateway.engines.html.selectors import read_selectors

_SELECTORS = (
    ".a .b", ".a > .b", ".a + .b", ".a ~ .b", "div:nth-child(2)", "p:nth-last-child(1)", ".b:nth-of-type(2) > p",
    ".c:first-child ~ .a", ":is(.a, .b) > .c", ".a:not(.b .a)", "div:has(> .c)", ".a:has(+ .b) .c",
    "p:nth-child(2 of .a)", ":root > body .c", "#one ~ div .a", "[title] + .b", ".c",
)  # fmt: skip


def _page(source: random.Random) -> Any:
    def box(depth: int) -> str:
        tag = source.choice(("div", "p", "section"))
        name = " ".join(source.sample("abc", source.randrange(3)))
        more = source.choice(("", "", "", " id=one", " title=x"))
        inner = "".join(box(depth - 1) for _ in range(source.randrange(4))) if depth and tag != "p" else "text"
        return f'<{tag} class="{name}"{more}>{inner}</{tag}>'

    return parse(f"<!DOCTYPE html><body>{''.join(box(4) for _ in range(4))}</body>")


def _matched(elements: list[Any], selectors: list[str], wanted: list[Any]) -> dict[Any, set[int]]:
    """The rules of each of the wanted elements, which alone are asked for unless they are all."""
    matcher = SelectorMatcher()
    for rule, text in enumerate(selectors):
        for selector in read_selectors(text, []):
            matcher.add(selector, rule)
    found, groups = matcher.match(elements, None if wanted is elements else wanted)
    return {element: set(groups[found[element]]) for element in wanted if element in found}


@pytest.mark.parametrize("seed", range(30))
def test_the_elements_that_are_asked_for_match_as_among_all(seed: int) -> None:
    source = random.Random(seed)
    elements = list(_page(source).iter())
    selectors = [".c", *source.sample(_SELECTORS[:-1], 4)]
    wanted = source.sample(elements, min(len(elements), 5))
    whole = _matched(elements, selectors, elements)
    assert whole, "some of the rules match"
    alone = _matched(elements, selectors, wanted)
    assert alone == {element: rules for element, rules in whole.items() if element in wanted}
