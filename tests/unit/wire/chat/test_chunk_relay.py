"""Relaying by bytes against its naive form: decode the chunk, put its text into our chunk, encode that."""

import random
from typing import Any

import orjson
import pytest

from gateway.wire import sse
from gateway.wire.chat.chunk_relay import ChunkPattern, split_around_content

ALPHABET = [
    *"abc XYZ 0", "ä", "字", "😀", '\\"', "\\\\", "\\n", "\\u00e4", "\\u0000", "\\ud83d\\ude00", "\\ud800", '"', "\\",
    "\n", "\x00", "\u2028", "\\x", "\\u12", '","content":"', '"}', "}]",
]  # fmt: skip


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "up1", "model": "m", "choices": [{"index": 0, "delta": {"content": text}, **more}]}


def ours(text: str) -> dict[str, Any]:
    return {"id": "ours", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def pattern() -> ChunkPattern[None]:
    theirs, mine = split_around_content(orjson.dumps(chunk("a"))), split_around_content(orjson.dumps(ours("a")))
    assert theirs is not None and mine is not None
    return ChunkPattern(None, 0, theirs, mine)


def naive(data: bytes) -> Any:
    """Our chunk for one that differs from the learnt one in its text alone; None for any other."""
    try:
        decoded = orjson.loads(data)
        text = decoded["choices"][0]["delta"]["content"]
    except (orjson.JSONDecodeError, TypeError, KeyError, IndexError):
        return None
    return ours(text) if isinstance(text, str) and decoded == chunk(text) else None


@pytest.mark.slow
def test_what_is_relayed_equals_the_naive_form() -> None:
    chance, learnt, relayed = random.Random(20261122), pattern(), 0
    for _ in range(20_000):
        text = "".join(chance.choices(ALPHABET, k=chance.randrange(8)))
        data = learnt.before + text.encode() + learnt.after
        if chance.random() < 0.3:  # damage anywhere
            at = chance.randrange(len(data))
            data = data[:at] + chance.choice([b"", b'"', b"\\", b"\xff", b"{"]) + data[at + chance.randrange(2) :]
        event = next(iter(learnt.run([data])), None)
        if event is not None:
            relayed += 1
            assert event.raw is not None and orjson.loads(event.raw[5:]) == naive(data)
            assert event.text == naive(data)["choices"][0]["delta"]["content"]
    assert relayed > 2_000


@pytest.mark.parametrize("text", ["a", "ä 字 😀", 'said "so"', "two\nlines", "tab\t", "\x7f", " "])
def test_every_plain_text_is_relayed(text: str) -> None:
    [event] = pattern().run([orjson.dumps(chunk(text))])
    assert orjson.loads((event.raw or b"")[5:]) == ours(text)


def test_a_relayed_text_can_be_replaced() -> None:
    learnt = pattern()
    [event] = learnt.run([orjson.dumps(chunk("secret"))])
    slot = learnt.slot_of(event)
    assert slot.text == "secret"
    slot.text = 'new "text"'
    assert orjson.loads(sse.encode(event)[5:]) == ours('new "text"')


TEXT_ELSEWHERE = [
    chunk("a", logprobs={"content": "a"}), {"content": "a", "choices": [{"delta": {"role": "assistant"}}]},
    {"choices": [{"delta": {"content": "a"}}, {"delta": {}}]}, {"choices": [{"delta": {"tool": 1}}]},
]  # fmt: skip


@pytest.mark.parametrize("data", TEXT_ELSEWHERE)
def test_a_chunk_with_its_text_elsewhere_is_not_learnt(data: Any) -> None:
    assert split_around_content(orjson.dumps(data)) is None
