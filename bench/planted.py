"""Secrets and personal data of known formats, each in a sentence, for `bench.masks`. Not a measurement.

Every value is drawn anew from a seed: none is alive. Formats are those that the makers of the services document.
"""

import base64
import random
import string
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Plant:
    """`value` stands once in `sentence`; `kind` groups the figures."""

    kind: str
    value: str
    sentence: str

    @property
    def is_redacted(self) -> bool:
        """Whether the profile `balanced` masks it in answers too."""
        return self.kind not in ("e-mail", "phone", "likely")


class Draw:
    """Random values in the formats of secrets."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self, count: int, alphabet: str = _ALNUM) -> str:
        return "".join(self._random.choices(alphabet, k=count))

    def digits(self, count: int) -> str:
        return self._random.choice("123456789") + self.text(count - 1, string.digits)

    def base64(self, count: int) -> str:
        return base64.b64encode(self._random.randbytes(count)).decode()

    def url_base64(self, count: int) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(count)).decode().rstrip("=")

    def password(self) -> str:
        kinds = (string.ascii_uppercase, string.ascii_lowercase, string.digits)
        return "".join(self.text(4, alphabet) for alphabet in kinds) + "!" + self.text(3)

    def pem(self, name: str, size: int) -> str:
        body = self.base64(size)
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"])

    def jwt(self) -> str:
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        claims = base64.urlsafe_b64encode(f'{{"sub":"{self.digits(10)}"}}'.encode()).decode().rstrip("=")
        return f"{head}.{claims}.{self.url_base64(32)}"

    def card(self, prefix: str, count: int) -> str:
        """With the check digit of Luhn, ISO/IEC 7812-1."""
        body = prefix + self.text(count - len(prefix) - 1, string.digits)
        doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))]
        return body + str(-sum(value // 10 + value % 10 for value in doubled) % 10)

    def iban(self, country: str, account: str) -> str:
        """With the check digits of ISO 13616."""
        number = int("".join(str(int(char, 36)) for char in f"{account}{country}00"))
        return f"{country}{98 - number % 97:02}{account}"


def grouped(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def plants(seed: int = 20261122) -> list[Plant]:
    """The same ones for the same seed."""
    draw = Draw(seed)
    rows = [*_tokens(draw), *_credentials(draw), *_in_code(draw), *_personal(draw), *_labelled_ids(draw)]
    return [Plant(kind, value, sentence.replace("{}", value)) for kind, value, sentence in rows]


def _tokens(draw: Draw) -> list[tuple[str, str, str]]:
    base32 = string.ascii_uppercase + "234567"
    values = [
        ("AKIA" + draw.text(16, base32), "The account id for deployment is {} in the old region."),
        (draw.base64(30), "aws_secret_access_key = {}"),
        ("ghp_" + draw.text(36), "Use the token {} to clone it."),
        (f"github_pat_{draw.text(22)}_{draw.text(59)}", "export GITHUB_TOKEN={}"),
        ("glpat-" + draw.text(20), "The runner was given {} last week."),
        (f"xoxb-{draw.digits(12)}-{draw.digits(12)}-{draw.text(24)}", "The bot signs in with {} every hour."),
        ("sk_live_" + draw.text(24), "stripe.api_key = '{}'"),
        ("AIza" + draw.text(35, _ALNUM + "-_"), "The map is loaded with key={} by the page."),
        (f"sk-proj-{draw.text(20)}T3BlbkFJ{draw.text(20)}", "OPENAI_API_KEY={}"),
        ("sk-ant-api03-" + draw.text(93, _ALNUM + "-_") + "AA", "curl -H 'x-api-key: {}'"),
        ("npm_" + draw.text(36), "//registry.example/:_authToken={}"),
        ("pypi-AgEIcHlwaS5vcmc" + draw.text(70, _ALNUM + "-_"), "Uploads are made with {} from the build."),
        (f"SG.{draw.text(22)}.{draw.text(43)}", "Mail is sent with {} for now."),
        ("dop_v1_" + draw.text(64, _HEX), "doctl auth init -t {}"),
        ("hf_" + draw.text(34, string.ascii_letters), "Log in with {} before you download it."),
        ("shpat_" + draw.text(32, _HEX), "The shop is read with {} at night."),
        ("dapi" + draw.text(32, _HEX), "DATABRICKS_TOKEN={}"),
        ("hvs." + draw.text(90, _ALNUM + "-_"), "vault login {}"),
    ]
    return [("vendor token", *row) for row in values]


def _credentials(draw: Draw) -> list[tuple[str, str, str]]:
    login = base64.b64encode(f"backup:{draw.password()}".encode()).decode()
    return [
        ("private key", draw.pem("RSA PRIVATE KEY", 600), "{}"),
        ("private key", draw.pem("EC PRIVATE KEY", 120), "{}"),
        ("private key", draw.pem("OPENSSH PRIVATE KEY", 400), "{}"),
        ("JWT", draw.jwt(), "The session began with {} at noon."),
        ("JWT", draw.jwt(), "Cookie: session={}; Path=/"),
        ("header", draw.text(40), "Authorization: Bearer {}"),
        ("header", login, "Authorization: Basic {}"),
        ("password in URL", draw.text(16), "DATABASE_URL=postgres://billing:{}@db7.internal.lan:5432/billing"),
        ("password in URL", draw.text(18), "git remote add origin https://deploy:{}@git.internal.lan/app.git"),
        ("password in URL", draw.text(20), "redis://:{}@cache3.internal.lan:6379/0"),
        ("password", draw.password(), 'password = "{}"'),
        ("password", draw.password(), "DB_PASSWORD={}"),
        ("password", draw.password(), "  password: {}"),
        ("password", draw.text(32), '"client_secret": "{}"'),
        ("password", draw.password(), "The root password is {} on all three machines."),
    ]


def _in_code(draw: Draw) -> list[tuple[str, str, str]]:
    """Secrets as programs, commands and files hold them."""
    values = [
        (draw.password(), "curl -u backup:{} https://files.internal/x"),
        (draw.text(24), "deploytool --api-token {} --wait"),
        (draw.password(), "CREATE USER reports IDENTIFIED BY '{}';"),
        (draw.password(), "ALTER ROLE reports WITH PASSWORD '{}';"),
        (draw.text(32), 'curl_easy_setopt(h, CURLOPT_PASSWORD, "{}");'),
        (draw.text(40, _HEX), "SECRET_KEY = '{}'"),
        (draw.base64(30), "  client-secret: {}"),
        (draw.password(), "<password>{}</password>"),
        (draw.text(28), "https://hooks.internal/run?token={}&wait=1"),
        (draw.password(), "spring.datasource.password={}"),
        (draw.base64(64), "Server=db;AccountKey={};Pooling=true"),
        (draw.text(20), "amqp://jobs:{}@queue.internal:5672/jobs"),
    ]
    return [("in code", *row) for row in values]


def _labelled_ids(draw: Draw) -> list[tuple[str, str, str]]:
    """Ids without a public checksum, behind their labels."""
    letters, pairs = draw.text(2, "ABCEHJ"), " ".join(draw.digits(2) for _ in range(3))
    nino = f"{letters} {pairs} {draw.text(1, 'ABCD')}"
    values = [
        (nino, "National Insurance number: {}"),
        (nino.replace(" ", ""), "his NI number is {} since May"),
        (draw.digits(9), "passport number {} (valid)"),
        (draw.text(1, "CFGHJK") + draw.digits(8), "Reisepassnummer: {}"),
        (
            f"{draw.text(5, string.ascii_uppercase)}{draw.digits(6)}{draw.text(2, string.ascii_uppercase)}9IJ",
            "driving licence no. {}",
        ),
        (draw.text(1, string.ascii_uppercase) + draw.digits(12), "Driver's license: {}"),
    ]
    return [("labelled id", *row) for row in values]


def _personal(draw: Draw) -> list[tuple[str, str, str]]:
    ssn = f"{draw.text(1, '123456')}{draw.digits(2)}-{draw.digits(2)}-{draw.digits(4)}"
    dni = draw.digits(8)
    return [
        ("card", grouped(draw.card("4539", 16)), "Card number: {} exp 09/28"),
        ("card", draw.card("5412", 16), "Please charge my credit card {} for the renewal."),
        ("card", draw.card("3714", 15), "The Amex card {} is valid until 04/29."),
        ("IBAN", grouped(draw.iban("DE", draw.digits(18))), "Please transfer the amount to IBAN {} by Monday."),
        ("IBAN", draw.iban("NL", "ABNA" + draw.digits(10)), "Bank account: {}"),
        ("IBAN", draw.iban("AT", draw.digits(16)), "The deposit is paid back to {} within a week."),
        ("national id", ssn, "Her social security number is {} on file."),
        ("national id", dni + "TRWAGMYFPDXBNJZSQVHLCKE"[int(dni) % 23], "DNI {} de la titular"),
        ("e-mail", "marta.kowalczyk@brightwell-logistics.com", "Write to {} before you change it."),
        ("e-mail", "jens.lindqvist82@posteo.de", "Questions go to {} please."),
        ("phone", f"+49 30 {draw.digits(8)}", "Call {} when it fails at night."),
        (
            "phone",
            f"+44 7{draw.text(1, '45')}{draw.digits(2)} {draw.digits(6)}",
            "His mobile number is {} at weekends.",
        ),
    ]
