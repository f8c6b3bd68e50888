"""What the detectors find, what they leave alone, and how they take disguises."""

import base64
import random
import string
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import SanitizePattern
from gateway.sanitize.detectors.identities import COUNTRIES
from gateway.sanitize.detectors.vendor_tokens import FORMS
from gateway.sanitize.scanner import Scanner
from tests.support.counted_work import calls_of
from tests.support.scanned import PLACES, SCANNER, kinds, mask

CARD, IBAN, MAIL, SSN = "4539148803436467", "GB12WEST12345698765431", "jane.doe@posthaus.org", "536-90-4399"
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1\nq8Q/2vT5w==\n-----END RSA " + "PRIVATE KEY-----"


@pytest.mark.parametrize(("entity", "value"), PLACES["values that stand anywhere: entity, value"])
def test_a_value_is_found_wherever_it_stands_and_nothing_else_is_touched(entity: str, value: str) -> None:
    for template in ("{}", "my value is {} thanks", "({}).", "a, {}, b", "first line\n{}\nlast line"):
        assert mask(template.format(value)) == template.format(f"[REDACTED:{entity}]"), template


def each(form: str) -> Callable[[str], str]:
    """Each character in a form of its number."""
    return lambda value: "".join(form.format(ord(char)) for char in value)


DISGUISES: dict[str, Callable[[str], str]] = {
    "percent": each("%{:02X}"), "percent twice": each("%25{:02X}"), "entities": each("&#{};"),
    "hex entities": each("&#x{:x};"), "padded entities": each("&#{:07};"), "open entities": each("&#{}"),
    "entities of entities": each("&amp;#{};"), "unicode escapes": each("\\u{:04x}"),
    "braced escapes": each("\\u{{{:x}}}"), "long escapes": each("\\U{:08x}"), "octal escapes": each("\\{:03o}"),
    "old escapes": each("%u{:04x}"), "quoted-printable": each("={:02X}"),
    "fullwidth": lambda value: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in value),
    "arabic digits": lambda value: value.translate({0x30 + n: 0x660 + n for n in range(10)}),
    "zero width": "\u200b".join, "soft hyphens": "\u00ad".join, "hex": lambda value: value.encode().hex(),
    "cyrillic": lambda value: value.translate(str.maketrans("aeopcxEABKMHTPC", "аеорсхЕАВКМНТРС")),
    "spaced": lambda value: " ".join(value.replace("-", "")), "dots": lambda value: ".".join(value.replace("-", "")),
    "quoted": lambda value: quote(value).replace("1", "%31"),
    "base64": lambda value: base64.b64encode(f"value {value} end".encode()).decode(),
    "url-safe base64": lambda value: base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
    "twice base64": lambda value: base64.b64encode(base64.b64encode(value.encode())).decode(),
    "percent of fullwidth": lambda value: quote("".join(chr(ord(char) + 0xFEE0) for char in value)),
    "base64 of more than ASCII": lambda value: base64.b64encode(f"Müller {value}".encode()).decode(),
    "percent of base64": lambda value: "".join(f"%{byte:02x}" for byte in base64.b64encode(value.encode())),
    "no-break spaces": lambda value: value.replace("-", "\u2011").replace(" ", "\u00a0"),
}  # fmt: skip
VALUES = {"card": CARD, "iban": IBAN, "mail": MAIL, "key": "AKIA" + "QWERTY7Z" * 2}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("value", VALUES)
def test_a_disguised_value_is_masked_in_the_original_text(value: str, disguise: str) -> None:
    hidden = DISGUISES[disguise](VALUES[value])
    text = mask(f"please look up {hidden} for me")
    assert "[REDACTED:" in text and hidden not in text
    assert text.startswith("please look up ") and text.endswith(" for me")


@pytest.mark.parametrize("behind", [" 123", " 12", " 3d", " 3 June", " 7 x"])
def test_a_card_is_found_with_a_short_number_behind_it(behind: str) -> None:
    assert mask("5425 2334 3010 9978" + behind).startswith("[REDACTED:CREDIT_CARD]")
    assert "5425" not in mask("5425-2334-3010-9978" + behind)


@pytest.mark.slow
def test_no_countrys_check_breaks_on_what_is_not_its_number() -> None:
    source = random.Random(3)
    words = [word for _, words in COUNTRIES for word in words.split(",")]
    for word in words:
        for _ in range(4):
            number = "".join(source.choices(string.digits + string.ascii_uppercase[:16], k=source.randint(6, 14)))
            SCANNER.scan_uncached(f"{word} P{number} {number[:3]}-{number[3:]}")


def test_there_are_as_many_formats_and_countries_as_promised() -> None:
    assert len({form.maker for form in FORMS}) >= 120
    assert len({module.partition(".")[0] for module, _ in COUNTRIES}) >= 40


