"""Texts of nothing but named tokens: each is told from its name's words, within the budget of its text."""

import random
import string

import pytest

from gateway.sanitize.scanner import Scanner

DRAW = random.Random(5)
TOKENS = ["ghp_" + "".join(DRAW.choices(string.ascii_letters + string.digits, k=36)) for _ in range(3_000)]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["password: {} ", "api_key={}\n", '"secret": "{}", '])
def test_named_tokens_are_judged_once_so_that_a_text_of_them_is_scanned_in_full(form: str) -> None:
    text = "".join(form.format(token) for token in TOKENS)
    found = [text[each.start : each.end] for findings in Scanner().scan_parts(text, None) for each in findings]
    assert found == TOKENS


@pytest.mark.parametrize("behind", ["", ".", "==", "-and-more-1x", "/4711", ")"])
def test_a_token_is_masked_as_before_whatever_follows_it(behind: str) -> None:
    for token in TOKENS[:50]:
        text = f"the password: {token}{behind} is old"
        covered = "".join(text[each.start : each.end] for each in Scanner().scan(text))
        assert token in covered
