"""Secrets in rows of base64, as files of settings quote other files."""

import base64
import textwrap

import pytest

from tests.support.scanned import found, mask

TOKEN = "ghp_Zk3vTq9LmX2cWb7RyN5dHs8JfUa4Pe1oGt6K"


@pytest.mark.parametrize("width", [60, 64, 76])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("before", range(30, 80, 7))
def test_a_token_in_rows_of_base64_is_masked_with_its_rows_alone(width: int, indent: str, before: int) -> None:
    plain = f"{'a line of settings ' * 9}{'x' * before}\nGITHUB_TOKEN={TOKEN}\n{'more words ' * 20}"
    rows = textwrap.wrap(base64.b64encode(plain.encode()).decode(), width)
    text = "data: |\n" + "".join(f"{indent}{row}\n" for row in rows) + "end"
    left = mask(text)
    assert "[REDACTED:SECRET]" in left
    head = "".join(left.partition("[")[0].removeprefix("data: |\n").split())
    assert TOKEN[4:8] not in base64.b64decode(head[: len(head) // 4 * 4]).decode()
    assert rows[0] in left and rows[-1] in left


def test_rows_of_base64_that_are_no_text_are_left_alone() -> None:
    rows = textwrap.wrap(base64.b64encode(bytes(range(256)) * 4).decode(), 76)
    assert found("\n".join(rows), certain=True) == []
