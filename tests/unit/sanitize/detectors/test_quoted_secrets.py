"""Secrets in text that other text quotes: rows of base64, elements in escaped HTML or JSON, a token in an address."""

import base64
import textwrap

import pytest

from gateway.sanitize.findings import masked
from gateway.sanitize.scanner import Scanner

TOKEN = "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"
PASSWORD = "wrkcr!258LewmC8"


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in Scanner().scan(text) if each.certain]


@pytest.mark.parametrize("width", [60, 64, 76])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("before", range(30, 80, 7))
def test_a_token_in_rows_of_base64_is_masked_with_its_rows_alone(width: int, indent: str, before: int) -> None:
    plain = f"{'a line of settings ' * 9}{'x' * before}\nGITHUB_TOKEN={TOKEN}\n{'more words ' * 20}"
    rows = textwrap.wrap(base64.b64encode(plain.encode()).decode(), width)
    text = "data: |\n" + "".join(f"{indent}{row}\n" for row in rows) + "end"
    left = masked(text, Scanner().scan(text))
    assert "[REDACTED:SECRET]" in left
    head = "".join(left.partition("[")[0].removeprefix("data: |\n").split())
    assert TOKEN[4:8] not in base64.b64decode(head[: len(head) // 4 * 4]).decode()
    assert rows[0] in left and rows[-1] in left


def test_rows_of_base64_that_are_no_text_are_left_alone() -> None:
    rows = textwrap.wrap(base64.b64encode(bytes(range(256)) * 4).decode(), 76)
    assert found("\n".join(rows)) == []


@pytest.mark.parametrize(
    "text",
    [
        f"&lt;password&gt;{PASSWORD}&lt;/password&gt;",
        f'{{"x": "\\u003cpassword\\u003e{PASSWORD}\\u003c/password\\u003e"}}',
        f'"Jwt": {{ "SigningKey": "{PASSWORD}" }}',
    ],
)
def test_a_password_in_a_quoted_element_is_found_and_nothing_beside_it(text: str) -> None:
    assert found(text) == [PASSWORD]


def test_a_bot_token_is_found_in_the_address_of_its_interface() -> None:
    token = "bot7225642973:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw4"
    assert found(f"https://api.telegram.org/{token}/getMe") == [token]
