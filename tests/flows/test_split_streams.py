"""Values whose pieces a stream hands out in turn with pieces of another text."""

from typing import Any

import pytest

from tests.flows.test_split_values import CARD, SETTINGS, item_events, texts_of
from tests.support import upstream as up
from tests.support.asking import send, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.rich_bodies import RESPONSE_ANSWER
from tests.support.upstream import Upstream


@pytest.fixture
async def server(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + SETTINGS)


@pytest.fixture
async def native(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream, responses="'native'") + SETTINGS)


ROUTES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "x"}]},
    "/v1/responses": {"input": "x"},
    "/v1/messages": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 50,
                     "thinking": {"type": "enabled", "budget_tokens": 1024}},
}  # fmt: skip
KEY = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"


async def streamed(server: InProcessGateway, path: str) -> list[Any]:
    return list((await send(server, path, {"model": "SvcLLM", "stream": True, **ROUTES[path]}))[1])


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
@pytest.mark.parametrize("path", ROUTES)
async def test_a_value_whose_pieces_alternate_with_another_text_is_masked(
    server: InProcessGateway, upstream: Upstream, path: str, channel: str, other: str, others: int
) -> None:
    text = f"the key is {KEY}, the card {CARD}."
    pieces = [text[index : index + 5] for index in range(0, len(text), 5)]
    chunks = [up.chunk(delta) for piece in pieces for delta in ({channel: piece}, *[{other: "or "}] * others)]
    upstream.will(up.stream(*chunks, up.chunk({}, "stop"), up.DONE))
    got = joined(await streamed(server, path))
    for shown in got.values():
        assert KEY[8:16] not in shown and KEY[-12:] not in shown and "1488" not in shown and "0343" not in shown
    masked = [shown for shown in got.values() if "[REDACTED:SECRET], the card [REDACTED:CREDIT_CARD]." in shown]
    assert len(masked) == {"/v1/responses": 5}.get(path, 1)


async def test_a_refusal_and_a_text_that_alternate_are_each_masked(
    server: InProcessGateway, upstream: Upstream
) -> None:
    pieces = [KEY[index : index + 5] for index in range(0, len(KEY), 5)]
    chunks = [up.chunk(delta) for piece in pieces for delta in ({"content": piece}, {"refusal": piece})]
    upstream.will(up.stream(*chunks, up.chunk({}, "stop"), up.DONE))
    events = await streamed(server, "/v1/responses")
    for kind in ("output_text", "refusal"):
        shown = "".join(each["delta"] for each in events if each["type"] == f"response.{kind}.delta")
        assert shown.endswith("[REDACTED:SECRET]") and len(shown) < len("ghp_x[REDACTED:SECRET]") + 1


async def test_equal_pieces_of_a_value_are_masked_in_the_items_that_repeat_them(
    native: InProcessGateway, upstream: Upstream
) -> None:
    pieces = ("card 4539 1", "488 1", "488 1", "008 as you asked")
    events = [event for number, piece in enumerate(pieces) for event in item_events(number, piece)]
    output = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    ends = {"type": "response.completed", "response": {**RESPONSE_ANSWER, "output": output}}
    upstream.will(up.stream(*(up.frame(event) for event in [*events, ends]), up.DONE))
    got = await streamed(native, "/v1/responses")
    deltas = [event["delta"] for event in got if event["type"].endswith("text.delta")]
    done = [event["text"] for event in got if event["type"] == "response.output_text.done"]
    assert deltas == done == texts_of(got[-1]["response"]) == ["card [REDACTED:CREDIT_CARD]", "", "", " as you asked"]
