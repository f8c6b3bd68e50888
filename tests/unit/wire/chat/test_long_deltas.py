"""A long text in one chunk is sent on as several short ones; counts that cannot be true are estimated."""

import time
from typing import Any

import orjson
import pytest

from gateway.wire.chat.answer import AnswerContext, normalise_usage
from gateway.wire.chat.long_deltas import DELTA_CHARS, Short, short_deltas
from gateway.wire.chat.stream import ChatStream
from gateway.wire.json_default import as_json
from gateway.wire.logprobs import PackedLogprobs
from gateway.wire.untrusted_json import MAX_COUNT


def tokens(text: str, size: int = 5) -> list[dict[str, Any]]:
    return [{"token": text[at : at + size], "logprob": -1.0} for at in range(0, len(text), size)]


def short(delta: dict[str, Any], logprobs: Any) -> list[Short]:
    return [each for each in short_deltas(delta, logprobs) if each is not None]


@pytest.mark.parametrize("name", ["content", "reasoning_content", "refusal"])
def test_a_long_text_becomes_short_ones_that_are_the_same_text(name: str) -> None:
    text = "".join(f"w{number} " for number in range(20_000))
    cut = short({name: text}, None)
    assert "".join(delta[name] for delta, _ in cut) == text
    assert max(len(delta[name]) for delta, _ in cut) <= DELTA_CHARS and len(cut) == -(-len(text) // DELTA_CHARS)


def test_each_short_text_keeps_the_probabilities_of_its_own_tokens() -> None:
    text = "abcdefgh " * 4_000
    cut = short({"content": text}, {"content": tokens(text), "refusal": None})
    assert len(cut) > 1
    for delta, logprobs in cut:
        assert "".join(each["token"] for each in logprobs["content"]) == delta["content"]
    assert "".join(delta["content"] for delta, _ in cut) == text


@pytest.mark.parametrize("odd", [tokens("other " * 9_000), [None] * 2_000, [{"token": 5}] * 2_000])
def test_probabilities_of_another_text_are_left_out_of_a_long_one(odd: list[Any]) -> None:
    cut = short({"content": "a" * 20_000}, {"content": odd})
    assert [logprobs for _, logprobs in cut] == [None, None]
    assert short({"content": "a"}, {"content": odd[:9]}) == [({"content": "a"}, {"content": odd[:9]})]


def test_a_stream_of_one_long_chunk_gives_several_events_and_one_role() -> None:
    text = "word " * 20_000
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    events, fault = ChatStream(AnswerContext("m", "p", "u", time.perf_counter())).take([orjson.dumps(chunk)])
    deltas = [event.data["choices"][0]["delta"] for event in events if event.data]
    assert fault is None and deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta["content"] for delta in deltas) == text and len(deltas) == 1 + -(-len(text) // DELTA_CHARS)


@pytest.mark.parametrize("odd", [-5, True, "7", 1.5, MAX_COUNT + 1, None, [3]])
def test_a_count_that_cannot_be_one_is_estimated(odd: Any) -> None:
    usage, estimated = normalise_usage({"prompt_tokens": odd, "completion_tokens": 3, "x_tokens": odd}, lambda: 40, 8)
    assert estimated and usage == {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}


def test_packed_probabilities_are_cut_with_their_text() -> None:
    tokens = [{"token": f"w{number} ", "logprob": -0.5, "bytes": None} for number in range(5_000)]
    packed = PackedLogprobs.of({"content": tokens, "refusal": None})
    text = "".join(str(each["token"]) for each in tokens)
    cut = short({"content": text}, packed)
    assert len(cut) > 4 and "".join(delta["content"] for delta, _ in cut) == text
    found = [orjson.loads(orjson.dumps(logprobs, default=as_json)) for _, logprobs in cut]
    assert [token for each in found for token in each["content"]] == tokens
    assert all(each["refusal"] is None for each in found)


def test_packed_probabilities_of_another_text_stay_beside_a_short_one_alone() -> None:
    packed = PackedLogprobs.of({"content": [{"token": "b", "logprob": -0.5}] * 5_000})
    assert short({"content": "hi"}, packed) == [({"content": "hi"}, packed)]
    assert {logprobs for _, logprobs in short({"content": "a" * 100_000}, packed)} == {None}


@pytest.mark.parametrize("name", ["tool_calls", "function_call"])
def test_long_arguments_become_short_ones_and_the_call_is_named_once(name: str) -> None:
    arguments = "\U0001f600" + "".join(f"w{number} " for number in range(20_000))
    call = {"index": 3, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    cut = [delta[name] for delta, _ in short({name: [call] if name == "tool_calls" else call["function"]}, None)]
    functions = [each[0]["function"] if name == "tool_calls" else each for each in cut]
    assert "".join(each["arguments"] for each in functions) == arguments
    assert max(len(each["arguments"]) for each in functions) <= DELTA_CHARS
    assert [each.get("name") for each in functions] == ["f"] + [None] * (len(cut) - 1)
    if name == "tool_calls":
        assert [set(each[0]) for each in cut[1:]] == [{"index", "function"}] * (len(cut) - 1)
        assert {each[0]["index"] for each in cut} == {3} and cut[0][0]["id"] == "c"
