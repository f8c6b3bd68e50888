"""Values whose pieces a stream hands out in turn with pieces of another text."""

from typing import Any

import pytest

from tests.flows.test_split_values import CARD, SETTINGS
from tests.support import upstream as up
from tests.support.asking import ask_stream, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream) + SETTINGS)


KEY = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"


async def streamed(server: Gateway) -> list[Any]:
    return list((await ask_stream(server))[1])


def joined(value: Any, name: str = "", into: dict[str, str] | None = None) -> dict[str, str]:
    """The strings at each place of the events, one behind the other, as a reader joins them."""
    into = {} if into is None else into
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in ("id", "item_id", "signature"):
                joined(each, f"{name}.{key}", into)
    elif isinstance(value, list):
        for each in value:
            joined(each, f"{each['type']}{name}" if isinstance(each, dict) and "type" in each else name, into)
    elif isinstance(value, str):
        into[name] = into.get(name, "") + value
    return into


@pytest.mark.parametrize(
    ("channel", "other", "others"),
    [
        ("content", "reasoning_content", 1),
        ("content", "reasoning_content", 100),
        ("reasoning_content", "content", 1),
        ("refusal", "reasoning_content", 1),
    ],
)
async def test_a_value_whose_pieces_alternate_with_another_text_is_masked(
    server: Gateway, upstream: Upstream, channel: str, other: str, others: int
) -> None:
    text = f"the key is {KEY}, the card {CARD}."
    pieces = [text[index : index + 5] for index in range(0, len(text), 5)]
    chunks = [up.chunk(delta) for piece in pieces for delta in ({channel: piece}, *[{other: "or "}] * others)]
    upstream.will(up.stream(*chunks, up.chunk({}, "stop"), up.DONE))
    got = joined(await streamed(server))
    for shown in got.values():
        assert KEY[8:16] not in shown and KEY[-12:] not in shown and "1488" not in shown and "0343" not in shown
    masked = [shown for shown in got.values() if "[REDACTED:SECRET], the card [REDACTED:CREDIT_CARD]." in shown]
    assert len(masked) == 1
