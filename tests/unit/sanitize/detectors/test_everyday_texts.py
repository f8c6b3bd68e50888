"""Secrets and harmless neighbours in texts of tools and people: tables, padding, escapes, line breaks."""

import json

import pytest

from gateway.sanitize.scanner import Scanner

LONG = "X7SXrKNtgr6Vs2gteswqLiIfE9WH47WaDNyW"


def found(text: str, *, certain: bool = False) -> list[str]:
    return [
        text[each.start : each.end]
        for each in Scanner().scan_uncached(text)
        if each.entity == "SECRET" and (each.certain or not certain)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "password:          {}",
        "AWS Secret Access Key [None]: {}",
        "Hikari - password........................ '{}'",
        "keytool -storepass changeit -keypass {}",
        '~ password = "Old-Value-77xQ" -> "{}"',
        "Password: <b>{}</b>",
        'Password: <code class="x">{}</code>',
        "creds => anna:{}",
        "Zugangsdaten: anna / {}",
        "Parola d'ordine: {}",
        "Mật khẩu là {}",
        "kata sandinya {}",
        "Ο κωδικός πρόσβασης είναι {}",
        "הסיסמה היא {}",
        "ldap_default_authtok = {}",
        "cache_peer proxy.example.net parent 3128 0 login=anna:{}",
    ],
)
def test_a_password_is_found_in_texts_of_tools_and_people(text: str) -> None:
    value = "X7SXr!KNtgr6V"
    assert value in found(text.format(value))


def test_a_publishable_key_is_only_likely() -> None:
    text = f"Stripe('pk_live_{LONG[:24]}')"
    assert found(text) == [f"pk_live_{LONG[:24]}"] and found(text, certain=True) == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("use ghp\\_{} now", "ghp\\_{}"),
        ("use sk\\_live\\_{} now", "sk\\_live\\_{}"),
        ("<code>ghp_{}</code>", "ghp_{}"),
        ("cookie\ts%3A" + "k" * 4 + "Q7" * 14 + ".{}AbC1xYz", "s%3A" + "k" * 4 + "Q7" * 14 + ".{}AbC1xYz"),
    ],
)
def test_a_token_is_found_behind_escapes_of_markdown_and_html(text: str, seen: str) -> None:
    assert found(text.format(LONG), certain=True) == [seen.format(LONG)]


@pytest.mark.parametrize(
    "text",
    [
        "service\tuser\tpassword\nmail\tanna\t{}\n",
        "password: >-\n  {}",
    ],
)
def test_lines_that_json_quotes_once_or_twice_read_like_lines(text: str) -> None:
    value = "X7SXr!KNtgr6V" if "TRUE" not in text else LONG
    quoted = json.dumps({"output": text.format(value)})
    assert any(value in each for each in found(quoted)), quoted
    twice = json.dumps({"result": quoted, "note": 'he said "no"'})
    if "name=" not in text:
        assert any(value in each for each in found(twice)), twice


@pytest.mark.parametrize(
    "text",
    [
        "Option      Token         Meaning\n-a          ALL_FILES     include hidden\n-x2         X2_MODE       more\n",
        "setting            password  description\nmin_length         12        shortest allowed\n",
        "you may change the password\nafter the first login of anna2X!y to it\n",
        '#define ICON_KEY "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"',
        "try:\n  pass \nexcept ValueError:\n  check('(0x+1)', 1, 4)\n",
        "secret:\n    name: abc-x1\n    key: tls2026\n",
        "~ password = (sensitive value) -> (known after apply)",
        "パスワードは8文字以上です。トークンの有効期限はISO8601形式",
        "COPY public.items (id, token_count, note) FROM stdin;\n1\t1234567\tabc2X\n",
    ],
)
def test_their_neighbours_hold_no_secret(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the admin password is currently Hazelnut!90 but will change", "Hazelnut!90"),
        ("can you check if Thistle!Down4 works as password", "Thistle!Down4"),
        ("we use the same password everywhere, Sunflower!3", "Sunflower!3"),
        ("she told me the password, it's Knot7890x", "Knot7890x"),
        ("Le mot de passe du wifi c'est pommeVerte77", "pommeVerte77"),
        ("Das WLAN-Kennwort lautet Zimtstern.2024", "Zimtstern.2024"),
        ("you can unlock it with the password lantern-2291", "lantern-2291"),
    ],
)
def test_a_password_is_found_behind_adverbs_appositions_and_contractions(text: str, value: str) -> None:
    assert [text[each.start : each.end] for each in Scanner().scan(text)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "The password is always required, see Settings.Auth for more.",
        "If the password is in Config2.py, move it.",
        "The token changes every hour, Kubernetes renews it.",
        "the password sha-256 names a method",
    ],
)
def test_a_sentence_about_a_password_holds_none(text: str) -> None:
    assert Scanner().scan(text) == []
