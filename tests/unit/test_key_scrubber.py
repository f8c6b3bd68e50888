"""What looks like a key is hidden, in log lines and in what an upstream said; ordinary words are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import key_scrubber
from gateway.key_scrubber import HIDDEN, scrub_keys

VALUE = "Abcdefgh12345678"


AROUND = ["{}", "key={}&b", '{{"a":"{}"}}', '{{"a":"x\\n{}"}}', "x%3D{}", "\\u003d{}", "({})"]


@pytest.mark.parametrize("start", ["gw_", "sk-", "sk-proj-", "SK_", "tvly-", "pk_", "key-", "hf_", "Bearer "])
@pytest.mark.parametrize("around", AROUND)
def test_every_form_is_hidden_wherever_it_stands(start: str, around: str) -> None:
    hidden = scrub_keys(around.format(start + VALUE))
    assert VALUE not in hidden and HIDDEN in hidden


def test_the_whole_of_a_key_is_hidden_with_all_characters_that_keys_have() -> None:
    assert scrub_keys("gw_ab-cd_ef~gh+ij/kl=mn.op end") == f"gw_{HIDDEN} end"


WORDS = [
    "task-identifier", "the key_id of a row", "hf_model", "sk-ab", "a desk-lamp", "gw-internal01:8000",
    "hf-internal-testing/tiny", "bearer", "bearer\nnext line",
]  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
def test_words_that_are_no_keys_stay(text: str) -> None:
    assert scrub_keys(text) == text


def test_a_line_of_json_stays_a_line_of_json() -> None:
    assert scrub_keys('{"a":"Bearer x","b":"sk-1234567"}') == f'{{"a":"Bearer {HIDDEN}","b":"sk-{HIDDEN}"}}'


def test_what_was_sent_as_a_secret_is_hidden_whatever_it_looks_like_but_short_words_stay() -> None:
    sent = ["Bearer", "correct horse", "correct horse battery"]
    assert scrub_keys("Bearer? correct horse battery failed", sent) == f"Bearer? {HIDDEN} failed"


PIECES = [
    "bearer ", "Bearer\\t", "gw_", "sk-", "SK-", "tvly_", "key-", "hf_", "ſk-", "abcdefgh", "1", " ", "\\n", '"', "é",
]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_it_equals_the_substitution_without_the_search_before_it(text: str) -> None:
    assert scrub_keys(text) == key_scrubber._KEYS.sub(key_scrubber._hide, text)
