"""Whole answers of upstreams are decoded as `json` does, in turns with others; too many values are refused."""

import json

import orjson
import pytest

from gateway.config.settings import Upstream
from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.large_answers import MAX_EVENT_VALUES, MAX_VALUES, checked_events, decoded_answer
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.resilience.slices import all_steps
from gateway.wire import sse
from gateway.wire.decoded_event import event_value, let_go
from gateway.wire.json_default import as_json
from gateway.wire.logprobs import PackedLogprobs, spell
from tests.support.loop_turns import turns_of_others
from tests.support.websites import Site, serving


@pytest.mark.slow
async def test_a_large_answer_equals_its_plain_decoding_and_others_run_meanwhile() -> None:
    value = {"id": "c", "x": [{"a": number % 300, "b": ["é", None, 0.5]} for number in range(100_000)]}
    async with turns_of_others() as turns:
        assert await decoded_answer(orjson.dumps(value)) == value
    assert turns.count > 20  # 3 MB in one go: two


@pytest.mark.parametrize("data", [b"{", b'{"a":1}x', b"[" * 300_000 + b"]" * 300_000, b'{"a":"' + b"x" * 300_000])
async def test_what_is_no_json_is_none(data: bytes) -> None:
    assert await decoded_answer(data) is None


@pytest.mark.slow
async def test_more_values_than_any_answer_has_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(UpstreamError, match=f"limit is {MAX_VALUES}"):
        await decoded_answer(b"[" + b"{}," * MAX_VALUES + b"{}]")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["event", "event without an end", "whole"])
async def test_an_event_of_very_many_values_ends_the_stream(form: str) -> None:
    many = orjson.dumps({"choices": [], "more": ["ab"] * (MAX_EVENT_VALUES + 1)})
    texts = orjson.dumps({"choices": [], "more": "a, b, c: [{}] " * 100_000})
    kind = "application/json" if form == "whole" else "text/event-stream"
    for data, is_refused in ((many, True), (texts, False)):
        body = data if form == "whole" else b"data: " + data + (b"\n\n" if form == "event" else b"")
        site = Site({"/v1/chat/completions": (200, {"Content-Type": kind}, body)})
        async with serving(site):
            upstream = OpenAICompatUpstream("one", Upstream(f"{site.url}/v1", "m"))
            events = upstream.stream({"model": "m", "messages": [], "stream": True}, RequestStats())
            try:
                if is_refused:
                    with pytest.raises(UpstreamError, match=f"limit is {MAX_EVENT_VALUES}"):
                        await anext(events)
                else:
                    assert [event_value(each) for each in await anext(events)] == [orjson.loads(data)]
            finally:
                await events.aclose()
                await upstream.close()


def _token(word: str, alternatives: int = 5) -> dict[str, object]:
    one: dict[str, object] = {"token": word, "logprob": -0.25, "bytes": list(word.encode())}
    return {**one, "top_logprobs": [one] * alternatives}


def _lines(spelt: str) -> list[str]:
    return sorted(line for line in spelt.split("\n") if line)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["long object", "long list", "many short ones"])
async def test_log_probabilities_of_a_large_answer_stay_json_and_spell_what_they_did(form: str) -> None:
    words = [" a", "é", "😀", '"', "\\", "{[", "word,"]
    tokens = [_token(words[number % 7]) for number in range(4_000)]
    found: dict[str, object] = {"content": tokens, "refusal": None}
    choices = [{"index": 0, "message": {"content": "x"}, "logprobs": tokens if form == "long list" else found}]
    if form == "many short ones":
        choices = [{"index": number, "logprobs": {"content": tokens[number : number + 40]}} for number in range(100)]
    value = {"id": "c", "choices": choices, "end": [1, 2.5, "x"]}
    decoded = await decoded_answer(orjson.dumps(value), utf8_names=frozenset())
    assert isinstance(decoded, dict) and isinstance(decoded["choices"], list)
    assert orjson.loads(orjson.dumps(decoded, default=as_json)) == value
    for packed, plain in zip(decoded["choices"], choices, strict=True):
        assert type(packed["logprobs"]) is PackedLogprobs
        assert _lines(packed["logprobs"].spelt) == _lines(all_steps(spell(plain["logprobs"])))


@pytest.mark.slow
async def test_log_probabilities_of_an_event_of_many_lines_are_one_line_of_a_stream() -> None:
    tokens = [_token("word") for _ in range(2_000)]
    value = {"choices": [{"index": 0, "delta": {"content": "x"}, "logprobs": {"content": tokens}}]}
    raw = json.dumps(value, indent=1).replace("\n", "\r\n").encode()
    (event,) = await checked_events([raw], RequestStats())
    assert type(event_value(event)["choices"][0]["logprobs"]) is PackedLogprobs
    frame = sse.frame(event_value(event))
    assert frame.endswith(b"\n\n") and b"\n" not in frame[:-2] and b"\r" not in frame
    assert orjson.loads(frame.removeprefix(b"data: ")) == value


@pytest.mark.slow
@pytest.mark.parametrize("unit", [[], {"a": 1}, {}])
async def test_values_of_a_model_that_take_more_memory_than_a_request_may_are_refused(unit: object) -> None:
    raw = orjson.dumps({"choices": [], "more": [unit] * 300_000})
    with pytest.raises(UpstreamError, match="takes more memory than its size allows; the limit is"):
        await decoded_answer(raw, utf8_names=frozenset())


async def test_half_a_character_in_a_large_event_is_replaced() -> None:
    raw = orjson.dumps({"choices": [], "more": ["ab"] * 100_000, "end": "x"})
    batch = await checked_events([raw[:-2] + b"\xe4" + raw[-2:]], RequestStats())
    assert event_value(batch[0])["end"] == "x\ufffd"


async def test_what_a_large_event_held_is_let_go_though_the_event_is_still_held() -> None:
    batch = await checked_events([orjson.dumps({"choices": [], "more": ["ab"] * 100_000}), b"{}"], RequestStats())
    event = batch[0]
    assert len(event_value(event)["more"]) == 100_000
    let_go(batch)
    assert event_value(event) is None and len(event) == 500_023 and batch[1] == b"{}"
