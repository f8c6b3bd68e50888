"""Security codes of cards, drawn passwords in Terraform's state, sealed CI variables, login tokens, paging tokens."""

import pytest

from gateway.sanitize.scanner import Scanner

SCANNER = Scanner()
RESULT = "uK3!fjs9Dk2#pq8Lm"


def secrets(text: str) -> list[tuple[str, bool]]:
    return [(text[each.start : each.end], each.certain) for each in SCANNER.scan(text) if each.entity == "SECRET"]


@pytest.mark.parametrize(
    ("text", "value", "certain"),
    [
        ("CVV: 605", "605", True),
        ('{"cvc2": "6052"}', "6052", True),
        ("the card security code is 605", "605", False),
        ("her CVV 605 was wrong", "605", False),
        ("the wifi password at the Leeds office is xlTy7VF154Yw, please", "xlTy7VF154Yw", True),
        ("'PASSWORD': 'Dolphin844&', 'HOST': 'db'", "Dolphin844&", False),
        ("'PASSWORD': 'Dolphin84Kt47&', 'HOST': 'db'", "Dolphin84Kt47&", True),
    ],
)
def test_a_code_or_token_right_behind_its_label_is_found(text: str, value: str, certain: bool) -> None:
    assert secrets(text) == [(value, certain)]


@pytest.mark.parametrize(
    "text",
    [
        "The CVV has 3 digits; the CVC2 was introduced in 1997.",
        "cvv: 123",
        "CVV 605-17 is a part number, CVV 605.5 a measure, cvv_605 a column",
        '{"type": "random_string", "attributes": {"length": 8, "result": "ab12cd34xy"}}',
        '{"type": "random_password", "attributes": {"result": "${var.password}"}}',
        f'{{"type": "random_password"}}, {{"type": "random_id", "result": "{RESULT}"}}',
        "cookie:\n  secure: true\n  sameSite: strict",
        "user.login = deploy-robot-production",
        '"nextPageToken": "Ri_AzENJOygDCJ9nbN08jQLoYthKurhu"',
        "continuation_token=pydDFOQR5rDXWbDWpxQMb66cxV2oATbe",
    ],
)
def test_examples_measures_flags_and_paging_tokens_are_left(text: str) -> None:
    assert secrets(text) == []


def test_a_publishable_key_is_only_likely_whatever_its_name_says() -> None:
    assert secrets("NEXT_PUBLIC_STRIPE_KEY=pk_test_jFMsJ7mWW5q8dws4XrX7zOU9") == [
        ("pk_test_jFMsJ7mWW5q8dws4XrX7zOU9", False)
    ]
