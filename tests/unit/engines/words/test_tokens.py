"""Terms of a text that are looked for: what is found is what cutting the whole text into terms would find."""

import pytest

from gateway.engines.words.text import terms, terms_among, words_of

TEXTS = (
    "Caching caches; the cached file's entries were agreed upon, and flies fly.",
    "L’eau de l'index et l’été",
    "日本語の検索 and abc日本 mixed",
    "to be or not to be",
    "eeee eee seeing yes",
    "",
)


@pytest.mark.parametrize("text", TEXTS)
def test_terms_among_some_are_those_of_the_text(text: str) -> None:
    all_terms = set(terms(text))
    others = {"cach", "zebra", "日本", "be", "", "e"}
    for wanted in (all_terms, others, all_terms | others, {each for each in all_terms if each.isascii()}, set()):
        assert terms_among(words_of(text), wanted) == all_terms & wanted
