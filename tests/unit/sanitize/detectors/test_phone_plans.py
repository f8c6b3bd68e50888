"""What the numbering plans say of a number is what `phonenumbers` says of it, where they say anything."""

import random

import phonenumbers
import pytest

from gateway.sanitize.detectors.phones import judge_number


@pytest.mark.slow
def test_a_plan_s_word_is_the_parser_s() -> None:
    source = random.Random(3)
    examples = [
        phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)[1:]
        for region in phonenumbers.SUPPORTED_REGIONS
        for kind in (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
        if (number := phonenumbers.example_number_for_type(region, kind)) is not None
    ]
    known = 0
    for example in examples:
        for changes in range(3):
            chars = list(example)
            for _ in range(changes):
                chars[source.randrange(len(chars))] = source.choice("0123456789 ")
            text = "".join(chars)
            word = judge_number(text.encode())
            known += word != "unknown"
            assert word in ("unknown", _parsed(text)), text
    assert known > len(examples) * 2


def _parsed(text: str) -> str:
    try:
        number = phonenumbers.parse("+" + text, None)
    except phonenumbers.NumberParseException:
        return "none"
    if phonenumbers.is_valid_number(number):
        return "valid"
    return "possible" if phonenumbers.is_possible_number(number) else "none"
