"""Secrets behind the string literals and assignments of many languages; numbers behind labels in other scripts."""

import json

import pytest

from gateway.sanitize.findings import masked
from gateway.sanitize.scanner import Scanner

SCANNER = Scanner()
KEY = "tW9kQ2xbV7mZp4Lr8nYs"


def certain(text: str) -> list[str]:
    return [text[each.start : each.end] for each in SCANNER.scan(text) if each.certain]


def found(text: str) -> list[tuple[str, str]]:
    return [(each.entity, text[each.start : each.end]) for each in SCANNER.scan(text)]


@pytest.mark.parametrize(
    "form",
    [
        "local secret = [[{}]]",
        "config.password = [==[{}]==]",
        'let api_secret = r#"{}"#;',
        "let api_secret = {{|{}|}}",
        'api_secret = """{}"""',
        "api_token = ~s({})",
        'std::string api_secret{{"{}"}};',
        '{{auth_token, <<"{}">>}}',
        '{{password, "{}"}}.',
        "$secret = <<<EOT\n{}\nEOT;",
        "SECRET = <<~TXT.strip\n  {}\nTXT\n",
        'api_key <- "{}"',
        "API_TOKEN ?= {}\nrun:",
        'Dim strPassword As String = "{}"',
        '    secret: str = field(default="{}")',
        "Password ........ : {}",
        "Parameters:\n  DBPassword:\n    Type: String\n    NoEcho: true\n    Default: {}\n",
        '{{"admin_password": {{"sensitive": true, "type": "string", "value": "{}"}}}}',
        '{{\n      "name": "DB_PASSWORD",\n                         "value": "{}"\n}}',
        '{{"api_keys": ["{}"]}}',
        "secrets:\n  - {}\n",
        'Using password "{}" for user root',
        '(defvar my-password "{}")',
        "hdbsql -n h:30015 -u SYSTEM -p {}",
        "| Host | Token | Note |\n|:--|:-:|--:|\n| a | {} | c |\n",
    ],
)
def test_a_key_is_certain_behind_the_syntax_of_many_languages(form: str) -> None:
    assert certain(form.format(KEY)) == [KEY]


def test_a_short_key_in_a_pair_of_name_and_value_is_certain() -> None:
    assert certain('<add key="ApiSecret" value="2icVg6ziA7K6UXN" />') == ["2icVg6ziA7K6UXN"]
    assert certain('#define SN_pbe_WithSHA1And2_Key_TripleDES_CBC   "PBE-SHA1-2DES"') == []
    assert certain("#define CKM_NSS_AES_KEY_WRAP            0xce534351UL") == []


def test_words_between_a_password_and_its_verb_do_not_hide_it() -> None:
    assert found("Hi, the password for the staging server is Harbor1978$ - change it") == [("SECRET", "Harbor1978$")]


@pytest.mark.parametrize(
    "token",
    [
        "esecret_vx9gf9wjl1fnnjjvond2xo7nlqavm5",
        "sk-helicone-ugodoc6-zh255e7-pmgqu76-8fhdsq3",
        "rpa_5NGF3UEFIFSDY7YFXUB1TPNJLQCK0ND5D5Z2710U4TQ2OO",
        "wandb_v1_EY0zu4I-HudycFxTOBCbNMUvhM-gQzqz7v6lUUVTLBFRPFA0bMtLcvg2Zw2NtgJ_t59U9VyK2JLLU",
        "retool_01x2ozf44yp0tsh86zhxygcg98",
        "rootly_16a6b625e951c7a0cc9aef7a0d5b3e73ff191576ec2e4f814844bd4b33e882bd",
        "34d97be43c721a4b22177ae5:13b96428dcb2b892aa936a5dba21072d662ab2eecdcfbf972551814365c5d51b",
        "mdb_sa_sk_2VSDBN0vFvTwdw5lJsZescgXrlvYYBXdzuxWaYLH",
        "KEY0H86N2VSEZA7LTJOO3QPK0LGD8TJZ3YC_ovmhyK6RmZw2vzot3Zbjhg",
        "AKLTRGltJzYXEbkn8vLrOK95juM2jDlFMnv1rxlCqlpqpQXI",
    ],
)
def test_tokens_of_more_makers_are_certain(token: str) -> None:
    assert certain(f"here: {token} ok") == [token]


@pytest.mark.parametrize(
    "iban",
    ["AZ65YDDQVY503AYVKQQZWSNGVMLI", "LV87OABZI19IV8R7Y5B9F", "RO44BAIGHS7FH1NUAPB1AQZL", "gi59dmfr1r665crxw7ltsmq"],
)
def test_an_iban_of_mostly_letters_is_found_by_its_countrys_form(iban: str) -> None:
    assert found(f"IBAN: {iban} thanks") == [("IBAN", iban)]


