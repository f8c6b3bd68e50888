"""Which findings are certain, which only likely, and what of documentation is none: syntax decides, not nearness.

Every sentence is our own, of the kinds that documentation is full of.
"""

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.sanitize.detectors.harmless import CARDS, IBANS
from gateway.sanitize.findings import GRADED, Finding, disjoint
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner

SCANNER = Scanner()
RANDOM = "q7RkT2mWx9LpV4sB"


def findings(text: str) -> list[tuple[str, bool]]:
    return [(each.entity, each.certain) for each in SCANNER.scan(text)]


DOCUMENTATION = [
    '"NextToken": "q7RkT2mWx9LpV4sBq7RkT2mWx9LpV4sB"',
    "To get a copy, pass `autospec=True` to the factory, or pass `--ff-only`.",
    "You must pass `libfoo12.lib` to the linker.", "Solution: Pass the AI_V4MAPPED flag.", "PASS: tools-all/strip-13",
    "PASS: ld-multi/multi-18b-i386", "(SignJob::start, SignKeyJob::setUserIDs2ToSign)",
    '"SecretId": "arn:aws:secretsmanager:us-west-2:123456789012:secret:Test1-a1b2c3"',
    "1.172993630434470589e+02 1.905532343119886605e+02 2.613653823499444115e+02\n" * 400,
    "layer app-registry.test/project/image@sha256:9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e", "pass\n\nfloat_array_1d: Array",
    "password_encryption = 'scram-sha-256'", "any password.\n\n`password_changed2`(password)",
    "the password “sniffing” attack", "PASSWORD_HASHERS = ['app.hashers.MD5PasswordHasher']",
    "fields = ('email', 'password', 'date_of_birth')", "'PasswordInput', 'HiddenInput4', 'TextArea'",
    "pw = request.POST['password']", "password1 = forms.CharField(label='x')",
    "def f(self, password: Optional[str]) -> None", "key = DatumGetDataType(x)",
    "self.key -> x25519.X25519PrivateKey:", "`PQsetHookPass_OpenSSL`\n\n`PQsetHookPass_OpenSSL2`",
    "rows identified by stat1.tbl are listed", "identified by CVE-2026-35737",
    "ProxyPass /app http://backend8.internal:8080/app", "ProxyPassReverse /app2 balancer2.internal",
    "fastcgi_pass php8.sock:9000", 'Public-Key-Pins: pin-sha256="d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM="',
    "public_key = q7RkT2mWx9LpV4sBq7RkT2mWx9", "key: AAAAB3NzaC1yc2EAAAADAQABAAABAQC7v8Qm2kX9",
    "key: 4f:9a:00:1b:6c:d2:33:81", "token: sha256:9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e",
    "-----BEGIN RSA PRIVATE KEY-----\n... (left out)\n-----END RSA PRIVATE KEY-----", "ssh-keygen wrote id_key.pub2",
    "index 100644 100755 with --cc 100644 100644 100644", "the test run pr18718 failed",
    "| 2004-01-14 | ci 2004-01-14 | rc 2005-02-20 |", "/src/ci/12345678 and --cc 12345678",
    "With 3.8.11 2015-05-15 the run 3.8.11 2015", "Standards-Version: 3.7.2.0", "Standards-Version 3.7.2.0",
    "see section 13.2.5.8 \n\n#### 49.6.4.10. Stream stop", "fixed in CVE-2026-79204, call for testers",
    "package 30+20221128-1 by phone", "'{:+f}' gives +3.140000", "4.20.1.155.in-addr.arpa",
    "26 00 1f 00 00 00 00 00 00", "5414 5415 5416 5417 5418", "51F1 5272 5274 5275 5269 52DE",
    "postgres://user:password@localhost/db", "http://user:pass@host:80/", "postgresql://scott:tiger@localhost/test",
    "https://[user[:password]@]host", "amqp://myuser:mypassword@broker", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "Authorization: Bearer mF_9.B5f-4.1JqM", "card 4242 4242 4242 4242", "378282246310005",
    "IBAN GB29 NWBK 6016 1331 9268 19", "from 192.0.2.7 and 2001:db8::7", "NINO QQ 12 34 56 C", "SSN 078-05-1120",
    "your-password: <password>", "'PASSWORD': 'mypassword'", "set `PASSWORD 'password'`",
    "passport control at gate 1234567",
]  # fmt: skip


@pytest.mark.parametrize("text", DOCUMENTATION)
def test_documentation_holds_no_findings(text: str) -> None:
    assert findings(text) == []


