"""Secrets as people, agents, tools and languages write them: in sentences, by shell, below headings, in diffs."""

import html
import json

import pytest

from tests.support.scanned import found, graded, kinds, mask

KEY, PASSWORD = "tW9kQ2xbV7mZp4Lr8nYs", "hQ4m!qaE6X4tFN"
FORMS = [
    "here you go: user admin / pass {}", "curl -su 'anna:{}' https://api.posthaus.org",
    "openssl rsa -in k.pem -passin pass:'{}'", "A temporary password is generated for root@localhost: {}",
    "password: \"{{{{ '{}' | password_hash('sha512') }}}}\"", "the password (temporary) is {}, please change it",
    "Das alte Passwort war {}.", "La contraseña antigua era {}", "пароль к базе — {}",
    "+x\n@@ -1 +1 @@\n+sshpass -p '{}' ssh anna@h", "password:          {}",
    "Hikari - password........................ '{}'", "keytool -storepass changeit -keypass {}", "Password: <b>{}</b>",
    'Password: <code class="x">{}</code>', "creds => anna:{}", "Zugangsdaten: anna / {}", "Parola d'ordine: {}",
    "Mật khẩu là {}", "kata sandinya {}", "Ο κωδικός πρόσβασης είναι {}", "הסיסמה היא {}", "ldap_default_authtok = {}",
    "cache_peer proxy.example.net parent 3128 0 login=anna:{}", "local secret = [[{}]]", "config.password = [==[{}]==]",
    'let api_secret = r#"{}"#;', "let api_secret = {{|{}|}}", 'api_secret = """{}"""', "api_token = ~s({})",
    '{{password, "{}"}}.', "$secret = <<<EOT\n{}\nEOT;", "SECRET = <<~TXT.strip\n  {}\nTXT\n", 'api_key <- "{}"',
    "API_TOKEN ?= {}\nrun:", 'Dim strPassword As String = "{}"', "Password ........ : {}",
    "Parameters:\n  DBPassword:\n    Type: String\n    NoEcho: true\n    Default: {}\n",
    '{{"admin_password": {{"sensitive": true, "type": "string", "value": "{}"}}}}',
    '{{\n      "name": "DB_PASSWORD",\n                         "value": "{}"\n}}', 'Using password "{}" for user root',
    '(defvar my-password "{}")', "hdbsql -n h:30015 -u SYSTEM -p {}",
    "| Host | Token | Note |\n|:--|:-:|--:|\n| a | {} | c |\n", 'az keyvault secret set --name db-pass --value "{}"',
    "param adminPassword string = '{}'", 'token = os.environ.get("TOKEN") or "{}"', "Пароль до сервера: {}",
    "https://h.org/?password={}&page=2", r'{{"url": "/?password={}\u0026page=2"}}', "Password: {}<br>Port: 22",
    "- name: API_TOKEN\n  value: {}", "password:\n\n    {}\n", "password = os.environ.get('PW', '{}')",
]  # fmt: skip
FORMS_OF_KEYS = [
    'std::string api_secret{{"{}"}};', '{{auth_token, <<"{}">>}}', '    secret: str = field(default="{}")',
    '{{"api_keys": ["{}"]}}', "secrets:\n  - {}\n",
]  # fmt: skip


@pytest.mark.parametrize("value", [KEY, PASSWORD])
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_in_the_words_and_syntax_that_people_and_languages_have_for_one_is_certain(
    form: str, value: str
) -> None:
    assert found(form.format(value)) == found(form.format(value), certain=True) == [value]


@pytest.mark.parametrize("form", FORMS_OF_KEYS)
def test_random_characters_are_certain_in_the_syntax_of_lists_fields_and_tuples(form: str) -> None:
    assert found(form.format(KEY)) == found(form.format(KEY), certain=True) == [KEY]


@pytest.mark.parametrize(
    "form",
    ["I changed the password from {} yesterday.", "Старый пароль был {}", "neues Passwort → {}",
     "AWS Secret Access Key [None]: {}"],
)  # fmt: skip
@pytest.mark.parametrize("value", [KEY, PASSWORD])
def test_a_secret_in_a_sentence_is_found(form: str, value: str) -> None:
    assert found(form.format(value)) == [value]