def test_what_has_not_its_countrys_form_is_no_iban() -> None:
    assert not found("DE89A704004405320130")  # letters where Germany has digits, whatever the check says
    assert not found("Gb59DmfR1r665CrXw7LtSmQ and LV87OaBZI19Iv8R7Y5b9F")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("身份证号：110101199003071153", "110101199003071153"),
        ("公民身份号码 110101199003071153", "110101199003071153"),
        ("תעודת זהות: 867356925", "867356925"),
        ("РНОКПП: 6057622180", "6057622180"),
        ("n° sécu 175037528763687", "175037528763687"),
        ("C.F. RSSMRZ75D03H596H", "RSSMRZ75D03H596H"),
        ("Passeport n° SS8950123", "SS8950123"),
    ],
)
def test_an_id_is_found_behind_its_label_in_other_scripts_and_spellings(text: str, value: str) -> None:
    assert found(text) == [("NATIONAL_ID", value)]


@pytest.mark.parametrize(
    "text",
    ["手机：131 2345 7746", "電話: 090-1234-9419", "전화번호: 010-2000-9645", "Телефон: 8 (912) 345-29-78",
     "Τηλέφωνο: 691 234 5678", "Celular: (11) 96123-0329", "Ph: 0412 341 134"],
)  # fmt: skip
def test_a_national_number_is_found_behind_the_word_for_telephone_in_other_scripts(text: str) -> None:
    assert [entity for entity, _ in found(text)] == ["PHONE"]


def test_addresses_are_found_in_the_forms_that_registries_allow() -> None:
    assert found("Client ::ffff:91.18.151.67 came") == [("IP", "91.18.151.67")]
    assert found("remote:91.18.151.67 came") == [("IP", "91.18.151.67")]
    assert found("image: nginx:91.18.151.67") == []
    assert found("to first.last@xn--mgbh0fb.xn--kgbechtv") == [("EMAIL", "first.last@xn--mgbh0fb.xn--kgbechtv")]


@pytest.mark.parametrize("blank", [r"\n", r"\r\n", r"\t", r"\\n"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K", "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"),
        ("IBAN: LV87OABZI19IV8R7Y5B9F", "LV87OABZI19IV8R7Y5B9F"),
        ("LV87OABZI19IV8R7Y5B9F", "LV87OABZI19IV8R7Y5B9F"),
        ("Isikukood: 39003073555", "39003073555"),
        ("4539148803436467", "4539148803436467"),
        ("DB_PASS=tW9kQ2xbV7mZp4Lr8nYs", "tW9kQ2xbV7mZp4Lr8nYs"),
    ],
)
def test_a_value_at_the_beginning_of_a_quoted_line_is_found_and_ends_with_it(text: str, value: str, blank: str) -> None:
    assert certain(f'{{"file": "first{blank}{text}{blank}and more{blank}"}}') == [value]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("before", ["", "ä\u200b "])
@pytest.mark.parametrize(
    "value", [[{"name": "API_KEY", "value": KEY}], {"api_keys": [KEY, "x"]}, {"body": {"kty": "oct", "k": KEY + "aB3"}}]
)
def test_json_in_strings_of_json_reads_like_json(value: object, before: str, depth: int) -> None:
    text = json.dumps(value)
    for _ in range(depth):
        text = json.dumps({"text": before + text}, ensure_ascii=False)
    (left,) = {masked(text, SCANNER.scan(text))}
    assert KEY not in left and json.loads(left).keys() == {"text"}


def test_a_label_in_escapes_names_the_number_behind_it() -> None:
    assert certain(json.dumps({"text": "身份证号码 110101199003077707 ok"})) == ["110101199003077707"]
    assert found(json.dumps({"text": f"пароль {KEY}"})) == [("SECRET", KEY)]


@pytest.mark.parametrize(
    "form",
    [
        'az keyvault secret set --name db-pass --value "{}"',
        "param adminPassword string = '{}'",
        'token = os.environ.get("TOKEN") or "{}"',
        "Пароль до сервера: {}",
    ],
)
def test_a_key_is_certain_before_its_name_and_behind_more_words(form: str) -> None:
    assert certain(form.format(KEY)) == [KEY]


def test_a_key_of_an_unknown_maker_is_certain_by_its_kind_and_its_changing_characters() -> None:
    assert certain(f"use acme_live_{KEY}Qz7 now") == [f"acme_live_{KEY}Qz7"]
    for name in ("test_live_migration_with_numa_2_nodes_and_more", "cache_token_" + "0123456789abcdef" * 4):
        assert certain(f"use {name} now") == []


def test_a_value_before_an_ordinary_name_is_no_secret() -> None:
    assert not certain(f'[{{"value": "{KEY}", "name": "colour"}}]')


def test_a_card_in_groups_is_found_in_a_query() -> None:
    assert found("pay=3662 009123 6714&x=1") == [("CREDIT_CARD", "3662 009123 6714")]