@pytest.mark.parametrize("text", PLACES["national ids by name and checksum"])
def test_a_national_id_needs_its_name_and_its_checksum(text: str) -> None:
    [(entity, number)] = kinds(text)
    assert entity == "NATIONAL_ID" and "NATIONAL_ID" not in [each for each, _ in kinds(f"catalogue entry {number}")]


@pytest.mark.parametrize(("text", "secret"), PLACES["secrets by their names: text, secret"])
def test_a_value_named_as_a_secret_is_masked_and_its_name_stays(text: str, secret: str) -> None:
    assert secret not in mask(text) and mask(text).startswith(text.partition(secret)[0])


def test_a_url_loses_its_credentials_and_nothing_else() -> None:
    url = "https://user:s3cretPass@posthaus.org/4539148803436467?token=a8Xk29fLq0ZmR4zz&mail=a@b.org"
    assert [url[span.start : span.end] for span in SCANNER.scan_url(url)] == ["s3cretPass", "a8Xk29fLq0ZmR4zz"]
    assert SCANNER.scan_url("https://example.org/4539148803436467/+41446681800?mail=jane@posthaus.org") == []


def test_own_patterns_and_the_allow_list_are_heeded() -> None:
    scanner = Scanner([SanitizePattern("EMPLOYEE", r"EMP-\d{6}")], ["jane.doe@posthaus.org", "@corp.posthaus"])
    text = "EMP-123456 writes from Jane.Doe@posthaus.org and x@corp.posthaus to y@other.posthaus"
    assert [finding.entity for finding in scanner.scan(text)] == ["EMPLOYEE", "EMAIL"]


SERVER_STATE = st.sampled_from(
    [CARD, IBAN, MAIL, SSN, "call +41 44 668 18 00", "DNI 54362315-K", "pw: hunter2x", "plain", "x@", "%34"]
)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.one_of(SERVER_STATE, st.text(max_size=12)), max_size=10), st.sampled_from([" ", "\n", ", "]))
def test_masking_is_idempotent_and_changes_nothing_outside_the_findings(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    spans = SCANNER.scan(text)
    assert all(first.end <= second.start for first, second in pairwise(spans))
    kept, place = [], 0
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        kept.append(text[place : span.start])
        place = span.end
    once = mask(text)
    position = 0
    for piece in [*kept, text[place:]]:
        position = once.index(piece, position) + len(piece)
    assert mask(once) == once


CALLS_A_CHARACTER = 8
"""Of functions, over all detectors; the most today is 5."""
HOSTILE = [
    "1", "1 ", "1.1.1.1 ", "1.2.3.4.5.6.7.8.9", "@", "a@", "[at]", " at ", "a at b dot ", "4 ", "4111 ", CARD + " ",
    IBAN + " ", "%41", "&#52;", "\\u0034", "A ", "eyJ", "sk-", "password=", "password= a1b2c3d4 ", "key: ", "+1 ",
    "+44 7700 900123 ", "tel 123 456 ", "dni ", "dni 12345678 ", "ssn 123 45 6789 ", "-----BEGIN ", "2001:", "http://a:b@",
    "http://x/1?a=%34 ", "0x", "-", "YWJjZGVmZ2hpamtsbW5vcA== ",
    "6162636465666768 ", "4\u200b", "４", "а", "한", "😀", "\0", "\ud800",
    "-----BEGIN " + "PRIVATE KEY-----", "2a01:4f8::1 ", "(212) 736-1234 ",
    "id number á httpcc cc cc cc /pin B82 WEis is Ab1c cc T iGB82number $", "id number id cedula 1tedni dni ssn ssn ",
    "=41|+1|xyz ", "%2ebearer '", "sk-_=41=41+14111111111111 secret=", "12123-45-678SG%41%%4141%411%41.SG.SG. ssn +",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_no_hostile_text_takes_more_than_linear_work(unit: str) -> None:
    text = (unit * (50_000 // len(unit) + 1))[:50_000]
    assert calls_of(lambda: SCANNER.scan_uncached(text)) < CALLS_A_CHARACTER * len(text)


@pytest.mark.slow
def test_text_of_many_alphabets_takes_no_more_than_linear_work() -> None:
    source = random.Random(3)
    alphabet = string.ascii_letters + string.digits + "_-+/=.:|!~ "
    for _ in range(20):
        text = "".join(source.choices(some := source.sample(alphabet, source.randint(3, 40)), k=50_000))
        assert calls_of(partial(SCANNER.scan_uncached, text)) < CALLS_A_CHARACTER * len(text), some


@pytest.mark.slow
def test_random_bytes_never_break_a_detector() -> None:
    source = random.Random(7)
    alphabet = "0123456789 .-/@:=%&;#+()[]{}\"'\\\n\tabcdefABCDEFxXuU\u200b\u0430４é한\ud800"
    for _ in range(300):
        text = "".join(source.choices(alphabet, k=source.randint(0, 400)))
        for finding in SCANNER.scan(text):
            assert 0 <= finding.start < finding.end <= len(text)
