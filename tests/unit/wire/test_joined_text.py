"""Long texts that are joined without standing twice, and what is taken out of a body meanwhile."""

import copy
import gc
from typing import Any

import orjson
import pytest

from gateway.domain import Json
from gateway.long_texts import LONG_CHARS, Utf8Text
from gateway.wire.joined_text import joined_text, taken
from gateway.wire.json_default import as_json
from gateway.wire.json_drain import EncodedJson
from gateway.wire.messages.request import to_chat as chat_of_messages
from gateway.wire.responses.request import to_chat as chat_of_responses

WIDE = "words and an emoji \U0001f600 " * 300
TEXTS = [f"{number} {WIDE}" for number in range(LONG_CHARS // len(WIDE) + 20)]


@pytest.mark.parametrize("texts", [[], [""], ["a", "b"], ["", "ä" * LONG_CHARS, ""], ["a" * LONG_CHARS, "b"], TEXTS])
@pytest.mark.parametrize("separator", ["", "\n\n"])
def test_the_joined_text_is_that_of_python(texts: list[str], separator: str) -> None:
    assert joined_text(texts.copy(), separator) == separator.join(texts)


def test_long_texts_that_are_not_ascii_are_let_go_and_others_are_not_touched() -> None:
    wide, plain = TEXTS.copy(), ["a" * LONG_CHARS] * 2
    joined_text(wide, "")
    joined_text(plain, "")
    assert wide == [] and len(plain) == 2


def test_a_list_that_is_owned_is_empty_when_its_last_item_is_given() -> None:
    items = ["a", "b", "c"]
    assert list(taken(items, is_owned=False)) == [(0, "a"), (1, "b"), (2, "c")] and items == ["a", "b", "c"]
    assert [(at, item, len(items)) for at, item in taken(items, is_owned=True)] == [
        (0, "a", 2), (1, "b", 1), (2, "c", 0),
    ]  # fmt: skip


def _items() -> list[Json]:
    parts = [{"type": "input_text", "text": text} for text in TEXTS]
    answers = [{"type": "output_text", "text": text} for text in TEXTS]
    call: Json = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    return [
        {"role": "system", "content": WIDE}, {"role": "developer", "content": copy.deepcopy(parts)},
        {"role": "user", "content": copy.deepcopy(parts)}, {"role": "assistant", "content": answers},
        {"role": "assistant", "content": WIDE}, call,
        {"type": "function_call_output", "call_id": "c", "output": copy.deepcopy(parts)},
        {"role": "user", "content": "hi"},
    ]  # fmt: skip


def test_a_responses_request_that_is_let_go_is_translated_as_any_other_and_its_items_are_gone() -> None:
    body: Json = {"model": "m", "instructions": _items()[:2], "input": _items()}
    history = [{"role": "user", "content": WIDE}]
    expected = chat_of_responses(copy.deepcopy(body), copy.deepcopy(history)).body
    told, sent = orjson.dumps(body["instructions"]), body["input"]
    assert chat_of_responses(body, history, is_owned=True).body == expected
    assert sent == body["input"] == history == []
    assert type(body["instructions"][0]["content"]) is Utf8Text
    assert orjson.dumps(body["instructions"], default=as_json) == told


def test_a_messages_request_that_is_let_go_is_translated_as_any_other_and_its_texts_are_gone() -> None:
    blocks = [{"type": "text", "text": text} for text in TEXTS]
    image = {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}
    use, result = {"type": "tool_use", "id": "t", "name": "f", "input": {}}, {"type": "tool_result", "tool_use_id": "t"}
    search = {"type": "search_result", "source": "https://a.example", "title": "t", "content": blocks[:3]}
    messages: list[Json] = [
        {"role": "user", "content": [*blocks, search]}, {"role": "user", "content": blocks},
        {"role": "user", "content": [*blocks, image, *blocks]}, {"role": "assistant", "content": [*blocks, use]},
        {"role": "user", "content": [{**result, "content": blocks}, *blocks]}, {"role": "assistant", "content": WIDE},
        {"role": "user", "content": WIDE},
    ]  # fmt: skip
    body: Json = {"model": "m", "max_tokens": 9, "system": blocks, "messages": messages}
    expected = chat_of_messages(copy.deepcopy(body), 8)
    owned = orjson.loads(orjson.dumps(body))  # a decoded body shares no list
    assert chat_of_messages(owned, 8, is_owned=True) == expected
    assert b"emoji" not in orjson.dumps(owned)


def test_a_translated_request_leaves_nothing_to_the_garbage_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        chat_of_responses({"model": "m", "input": _items()}, [], is_owned=True)
        chat_of_messages({"model": "m", "messages": [{"role": "user", "content": WIDE}]}, 8, is_owned=True)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_text_that_stays_does_not_keep_its_utf8() -> None:
    def size_of(value: Any) -> int:
        return sum(text.__sizeof__() for text in value)

    texts = [f"{number} {WIDE}" for number in range(99)]
    before = size_of(texts)
    encoded = EncodedJson.of(texts, is_owned=False)
    assert size_of(texts) == before and orjson.loads(b"".join(encoded.parts)) == texts