CERTAIN = [
    ("CREDIT_CARD", "4539 1488 0343 6467"),
    ("IBAN", "DE62370400440532013001"),
    ("SECRET", "ghp_" + "a1B2c3D4e5F6" * 3),
    ("SECRET", f"password = '{RANDOM}'"),
    ("SECRET", f"DB_PASSWORD={RANDOM}"),
    ("SECRET", f'psk="{RANDOM}"'),
    ("SECRET", f"the root password is {RANDOM} here"),
    ("SECRET", f"Authorization: Bearer {RANDOM}{RANDOM}"),
    ("SECRET", f"tool --api-token {RANDOM}"),
    ("SECRET", f'setopt(h, OPT_PASSWORD, "{RANDOM}")'),
    ("SECRET", f"CREATE USER x IDENTIFIED BY '{RANDOM}'"),
    ("SECRET", "postgres://app:k3epM3Out@db.internal/x"),
    ("SECRET", "redis://:GhTwPqLmXbNzRfKd@cache/0"),
    ("SECRET", "-----BEGIN PRIVATE " + "KEY-----\nMIIEowIBAAKCAQEAx1q8Q2vT5w\n-----END PRIVATE KEY-----"),
    ("US_SSN", "Her social security number is 536-90-4399"),
    ("NATIONAL_ID", "BSN: 111222333"),
    ("NATIONAL_ID", "National Insurance number JG 10 37 59 A"),
    ("NATIONAL_ID", "NINO: JG103759A"),
    ("NATIONAL_ID", '"passport_number": "533380006"'),
    ("NATIONAL_ID", "Passport No. C01X00T47"),
    ("NATIONAL_ID", "driving licence MORGA657054SM9IJ"),
    ("NATIONAL_ID", "Driver's license number: D4562-9871-3345"),
    ("NATIONAL_ID", "Medicare number 1EG4-TE5-MK73"),
    ("NATIONAL_ID", "Personalausweisnummer L01X00T471"),
    ("NATIONAL_ID", "USCIS number: 123-456-780"),
    ("NATIONAL_ID", "NHS number 943-476-5870"),
    ("NATIONAL_ID", "PAN: ACUPA7085R"),
]


@pytest.mark.parametrize(("entity", "text"), CERTAIN)
def test_form_or_syntax_makes_a_finding_certain(entity: str, text: str) -> None:
    assert (entity, True) in findings(text)


LIKELY = [
    ("SECRET", "password = 'swordfish'"),
    ("SECRET", "pass = p4ssw0rd"),
    ("SECRET", "my password hunter2X!"),
    ("SECRET", "insecure-password AdMiN123"),
    ("US_SSN", "the row 536-90-4399 of the table"),
    ("NATIONAL_ID", "the DNI, as his letter of last May says, is 54362315K"),
    ("SECRET", "ghp_" + "a" * 36),
    ("SECRET", "token: 'ghp_PersonalExampleToken12450000000000000'"),
    ("SECRET", '"KmsKeyId": "1a2b3c4d-5e6f-4a2b-8c4d-5e6f1a2b3c4d"'),
    ("SECRET", "tool --lock-token 7b3bcec2-1a2b-4c5a-b2b9-563bf47249f0"),
    ("NATIONAL_ID", "the National Insurance number of the new clerk, JG103759A"),
]


@pytest.mark.parametrize(("entity", "text"), LIKELY)
def test_a_word_nearby_makes_a_finding_likely(entity: str, text: str) -> None:
    assert findings(text) == [(entity, False)]


def test_answers_keep_what_is_only_likely_and_requests_do_not() -> None:
    for entity in GRADED:
        assert (
            actions(Sanitize(), "requests").action(entity, True)
            == actions(Sanitize(), "requests").action(entity, False)
            == "redact"
        )
        assert actions(Sanitize(), "responses").action(entity, True) == "redact"
        assert actions(Sanitize(), "responses").action(entity, False) == "flag"
        for certain in (True, False):
            assert actions(Sanitize(profile="strict"), "responses").action(entity, certain) == "redact"
    assert (
        actions(Sanitize(), "responses").action("EMAIL", True)
        == actions(Sanitize(), "requests").action("INSTRUCTION", True)
        == "flag"
    )


@pytest.mark.parametrize("chosen", ["redact", "off", "block", "flag"])
def test_an_entry_of_the_configuration_decides_over_certainty(chosen: str) -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"SECRET": chosen})), "responses")
    assert table.action("SECRET", True) == table.action("SECRET", False) == chosen


def test_merged_findings_are_certain_if_a_graded_one_is() -> None:
    rank = {"SECRET": 0, "CREDIT_CARD": 1, "PHONE": 2}
    likely, card, phone = Finding(0, 20, "SECRET", False), Finding(4, 20, "CREDIT_CARD"), Finding(0, 9, "PHONE")
    assert disjoint([likely, card], rank) == [Finding(0, 20, "SECRET", True)]
    assert disjoint([likely, phone], rank) == [Finding(0, 20, "SECRET", False)]


def test_every_published_card_and_account_is_no_finding() -> None:
    for number in (number.decode() for number in CARDS | IBANS):
        assert findings(f"use {number} to test") == [], number


def test_a_bare_number_somebody_calls_his_own_is_a_telephone_number() -> None:
    assert findings("my number is 4992318604") == [("PHONE", True)]
    assert findings("my order number is 4992318604") == []