@pytest.mark.parametrize(
    "form",
    [
        "The old password was {} and the new one is {}.", "Old password: {}, new password: {}",
        "Das alte Passwort war {}, das neue ist {}.", "L'ancien mot de passe était {} et le nouveau est {}",
        "Старый пароль был {}, новый — {}", "I changed the password from {} to {} yesterday.",
        "DB password is {} and the redis one is {}", '~ password = "{}" -> "{}"',
    ],
)  # fmt: skip
def test_a_second_password_in_a_sentence_is_found(form: str) -> None:
    assert found(form.format(PASSWORD, KEY)) == [PASSWORD, KEY]


@pytest.mark.parametrize(
    "token",
    [
        "esecret_vx9gf9wjl1fnnjjvond2xo7nlqavm5", "sk-helicone-ugodoc6-zh255e7-pmgqu76-8fhdsq3",
        "rpa_5NGF3UEFIFSDY7YFXUB1TPNJLQCK0ND5D5Z2710U4TQ2OO",
        "wandb_v1_EY0zu4I-HudycFxTOBCbNMUvhM-gQzqz7v6lUUVTLBFRPFA0bMtLcvg2Zw2NtgJ_t59U9VyK2JLLU",
        "retool_01x2ozf44yp0tsh86zhxygcg98", "rootly_16a6b625e951c7a0cc9aef7a0d5b3e73ff191576ec2e4f814844bd4b33e882bd",
        "34d97be43c721a4b22177ae5:13b96428dcb2b892aa936a5dba21072d662ab2eecdcfbf972551814365c5d51b",
        "mdb_sa_sk_2VSDBN0vFvTwdw5lJsZescgXrlvYYBXdzuxWaYLH",
        "KEY0H86N2VSEZA7LTJOO3QPK0LGD8TJZ3YC_ovmhyK6RmZw2vzot3Zbjhg",
        "AKLTRGltJzYXEbkn8vLrOK95juM2jDlFMnv1rxlCqlpqpQXI",
    ],
)  # fmt: skip
def test_tokens_of_more_makers_are_certain(token: str) -> None:
    assert found(f"here: {token} ok", certain=True) == [token]


