"""A value that is named as a secret is masked up to where it really ends, whatever signs are in it."""

import json

import pytest

from gateway.config.settings import Sanitize
from gateway.sanitize.detectors.named_secrets import find_member
from gateway.sanitize.policy import actions
from gateway.sanitize.slot_mask import SlotMasker
from gateway.texts import TextSlot
from tests.support.scanned import PLACES, SCANNER, found

SIGNS = (
    "{u}", "()", "(x)", "<>", "<b7>", "?", '"', "'", "`", ",", ";", "|", "[", "}", "\\", "\t", " ", "&", "&amp;", "#",
    "@",
)  # fmt: skip


def left(text: str, form: str = "text") -> str:
    """What is left of a text."""
    holder = {"content": text}
    masker = SlotMasker(SCANNER, actions(Sanitize(), "requests"), lambda *_: None)
    masker.clean(TextSlot(holder, "content", "content", form=form))  # type: ignore[arg-type]
    return holder["content"]


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "clientSecret", "api_key"])
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_sign_in_a_member_of_a_document_ends_its_value(name: str, sign: str, form: str) -> None:
    document = {"user": "anna", name: f"Wq7x{sign}K2mZ9tRb", "port": 5432}
    for text in (json.dumps(document), json.dumps({"body": json.dumps(document)})):
        shown = left(text, form)
        assert "Wq7x" not in shown and "K2mZ9tRb" not in shown and "anna" in shown and "5432" in shown


@pytest.mark.parametrize(("form", "value"), PLACES["values up to the end of their syntax: place, value"])
def test_a_value_ends_where_its_syntax_says(form: str, value: str) -> None:
    assert found(form.format(value)) == [value]


@pytest.mark.parametrize("form", ["${}", "/{}", "[{}]", "<{}>", "{{{}}}", "%{}%", "#{}", "${{{}"])
def test_random_characters_are_a_secret_behind_any_sign(form: str) -> None:
    value = form.format("Wq7xK2mZ9tRb")
    assert "Wq7x" not in left(json.dumps({"password": value}))
    assert "Wq7x" not in left(json.dumps({"api_key": value}), "json")


@pytest.mark.parametrize("value", PLACES["references in place of a secret"])
@pytest.mark.parametrize("name", ["password", "api_key"])
def test_templates_references_and_words_stay(name: str, value: str) -> None:
    for document in ({name: value}, {"body": json.dumps({name: value})}):
        text = json.dumps(document, ensure_ascii=False)
        assert left(text) == text and left(text, "json") == text


def test_a_list_of_settings_names_its_values() -> None:
    document = {"environment": [{"name": "DB_PASSWORD", "value": "hunter"}, {"name": "COLOR", "value": "hunter"}]}
    shown = json.loads(left(json.dumps(document), "json"))["environment"]
    assert [each["value"] for each in shown] == ["[REDACTED:SECRET]", "hunter"]


def test_a_number_with_the_name_of_a_password_is_masked_in_a_document() -> None:
    shown = json.loads(left('{"password": 4711, "port": 5432}', "json"))
    assert shown == {"password": "[REDACTED:SECRET]", "port": 5432}


@pytest.mark.parametrize("depth", range(7))
def test_a_password_is_found_in_strings_of_documents_in_documents(depth: int) -> None:
    text = json.dumps({"password": 'Wq7x"K2mZ9tRb'})
    for _ in range(depth):
        text = json.dumps({"text": text})
    assert "K2mZ9" not in left(text) and "K2mZ9" not in left(text, "json")


@pytest.mark.parametrize("name", ["token_type", "password_hint", "public_key", "passes", "max_tokens", "AWS::KMS::Key"])
def test_a_name_of_something_about_a_secret_makes_none(name: str) -> None:
    assert find_member(name, "Wq, 7x (K2)") is None
