"""A value that a string of JSON holds is known without its escapes, and is written with those of its new place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.settings import Sanitize
from gateway.sanitize.json_strings import JsonStrings
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import actions
from gateway.sanitize.restoring import Restorer
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import Masks, SlotMasker
from gateway.texts import TextSlot

PASSWORD = 'zQ7\\w9"Kq\tz7mB4'
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n" * 3 + "-----END PRIVATE KEY-----"
DOCUMENTS = (
    json.dumps({"user": "anna", "password": PASSWORD}),
    json.dumps({"body": json.dumps({"password": PASSWORD})}),
    json.dumps([{"a": "b]"}, {"password": PASSWORD, "c": [1, None]}], indent=2),
)
AROUND = ("{}", "Log in with {}", 'See [1] and {{x}}:\n```json\n{}\n```\nThen "quoted" words.', 'a "b" {} c')


def masked(*texts: str) -> tuple[list[str], Placeholders]:
    placeholders = Placeholders()
    masks = Masks(placeholders)
    table = actions(Sanitize(profile="reversible"), "requests")
    masker = SlotMasker(Scanner(), table, lambda *_: None, masks=masks)
    holder = list(texts)
    for index in range(len(texts)):
        masker.clean(TextSlot(holder, index, "content"))
    return holder, placeholders


def restored(text: str, placeholders: Placeholders) -> str:
    holder = {"content": text}
    list(Restorer(placeholders).restore_all([TextSlot(holder, "content", "content")]))
    return holder["content"]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_password_in_a_document_is_known_as_it_is_and_comes_back_as_it_stood(around: str, document: str) -> None:
    text = around.replace("{}", document)
    shown, placeholders = masked(text)
    assert placeholders.as_map() == {"SECRET_1": PASSWORD} and restored(shown[0], placeholders) == text


def test_one_value_has_one_name_however_it_is_spelt() -> None:
    texts = [around.replace("{}", document) for around in AROUND for document in DOCUMENTS]
    shown, placeholders = masked(*texts, json.dumps({"password": KEY}), f"my key:\n{KEY}\n")
    assert placeholders.as_map() == {"SECRET_1": PASSWORD, "SECRET_2": KEY}
    assert all("[SECRET_1]" in text for text in shown[:-2])


@pytest.mark.parametrize("around", AROUND)
def test_the_line_ends_of_a_key_are_escaped_in_a_document_of_an_answer(around: str) -> None:
    placeholders = Placeholders()
    placeholders.mask("SECRET", KEY)
    document = restored(around.replace("{}", '{"private_key": "[SECRET_1]"}'), placeholders)[around.index("{}") :]
    assert json.JSONDecoder().raw_decode(document)[0] == {"private_key": KEY}
    assert restored("The key:\n[SECRET_1]\n", placeholders) == f"The key:\n{KEY}\n"


WORDS = [
    "[SECRET_1]", 'say "[SECRET_1]"', "So {name} is [SECRET_1]", 'f({user: "[SECRET_1]"})', 'or ["a" and] "[SECRET_1]"',
    '} "[SECRET_1]"',
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_words_that_are_no_document_hold_a_value_as_it_is(words: str) -> None:
    placeholders = Placeholders()
    placeholders.mask("SECRET", KEY)
    assert restored(words, placeholders) == words.replace("[SECRET_1]", KEY)


@given(st.sampled_from(AROUND), st.sampled_from(DOCUMENTS), st.data())
def test_pieces_cut_anywhere_read_like_the_whole(around: str, document: str, data: st.DataObject) -> None:
    text = around.replace("{}", document)
    end = data.draw(st.integers(0, len(text)))
    cuts = sorted(data.draw(st.lists(st.integers(0, end), max_size=5)))
    whole, pieces = JsonStrings(in_words=True), JsonStrings(in_words=True)
    whole.read(text[:end])
    for low, high in zip([0, *cuts], [*cuts, end], strict=True):
        pieces.read(text[low:high])
    assert (pieces.depth, pieces.in_string) == (whole.depth, whole.in_string)
