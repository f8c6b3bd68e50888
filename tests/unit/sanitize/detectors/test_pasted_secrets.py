"""Secrets as people and agents paste them: below headings, in diffs and quotations, by shell, router and sentence."""

import html
import json

import pytest

from gateway.sanitize.scanner import Scanner

SCANNER = Scanner()
KEY = "tW9kQ2xbV7mZp4Lr8nYs"
PASSWORD = "hQ4m!qaE6X4tFN"


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in SCANNER.scan(text)]


@pytest.mark.parametrize(
    "form",
    [
        "here you go: user admin / pass {}", "curl -su 'anna:{}' https://api.posthaus.org",
        "openssl rsa -in k.pem -passin pass:'{}'", "A temporary password is generated for root@localhost: {}",
        "password: \"{{{{ '{}' | password_hash('sha512') }}}}\"", "I changed the password from {} yesterday.",
        "the password (temporary) is {}, please change it", "Das alte Passwort war {}.",
        "La contraseña antigua era {}", "Старый пароль был {}", "пароль к базе — {}", "neues Passwort → {}",
        "+x\n@@ -1 +1 @@\n+sshpass -p '{}' ssh anna@h",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [KEY, PASSWORD])
def test_a_pasted_secret_is_found(form: str, value: str) -> None:
    assert found(form.format(value)) == [value]


@pytest.mark.parametrize(
    "form",
    [
        "The old password was {} and the new one is {}.",
        "Old password: {}, new password: {}",
        "Das alte Passwort war {}, das neue ist {}.",
        "L'ancien mot de passe était {} et le nouveau est {}",
        "Старый пароль был {}, новый — {}",
        "I changed the password from {} to {} yesterday.",
        "DB password is {} and the redis one is {}",
    ],
)
def test_a_second_password_in_a_sentence_is_found(form: str) -> None:
    assert found(form.format(PASSWORD, KEY)) == [PASSWORD, KEY]


def test_a_passphrase_of_several_words_is_found_whole() -> None:
    assert found("export BORG_PASSPHRASE='Mango3902? Wolke822?'") == ["Mango3902? Wolke822?"]


@pytest.mark.parametrize("text", ["mysql -p'{}' db", 'PASSWORD="{}"'])
def test_a_quotation_in_escapes_of_html_is_read_with_its_line(text: str) -> None:
    assert found("<pre>" + html.escape(text.format(PASSWORD)) + "</pre>") == [PASSWORD]


@pytest.mark.parametrize("text", ["пароль від сервера: {}", "hasło do wifi to {}", "le mot de passe était {}"])
def test_a_label_of_several_words_in_escapes_of_json_names_its_value(text: str) -> None:
    assert PASSWORD in found(json.dumps({"text": "see:\n" + text.format(PASSWORD)}))


def test_a_token_behind_an_escaped_sign_is_found() -> None:
    token = "xoxb-123456789012-1234567890123-nyExwPZfcal2mIaVAjr4aB1c"
    assert found(f"body=SLACK_BOT_TOKEN%3D{token}") == [token]


def test_an_address_whose_local_part_is_quoted_is_found_whole() -> None:
    assert found('write to "anna krause"@posthaus.org today') == ['"anna krause"@posthaus.org']
    for text in ('import x from "@scope/pkg.js"', 'pip install "package[extra]"@1.0', '"label"@en .'):
        assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[passwords]\npolicy = strict\nrotate_days = 90\npattern = ^[A-Za-z0-9]{12,}$",
        "[password]\nmin_length = 12\nhash = argon2id\nalgorithm = sha512-crypt",
        "[users]\nanna = Anna Krause\nbob = uid1002, staff",
        "[credentials]\nhelper = osxkeychain\nclient_id = 7kQ2xbV7mZp4Lr8nYs",
        "credentials:\n  provider: aws\n  region: eu-west-1\n  profile: prod2",
        "secrets:\n  db:\n    file: ./db_password.txt\nother: tW9kQ2xbV7mZp4Lr8nYs",
        "if name in secrets:\n    load: tW9kQ2xbV7mZp4Lr8nYs",
        "tokens:\n  access: 15m\n  refresh: 30d",
        "INSERT INTO users VALUES (42, 'bob', '2026-01-01 10:00:00', 'd41d8cd98f00b204e9800998ecf8427e');",
        "INSERT INTO users VALUES (1, 'Anna', 'Berlin2024', 'admin');",
        "INSERT INTO products VALUES (17, 'tW9kQ2xbV7mZp4Lr8nYs', 'Lamp LED12W E27', 19.99);",
        "INSERT INTO accounts VALUES ($1, $2, crypt($3, gen_salt('bf')));",
        "CORP/anna:read-only and CORP\\anna logged on",
        "domain/user:'password'",
        "Change the password from settings to finish.",
        "The password was changed yesterday and the new one applies immediately.",
        "Das alte Passwort war zu kurz und das neue ist noch nicht gesetzt.",
        "Старый пароль был слишком короткий, новый — длиннее",
        "AUTH LOGIN PLAIN CRAM-MD5",
        "enable secret <password>",
        "Key Content            : Not present",
        "openssl rsa -passin env:KEYPASS -in k.pem",
        "schtasks /create /ru CORP\\user /rp <password>",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert found(text) == []


def test_signs_of_a_diff_before_digits_stay_signs_of_numbers() -> None:
    assert found("@@ -1 +1 @@\n+49 171 23456789\n") == ["+49 171 23456789"]
