"""Secrets as people, agents, tools and languages write them: in sentences, by shell, below headings, in diffs."""

import base64
import html
import json
import textwrap

import pytest

from tests.support.scanned import PLACES, found, graded, kinds, mask

KEY, PASSWORD = "tW9kQ2xbV7mZp4Lr8nYs", "hQ4m!qaE6X4tFN"


@pytest.mark.parametrize("value", [KEY, PASSWORD])
@pytest.mark.parametrize("form", PLACES["places of any secret"])
def test_a_secret_in_the_words_and_syntax_that_people_and_languages_have_is_certain(form: str, value: str) -> None:
    assert found(form.format(value)) == found(form.format(value), certain=True) == [value]


@pytest.mark.parametrize("form", PLACES["places of random characters"])
def test_random_characters_are_certain_in_the_syntax_of_lists_fields_and_tuples(form: str) -> None:
    assert found(form.format(KEY)) == found(form.format(KEY), certain=True) == [KEY]


@pytest.mark.parametrize("form", PLACES["secrets in sentences"])
@pytest.mark.parametrize("value", [KEY, PASSWORD])
def test_a_secret_in_a_sentence_is_found(form: str, value: str) -> None:
    assert found(form.format(value)) == [value]


@pytest.mark.parametrize("form", PLACES["places of two secrets"])
def test_a_second_password_in_a_sentence_is_found(form: str) -> None:
    assert found(form.format(PASSWORD, KEY)) == [PASSWORD, KEY]


@pytest.mark.parametrize("token", PLACES["tokens of makers"])
def test_tokens_of_more_makers_are_certain(token: str) -> None:
    assert found(f"here: {token} ok", certain=True) == [token]


@pytest.mark.parametrize(("entity", "form", "value"), PLACES["certain in its place: entity, place, value"])
def test_a_value_is_certain_in_its_place_and_nothing_beside_it_is_found(entity: str, form: str, value: str) -> None:
    assert graded(form.format(value)) == [(entity, value, True)]


@pytest.mark.parametrize(("entity", "form", "value"), PLACES["likely in its place: entity, place, value"])
def test_a_value_is_likely_in_its_place_and_nothing_beside_it_is_found(entity: str, form: str, value: str) -> None:
    assert graded(form.format(value)) == [(entity, value, False)]


@pytest.mark.parametrize("text", PLACES["national numbers of telephones"])
def test_a_national_number_is_found_behind_the_word_for_telephone_in_other_scripts(text: str) -> None:
    assert [entity for entity, _ in kinds(text)] == ["PHONE"]


@pytest.mark.parametrize("text", ["mysql -p'{}' db", 'PASSWORD="{}"'])
def test_a_quotation_in_escapes_of_html_is_read_with_its_line(text: str) -> None:
    assert found("<pre>" + html.escape(text.format(PASSWORD)) + "</pre>") == [PASSWORD]


@pytest.mark.parametrize("text", ["пароль від сервера: {}", "hasło do wifi to {}", "le mot de passe était {}"])
def test_a_label_of_several_words_in_escapes_of_json_names_its_value(text: str) -> None:
    assert PASSWORD in found(json.dumps({"text": "see:\n" + text.format(PASSWORD)}))


def test_a_label_in_escapes_names_the_value_behind_it() -> None:
    assert found(json.dumps({"text": "身份证号码 110101199003077707 ok"}), certain=True) == ["110101199003077707"]
    assert kinds(json.dumps({"text": f"пароль {KEY}"})) == [("SECRET", KEY)]


@pytest.mark.parametrize("text", ["service\tuser\tpassword\nmail\tanna\t{}\n", "password: >-\n  {}"])
def test_lines_that_json_quotes_once_or_twice_read_like_lines(text: str) -> None:
    once = json.dumps({"output": text.format(PASSWORD)})
    for quoted in (once, json.dumps({"result": once, "note": 'he said "no"'})):
        assert any(PASSWORD in each for each in found(quoted)), quoted


@pytest.mark.parametrize("blank", [r"\n", r"\r\n", r"\t", r"\\n"])
@pytest.mark.parametrize(("label", "value"), PLACES["values in quoted lines: label, value"])
def test_a_value_at_the_start_of_a_quoted_line_is_found_and_ends_with_it(label: str, value: str, blank: str) -> None:
    assert found(f'{{"file": "first{blank}{label}{value}{blank}and more{blank}"}}', certain=True) == [value]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("before", ["", "ä\u200b "])
@pytest.mark.parametrize(
    "value", [[{"name": "API_KEY", "value": KEY}], {"api_keys": [KEY, "x"]}, {"body": {"kty": "oct", "k": KEY + "aB3"}}]
)
def test_json_in_strings_of_json_reads_like_json(value: object, before: str, depth: int) -> None:
    text = json.dumps(value)
    for _ in range(depth):
        text = json.dumps({"text": before + text}, ensure_ascii=False)
    left = mask(text)
    assert KEY not in left and json.loads(left).keys() == {"text"}


TOKEN = "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"


@pytest.mark.parametrize("width", [60, 64, 76])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("before", range(30, 80, 7))
def test_a_token_in_rows_of_base64_is_masked_with_its_rows_alone(width: int, indent: str, before: int) -> None:
    plain = f"{'a line of settings ' * 9}{'x' * before}\nGITHUB_TOKEN={TOKEN}\n{'more words ' * 20}"
    rows = textwrap.wrap(base64.b64encode(plain.encode()).decode(), width)
    text = "data: |\n" + "".join(f"{indent}{row}\n" for row in rows) + "end"
    left = mask(text)
    assert "[REDACTED:SECRET]" in left
    head = "".join(left.partition("[")[0].removeprefix("data: |\n").split())
    assert TOKEN[4:8] not in base64.b64decode(head[: len(head) // 4 * 4]).decode()
    assert rows[0] in left and rows[-1] in left


def test_rows_of_base64_that_are_no_text_are_left_alone() -> None:
    assert found("\n".join(textwrap.wrap(base64.b64encode(bytes(range(256)) * 4).decode(), 76)), certain=True) == []
