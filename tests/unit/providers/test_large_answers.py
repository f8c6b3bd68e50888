"""Whole answers of upstreams are decoded as `json` does, in turns with others; too many values are refused."""

import orjson
import pytest

from gateway.config.model_settings import Upstream
from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.large_answers import MAX_EVENT_VALUES, MAX_VALUES, decoded_answer
from gateway.providers.openai_compat import OpenAICompatUpstream
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


async def test_more_values_than_any_answer_has_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(UpstreamError, match=f"limit is {MAX_VALUES}"):
        await decoded_answer(b"[" + b"{}," * MAX_VALUES + b"{}]")


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
                    assert await anext(events) == [data]
            finally:
                await events.aclose()
                await upstream.close()
