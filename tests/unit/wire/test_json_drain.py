"""JSON that is kept encoded, as a text."""

import random
import sys

import orjson
import pytest

from gateway.resilience.slices import all_steps
from gateway.wire.json_drain import EncodedJson, is_long
from gateway.wire.messages.request import to_chat


@pytest.mark.parametrize("seed", range(20))
def test_the_text_of_encoded_json_is_the_same_document(seed: int) -> None:
    rng = random.Random(seed)
    value = {
        "".join(rng.choices('ab\\"/\x00\n\x7fя中😀u0041', k=rng.randrange(300))): "x" * rng.choice((0, 9_000))
        for _ in range(rng.choice((1, 100)))
    }
    encoded = EncodedJson.of(value, is_owned=False)
    assert orjson.loads(all_steps(encoded.text_steps())) == value
    assert encoded.parts == []


def test_one_emoji_does_not_make_a_long_text_four_times_as_large() -> None:
    value = {"text": 'plain words 中 \\ " ' * 60_000 + "😀"}
    text = all_steps(EncodedJson.of(value, is_owned=False).text_steps())
    assert sys.getsizeof(text) < 2 * len(orjson.dumps(value))
    assert orjson.loads(text) == value


@pytest.mark.parametrize("letters", ["中文", "😀🚀", "plain"])
def test_a_text_that_escapes_would_make_larger_has_none(letters: str) -> None:
    value = {"text": letters * 70_000}
    assert all_steps(EncodedJson.of(value, is_owned=False).text_steps()) == orjson.dumps(value).decode()


def test_the_arguments_of_a_large_messages_request_take_a_byte_a_character() -> None:
    given = {"page": "plain words " * 60_000 + "😀"}
    blocks = [{"type": "tool_use", "id": "t", "name": "f", "input": dict(given)}]
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}],
    }
    sent = to_chat(body, 8, is_owned=True)["messages"]
    arguments = next(each["tool_calls"] for each in sent if each.get("tool_calls"))[0]["function"]["arguments"]
    assert arguments.isascii() and orjson.loads(arguments) == given


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": ["short", {"b": 1.5}]}, False),
        ({"a": [{"b": ["w" * 40_000, "w" * 40_000]}]}, True),
        ({"numbers": [0.5] * 3_000, "text": "short"}, False),
        ({"numbers": [0.5] * 3_000, "text": "w" * 70_000}, True),
        ({"text": "w" * 70_000, "numbers": [0.5] * 3_000}, True),
        ([{"b": 1}] * 3_000, True),
    ],
)
def test_a_value_is_long_by_its_text_or_by_very_many_values(value: object, expected: bool) -> None:
    assert is_long(value) is expected
