"""Clever searches beside the plain ones they must equal."""

import ipaddress
import itertools
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.sanitize.detectors.cards import SEPARATORS, digit_runs
from gateway.sanitize.detectors.mail_and_net import find_ip_addresses
from gateway.sanitize.detectors.value_forms import alternates_kinds
from gateway.sanitize.detectors.vendor_tokens import FORMS, find_secret_tokens
from gateway.sanitize.folding import View
from gateway.sanitize.work_budget import WorkBudget


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
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
@settings(max_examples=300, deadline=None)
@given(st.text("0123456789 .-/x+", max_size=40))
def test_runs_of_digits_are_those_of_a_plain_search(text: str) -> None:
    view = View(text)
    runs = digit_runs(view, WorkBudget(len(text)), short=True, min_plain_digits=0, decimals=True)
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
@settings(max_examples=300, deadline=None)
@given(st.text("abAB12-", max_size=40), st.integers(1, 12))
def test_changes_of_kind_are_those_counted_pair_by_pair(value: str, min_pairs: int) -> None:
    def kind(char: str) -> str:
        return "d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "-"

    pairs = len(value) - 1 - 2 * value.count("-")
    changes = sum(kind(a) != kind(b) and "-" not in (a, b) for a, b in itertools.pairwise(value))
    expected = pairs >= min_pairs and changes * 20 >= 9 * pairs
    assert alternates_kinds(value.encode(), min_pairs) == expected