CERTAIN = [
    ("SECRET", "can you check if {} works as password", "Thistle!Down4"),
    ("SECRET", "body=SLACK_BOT_TOKEN%3D{}", "xoxb-123456789012-1234567890123-nyExwPZfcal2mIaVAjr4aB1c"),
    ("SECRET", "https://api.telegram.org/{}/getMe", "bot7225642973:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw4"),
    ("SECRET", "use {} now", "acme_live_tW9kQ2xbV7mZp4Lr8nYsQz7"),
    ("SECRET", '<add key="ApiSecret" value="{}" />', "2icVg6ziA7K6UXN"), ("SECRET", "CVV: {}", "605"),
    ("SECRET", '{{"cvc2": "{}"}}', "6052"),
    ("SECRET", "the wifi password at the Leeds office is {}, please", "xlTy7VF154Yw"),
    ("SECRET", "'PASSWORD': '{}', 'HOST': 'db'", "Dolphin84Kt47&"),
    ("SECRET", "use {} now", "ghp\\_X7SXrKNtgr6Vs2gteswqLiIfE9WH47WaDNyW"),
    ("SECRET", "use {} now", "sk\\_live\\_X7SXrKNtgr6Vs2gteswqLiIfE9WH47WaDNyW"),
    ("SECRET", "<code>{}</code>", "ghp_X7SXrKNtgr6Vs2gteswqLiIfE9WH47WaDNyW"),
    ("SECRET", "cookie\t{}", "s%3AkkkkQ7Q7Q7Q7Q7Q7Q7Q7Q7Q7Q7Q7Q7Q7.X7SXrKNtgr6Vs2gteswqLiIfE9WH47WaDNyWAbC1xYz"),
    ("SECRET", "&lt;password&gt;{}&lt;/password&gt;", "wrkcr!258LewmC8"),
    ("SECRET", '{{"x": "\\u003cpassword\\u003e{}\\u003c/password\\u003e"}}', "wrkcr!258LewmC8"),
    ("SECRET", '"Jwt": {{ "SigningKey": "{}" }}', "wrkcr!258LewmC8"),
    ("EMAIL", "write to {} today", '"anna krause"@posthaus.org'),
    ("EMAIL", "to {}", "first.last@xn--mgbh0fb.xn--kgbechtv"), ("PHONE", "@@ -1 +1 @@\n{}\n", "+49 171 23456789"),
    ("PHONE", "from abroad {}, please", "+44 (0)20 7946 0958"), ("PHONE", "my number is {}", "4992318604"),
    ("CREDIT_CARD", "pay={}&x=1", "3662 009123 6714"), ("IP", "Client ::ffff:{} came", "91.18.151.67"),
    ("IP", "remote:{} came", "91.18.151.67"), ("IBAN", "IBAN: {} thanks", "AZ65YDDQVY503AYVKQQZWSNGVMLI"),
    ("IBAN", "IBAN: {} thanks", "LV87OABZI19IV8R7Y5B9F"), ("IBAN", "IBAN: {} thanks", "RO44BAIGHS7FH1NUAPB1AQZL"),
    ("IBAN", "IBAN: {} thanks", "gi59dmfr1r665crxw7ltsmq"), ("NATIONAL_ID", "身份证号：{}", "110101199003071153"),
    ("NATIONAL_ID", "公民身份号码 {}", "110101199003071153"), ("NATIONAL_ID", "תעודת זהות: {}", "867356925"),
    ("NATIONAL_ID", "РНОКПП: {}", "6057622180"), ("NATIONAL_ID", "n° sécu {}", "175037528763687"),
    ("NATIONAL_ID", "C.F. {}", "RSSMRZ75D03H596H"), ("NATIONAL_ID", "Passeport n° {}", "SS8950123"),
]  # fmt: skip
LIKELY = [
    ("SECRET", "the admin password is currently {} but will change", "Hazelnut!90"),
    ("SECRET", "we use the same password everywhere, {}", "Sunflower!3"),
    ("SECRET", "she told me the password, it's {}", "Knot7890x"),
    ("SECRET", "Le mot de passe du wifi c'est {}", "pommeVerte77"),
    ("SECRET", "Das WLAN-Kennwort lautet {}", "Zimtstern.2024"),
    ("SECRET", "you can unlock it with the password {}", "lantern-2291"),
    ("SECRET", "export BORG_PASSPHRASE='{}'", "Mango3902? Wolke822?"),
    ("SECRET", "acme:{}", "Wq7xK2mZ9tRb4Lp8Yd3Nc5Vh"),
    ("SECRET", "Hi, the password for the staging server is {} - change it", "Harbor1978$"),
    ("SECRET", "the card security code is {}", "605"), ("SECRET", "her CVV {} was wrong", "605"),
    ("SECRET", "'PASSWORD': '{}', 'HOST': 'db'", "Dolphin844&"),
    ("SECRET", "NEXT_PUBLIC_STRIPE_KEY={}", "pk_test_jFMsJ7mWW5q8dws4XrX7zOU9"),
    ("SECRET", "Stripe('{}')", "pk_live_X7SXrKNtgr6Vs2gteswqLiIf"),
]  # fmt: skip
"""What kind a value is, the words around it, and the value."""


@pytest.mark.parametrize(("entity", "form", "value"), CERTAIN)
def test_a_value_is_certain_in_its_place_and_nothing_beside_it_is_found(entity: str, form: str, value: str) -> None:
    assert graded(form.format(value)) == [(entity, value, True)]


@pytest.mark.parametrize(("entity", "form", "value"), LIKELY)
def test_a_value_is_likely_in_its_place_and_nothing_beside_it_is_found(entity: str, form: str, value: str) -> None:
    assert graded(form.format(value)) == [(entity, value, False)]


@pytest.mark.parametrize(
    "text",
    ["手机：131 2345 7746", "電話: 090-1234-9419", "전화번호: 010-2000-9645", "Телефон: 8 (912) 345-29-78",
     "Τηλέφωνο: 691 234 5678", "Celular: (11) 96123-0329", "Ph: 0412 341 134"],
)  # fmt: skip
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
@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("", "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"), ("IBAN: ", "LV87OABZI19IV8R7Y5B9F"),
        ("", "LV87OABZI19IV8R7Y5B9F"), ("Isikukood: ", "39003073555"), ("", "4539148803436467"), ("DB_PASS=", KEY),
    ],
)  # fmt: skip
def test_a_value_at_the_beginning_of_a_quoted_line_is_found_and_ends_with_it(
    label: str, value: str, blank: str
) -> None:
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
