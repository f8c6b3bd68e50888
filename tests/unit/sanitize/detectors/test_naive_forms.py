"""Clever searches beside the plain ones they must equal, and our tables beside those of the libraries."""

import ipaddress
import itertools
import random
import re
from pathlib import Path

import phonenumbers
import pytest
import re2
import stdnum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.sanitize.detectors import cards as iban
from gateway.sanitize.detectors.cards import SEPARATORS, digit_runs
from gateway.sanitize.detectors.mail_and_net import find_ip_addresses
from gateway.sanitize.detectors.phones import judge_number, parse_number
from gateway.sanitize.detectors.value_forms import alternates_kinds
from gateway.sanitize.detectors.vendor_tokens import FORMS, find_secret_tokens
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import searcher, searcher_within, spans
from gateway.sanitize.work_budget import WorkBudget
from tests.support.scanned import found


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_token_begins_with_a_prefix_of_its_form_and_is_found_as_by_searching_for_every_form(
    data: st.DataObject,
) -> None:
    form = data.draw(st.sampled_from(FORMS))
    token = data.draw(
        st.from_regex(re.compile(form.pattern, re.ASCII), fullmatch=True).filter(lambda text: "\n" not in text)
    )
    assert token.startswith(form.begins) if form.begins else re.search(form.mark, token)
    text = f"it is {token} here"
    findings = find_secret_tokens(View(text), WorkBudget(len(text)))
    # a filler, an escape stands for its sign, or words of small letters
    is_read_otherwise = re.search("x{5}|X{5}|%[0-7][0-9a-fA-F]", token) or not re.search("[0-9]{3}|[A-Z]{2}", token)
    if len(token) >= 16 and re.search("[0-9_]", token) and not is_read_otherwise:
        assert any(start <= 6 < end for start, end, *_ in findings), token


@pytest.mark.slow
@settings(max_examples=300)
@given(st.text("0123456789 .-/x+", max_size=40))
def test_runs_of_digits_are_those_of_a_plain_search(text: str) -> None:
    runs = digit_runs(View(text), WorkBudget(len(text)), short=True, min_plain_digits=0, decimals=True)
    plain = re.finditer(r"\d(?:[ .\-/_()\t]{0,2}\d)*", text)
    not_dates = re.compile(r"(?:19|20)\d\d[-./][01]\d[-./][0-3]\d(?: [0-2]\d)?")
    expected = [
        (match.start(), match.end(), len(match.group().encode().translate(None, SEPARATORS)))
        for match in plain
        if not not_dates.fullmatch(match.group()) or text[: match.start()].endswith("+")
    ]
    assert list(runs) == [each for each in expected if each[2] >= 6]


@pytest.mark.slow
def test_public_ipv4_addresses_are_those_of_the_standard_library() -> None:
    source = random.Random(4)
    edges = (0, 1, 2, 9, 10, 18, 19, 20, 31, 32, 51, 63, 64, 99, 100, 113, 127, 128, 168, 169,
             172, 192, 198, 203, 224, 255)  # fmt: skip
    for _ in range(4000):
        text = ".".join(str(source.choice((source.choice(edges), source.randrange(256)))) for _ in range(4))
        address = ipaddress.IPv4Address(text)
        is_found = bool([*find_ip_addresses(View(text), WorkBudget(0))])
        # sections, versions and networks, without a word for addresses
        is_numbering = max(map(int, text.split("."))) < 40 or text.endswith(".0")
        assert is_found == (address.is_global and not address.is_multicast and not is_numbering), text


@pytest.mark.slow
@settings(max_examples=300)
@given(st.text("abAB12-", max_size=40), st.integers(1, 12))
def test_changes_of_kind_are_those_counted_pair_by_pair(value: str, min_pairs: int) -> None:
    def kind(char: str) -> str:
        return "d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "-"

    pairs = len(value) - 1 - 2 * value.count("-")
    changes = sum(kind(a) != kind(b) and "-" not in (a, b) for a, b in itertools.pairwise(value))
    expected = pairs >= min_pairs and changes * 20 >= 9 * pairs
    assert alternates_kinds(value.encode(), min_pairs) == expected


PATTERN = re2.compile(rb"a+b|c\d{2}")
TEXTS = st.text("abc12 ", max_size=40).map(str.encode)


def plain_search(text: bytes, start: int, end: int) -> tuple[int, int]:
    match = PATTERN.search(text, start, end)
    return match.span() if match else (-1, -1)


@pytest.mark.slow
@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_places_are_those_of_the_naive_search(text: bytes, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(max(start, end), len(text))
    start = min(start, end)
    assert searcher(PATTERN)(text, start) == plain_search(text, start, len(text))
    assert searcher_within(PATTERN)(text, start, end) == plain_search(text, start, end)
    assert list(spans(searcher(PATTERN), text)) == [match.span() for match in PATTERN.finditer(text)]


_REGISTRY = re.compile(r'(?P<country>[A-Z]{2}) .*bban="(?P<form>[^"]+)"')


def _merged(form: str) -> str:
    """`4!a6!n8!n` -> `4a14n`: runs of one kind are one."""
    runs = re.findall(r"(\d+)!?([nac])", form)
    grouped = (
        (kind, sum(int(count) for count, _ in each)) for kind, each in itertools.groupby(runs, key=lambda run: run[1])
    )
    return "".join(f"{count}{kind}" for kind, count in grouped)


def test_the_forms_are_those_of_the_registry() -> None:
    lines = (Path(stdnum.__file__).parent / "iban.dat").read_text().splitlines()
    forms = {match["country"]: _merged(match["form"]) for line in lines if (match := _REGISTRY.match(line))}
    assert len(forms) > 80 and forms == iban._FORMS


@pytest.mark.slow
def test_a_number_of_a_plan_is_one_for_the_parser() -> None:
    source = random.Random(3)
    examples = [
        phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)[1:].encode()
        for region in phonenumbers.SUPPORTED_REGIONS
        for kind in (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
        if (number := phonenumbers.example_number_for_type(region, kind)) is not None
    ]
    for example in examples:
        assert judge_number(example) == "valid", example
        chars = bytearray(example)
        chars[source.randrange(len(chars))] = source.choice(b"0123456789 ")
        assert judge_number(bytes(chars)) != "valid" or parse_number(bytes(chars)) == "valid", chars


def test_a_long_list_of_numbers_is_masked_number_by_number() -> None:
    text = "".join(f"Jane Roe {n}, +44 20 7946 {n:04d}\n" for n in range(2_000))
    assert {value[:3] for value in found(text)} == {"+44"}
