"""What the numbering plans say of a number is what the parser of `phonenumbers` says of it."""

import random

import phonenumbers
import pytest

from gateway.sanitize.detectors.phones import judge_number, parse_number
from tests.support.scanned import found


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
