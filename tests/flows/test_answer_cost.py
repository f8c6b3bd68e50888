"""Answers of upstreams that cost more than they look: texts of which Python takes four bytes for each character."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from bench.answer_shapes import NATIVE, ROUTES, item_of
from bench.body_shapes import MAX_BLOCK_S, MAX_TIMES
from tests.support.loop_block import SETTINGS, MeasuredGateway

Json = dict[str, Any]
_PLAIN = "plain text of one byte a character "
_TEXTS = {
    "one emoji": "\U0001f600" + _PLAIN * 30_000,
    "many, and a value": ("\U0001f600" + _PLAIN) * 30_000 + " password: hunter2Xk9!zQ and ",
}
_FIELDS = {"text": "content", "reasoning": "reasoning_content", "refusal": "refusal"}


@pytest.fixture(scope="module", params=["sanitized", "as it is"])
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredGateway]:
    settings = SETTINGS if request.param == "sanitized" else SETTINGS.replace('"websearch", "chat", "responses"', "")
    with MeasuredGateway(tmp_path_factory.mktemp("measured"), settings + NATIVE) as measured:
        assert isinstance(measured, MeasuredGateway)
        yield measured


def message(place: str, text: str) -> Json:
    """A chat message, or a delta, with a text in one place."""
    if place != "arguments":
        return {"role": "assistant", "content": None, _FIELDS[place]: text}
    function = {"name": "f", "arguments": orjson.dumps({"a": text}).decode()}
    calls = [{"index": 0, "id": "c0", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def cut(delta: Json, number: int) -> Iterator[Json]:
    """The delta in so many pieces."""
    calls = delta.get("tool_calls")
    name = next((name for name in _FIELDS.values() if delta.get(name)), "")
    text = calls[0]["function"]["arguments"] if calls else delta[name]
    size = -(-len(text) // number)
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        if not calls:
            yield {name: piece}
        else:
            head = {} if start else {"id": "c0", "type": "function"}
            yield {"tool_calls": [{"index": 0, **head, "function": {"name": "" if start else "f", "arguments": piece}}]}


def answers(kind: str, place: str, text: str, pieces: int) -> list[Json]:
    """The upstream's events, or with no pieces its one answer."""
    if kind == "native":
        item = item_of(place, text)
        whole = {"id": "r", "status": "completed", "output": [item]}
        if not pieces:
            return [whole]
        opened = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
        done = {"type": "response.output_item.done", "output_index": 0, "item": item}
        return [{"type": "response.created", "response": {"id": "r", "output": []}}, opened, done,
                {"type": "response.completed", "response": whole}]  # fmt: skip
    made = message(place, text)
    if not pieces:
        return [{"id": "c", "choices": [{"index": 0, "message": made, "finish_reason": "stop"}]}]
    chunks: list[Json] = [{"id": "c", "choices": [{"index": 0, "delta": each}]} for each in cut(made, pieces)]
    return [*chunks, {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


@pytest.mark.slow
@pytest.mark.parametrize("place", [*_FIELDS, "arguments"])
@pytest.mark.parametrize("kind", ROUTES)
def test_a_wide_answer_takes_a_few_times_its_bytes(gateway: MeasuredGateway, kind: str, place: str) -> None:
    path, asked = ROUTES[kind]
    for name, text in _TEXTS.items():
        for pieces in (0, 1, 100):
            sent_by_them = answers(kind, place, text, pieces)
            body = {"model": "Native" if kind == "native" else "SvcLLM", **asked, "stream": pieces > 0}
            with gateway.streaming(*sent_by_them) if pieces else gateway.answering(sent_by_them[0]) as sent:
                cost = gateway.send(path, orjson.dumps(body))
                if cost.memory_bytes > MAX_TIMES * sent or cost.block_s > MAX_BLOCK_S * sent / (1 << 20):
                    cost = gateway.send(path, orjson.dumps(body))  # the first of a kind also fills caches that stay
            assert cost.status == 200, (name, pieces)
            assert cost.memory_bytes <= MAX_TIMES * sent, (name, pieces, cost.memory_bytes / sent)
            assert cost.block_s <= MAX_BLOCK_S * sent / (1 << 20), (name, pieces)
