"""Secrets that syntax other than a name makes ones: commands, headers, calls, records, hashes, blocks of keys.

The kinds are those of `bench.planted_kinds`, with values drawn anew for each run of the table.
"""

import pytest

from bench.masks import covered
from bench.planted import Draw
from bench.planted_kinds import Kind, drawn, harmless, kinds, main
from gateway.sanitize.detectors.command_secrets import forms_at
from gateway.sanitize.detectors.syntax_secrets import find_syntax_secrets, has_names
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.text import GRADED, BudgetExceeded, View, WorkBudget

SCANNER = Scanner()
RANDOM = "q7RkT2mWx9LpV4sB"
HEX = "7b3bcec21a2b4c5ab2b9563bf47249f0"


def is_found(kind: Kind) -> bool:
    value = drawn(Draw(20261123), kind.value)
    text = f"Notes of the move.\n\n{kind.text.replace('{}', value)}\n\nThat is all.\n"
    start = text.index(value)
    return covered([(each.start, each.end) for each in SCANNER.scan(text)], start, start + len(value))


def test_a_secret_is_found_in_every_kind_of_text_that_holds_one() -> None:
    assert [kind.name for kind in kinds() if not is_found(kind)] == []


HARMLESS = [
    "docker run -p 127.0.0.1:8080:80 app1",
    "mysql -p shop2024 < dump.sql",
    "curl -u anna: https://files.internal/x",
    "Nov 21 10:07:11 host kernel: [580174.700847] irq at 0xb4c9150a0eaf",
    "ssh -p 2222 deploy@web4",
    "zip -r backup20261122.zip src",
    "psexec.py is one of the tools2024",
    "Cookie: _ga=GA1.2.1234567890.1234567890; theme=dark; lang=de",
    "Cookie: session=your-session-id-goes-here1",
    "Set-Cookie: lang=en-US; Path=/",
    "src/main.c:120:45:error:unknown_type1",
    "a * b2 * c3",
    'login("anna", "/home/anna/file1.txt")',
    "connect('signal-name1', handler2)",
    "PASS src/app.test1.js",
    "PASS: ld/pr18801a",
    "https://docs.internal/hooks/use-effect-cleanup2-reference",
    "https://ci.internal/webhooks/6f1e2d3c-1a2b-4bbb-8ccc-1234abcd5678",
    "https://client.example.com/cb?code=SplxlOBeZQQYbYS6WxSbIA&state=xyz",
    "kind: Service\ndata:\n  key: dmFsdWUxMjM0NTY3",
    "the mnemonic is easy to remember when you have seen it once or twice before today here",
    "recovery codes are shown once",
    '"output_token": "Jobs[-1].JobId"',
    "#define PKCS12_MAKE_KEYBAG PKCS12_SAFEBAG_create0_p8inf",
    "NSURLThumbnailKey NSThumbnail1024x1024SizeKey",
    "exports.X509SubjectKeyIDExtension = X509SubjectKeyIDExtension;",
    "headers['Proxy-Authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`",
    "def test_interpolationmissingoptionerror(self):",
    "user_password = user_password[:127]",
    "the bypass abc123XYZ456def was taken",
    "| password | string |\n|---|---|\n| anna | text1 |",
    r"\fILoadCredential=\fR/\fISetCredential=\fR2",
    "create_vpc_peering_connection('vpc-1a2b3c4d')",
    "await a.connect(o); i.json({jsonrpc:`2.0`,error:{code:-32e3,message:`Invalid session`}})",
    "a.login(`x`, `2.0`,error:{code:-32e3,message:`Invalid session`)",
    '\t* the refresh token, access token\n\tOAuthErrorCode$1["TooManyRequests"] = "too_many";\n',
    '"AWS::KMS::ReplicaKey": "903f43e74c8d8853"',
    '"encryptionKey": "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"',
    "    z * hyper([Rational(1, 4)], [S.Half1])\n",
    'token = decode("API_TOKEN_V2")',
    "password     string      Password1\nuser         string      name",
    'password: "#{SmtpPassword1}#"',
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_such_syntax_is_no_certain_secret(text: str) -> None:
    assert not [each for each in SCANNER.scan(text) if each.entity == "SECRET" and each.certain]


def values_found(form: str) -> list[str]:
    text = f"Notes of the move.\n\n{drawn(Draw(20261123), form)}\n\nThat is all.\n"
    return [text[each.start : each.end] for each in SCANNER.scan(text) if each.entity in GRADED and each.certain]


def test_text_that_only_looks_like_one_with_a_secret_keeps_its_values() -> None:
    lost = {kind: values_found(form) for kind, form in harmless()}
    assert {kind: values for kind, values in lost.items() if values} == {}


def test_a_password_in_the_rows_of_an_insert_is_found_by_its_column() -> None:
    text = f"INSERT INTO users (id, `password`, at) VALUES (1, '{RANDOM}', now()), (2, 'Zt{RANDOM}', NULL);"
    assert [text[each.start : each.end] for each in SCANNER.scan(text)] == [RANDOM, f"Zt{RANDOM}"]
    assert not SCANNER.scan("INSERT INTO users (id, password_kind) VALUES (1, 'argon2id');")
    assert not SCANNER.scan("INSERT INTO users (password) VALUES (md5(concat('a1b2c3d4e5', 'x')), 2")


@pytest.mark.parametrize(
    "said", ["密码：{}", "パスワードは {} です", "le mdp : {}", "Passordet er {} nå", "mi contraseña es {}"]
)
def test_a_password_is_found_behind_its_name_in_other_languages(said: str) -> None:
    text = said.format("Falcon48!")
    assert [text[each.start : each.end] for each in SCANNER.scan(text)] == ["Falcon48!"]


def test_a_password_of_letters_and_signs_is_found_in_a_short_text() -> None:
    assert SCANNER.scan("password is Abc!Defgh")
    assert not SCANNER.scan("the key is quite short")


def test_a_key_that_its_maker_publishes_is_only_likely() -> None:
    assert [each.certain for each in SCANNER.scan(f"Stripe('pk_live_{RANDOM}aB')")] == [False]


def test_a_line_of_code_without_breaks_is_no_record_of_a_login() -> None:
    assert not SCANNER.scan(
        "a{x:calc(1rem * var(--y))}" * 30 + "b{left:calc(.03rem * var(--scale-A1));width:calc(2rem)}"
    )


def test_a_password_in_a_column_is_found_in_every_row() -> None:
    text = f"name,url,password\nshop,https://shop.internal,{RANDOM}\nmail,https://mail.internal,Zt{RANDOM}\n"
    assert [text[each.start : each.end] for each in SCANNER.scan(text)] == [RANDOM, f"Zt{RANDOM}"]


def test_cookies_that_count_visits_stay_and_the_session_beside_them_does_not() -> None:
    text = f"Cookie: _ga={HEX}; connect.sid={HEX}; theme=dark"
    assert [each.start for each in SCANNER.scan(text)] == [text.rindex(HEX)]


def test_only_the_first_value_of_set_cookie_is_a_cookie() -> None:
    text = f"Set-Cookie: sid2={HEX}; Path=/{RANDOM}x"
    assert [text[each.start : each.end] for each in SCANNER.scan(text)] == [HEX]


def test_all_credentials_of_one_command_are_found() -> None:
    text = f"snmpget -v3 -u monitor -A {RANDOM} -X Zt{RANDOM} switch7"
    assert len(SCANNER.scan(text)) == 2


def test_a_command_goes_on_behind_a_backslash_at_the_line_s_end() -> None:
    assert SCANNER.scan(f"mongosh --host db1 \\\n  -u admin \\\n  -p {RANDOM}")
    assert not SCANNER.scan(f"mongosh --host db1\n  -p {RANDOM}")


def test_a_kubernetes_secret_ends_with_its_document() -> None:
    text = f"kind: Secret\ndata:\n  a: {RANDOM}\n---\nkind: ConfigMap\ndata:\n  b: {RANDOM}\n"
    assert [each.start for each in SCANNER.scan(text)] == [text.index(RANDOM)]


def test_a_long_signature_is_masked_to_its_end() -> None:
    text = f"https://storage.googleapis.com/b/o?X-Goog-Signature={HEX * 16} and more"
    assert [(each.start, each.end) for each in SCANNER.scan(text)] == [(text.index(HEX), text.index(" and"))]


def test_a_private_web_key_is_masked_and_its_public_part_is_not() -> None:
    text = f'{{"kty":"EC","x":"{"x" + RANDOM * 2}","d":"{"d" + RANDOM * 2}"}}'
    assert [each.start for each in SCANNER.scan(text)] == [text.index("d" + RANDOM)]


def test_ciphertext_of_a_vault_is_only_likely() -> None:
    text = f"$ANSIBLE_VAULT;1.1;AES256\n  {HEX}{HEX}\n  {HEX}{HEX}\n"
    assert [each.certain for each in SCANNER.scan(text)] == [False]


def test_words_for_commands_are_read_by_their_own_row() -> None:
    assert forms_at(b" sshpass -p x", 0) == (b"-p",)
    assert forms_at(b" unknown -p x", 0) is None


def test_a_text_of_commands_spends_its_budget_instead_of_time() -> None:
    text = f"snmpget -A {RANDOM} -X {RANDOM} -c {RANDOM}; " * 2000
    with pytest.raises(BudgetExceeded):
        list(find_syntax_secrets(View(text), WorkBudget(1000)))


def test_names_and_syntax_are_noticed_alike() -> None:
    assert has_names(b"password") and has_names(b"sshpass -p x") and not has_names(b"plain words")


@pytest.mark.slow
def test_the_measurement_prints_both_halves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--direction", "requests", "--list"]) == 0
    assert "tuning:" in (out := capsys.readouterr().out) and "held:" in out
