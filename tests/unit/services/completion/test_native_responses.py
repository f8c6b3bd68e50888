"""Responses over upstreams that speak the route themselves, without sockets: relayed, counted, or asked in chat."""

from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import InvalidRequest, UpstreamError, UpstreamRefused
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.native_responses import NativeResponses
from gateway.services.completion.service import CompletionService
from gateway.wire import sse
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.responses.native import NativeStream, image_parts

ANSWER: Json = {
    "id": "resp_up", "object": "response", "model": "up", "usage": {"input_tokens": 3, "output_tokens": 2},
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
}  # fmt: skip
CHAT: Json = {"id": "c", "model": "up", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "From chat"}, "finish_reason": "stop"}]}  # fmt: skip
CHUNK: Json = {"id": "c", "choices": [{"index": 0, "delta": {"content": "From chat"}, "finish_reason": "stop"}]}
EVENTS: list[Json] = [
    {"type": "response.created", "response": {"id": "resp_up"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}},
    {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "Hi"},
    {"type": "response.completed", "response": ANSWER},
]


class Upstream:
    """Answers each route; `fails`: raised instead, before the first event or, with `late`, after two."""

    def __init__(self, name: str, fails: UpstreamError | None = None, *, late: bool = False) -> None:
        self.name, self.fails, self.late = name, fails, late
        self.asked: list[tuple[str, Json]] = []

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        self.asked.append((route, body))
        if self.fails is not None:
            raise self.fails
        answer: Json = orjson.loads(orjson.dumps(ANSWER if route == "responses" else CHAT))
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: object = None
    ) -> AsyncGenerator[list[bytes], None]:
        self.asked.append((route, body))
        events = EVENTS if route == "responses" else [CHUNK]
        if self.fails is not None:
            if self.late:
                yield [orjson.dumps(event) for event in events[:3]]
            raise self.fails
        yield [*map(orjson.dumps, events), b"[DONE]"]


def natives(first: Upstream, second: Upstream) -> NativeResponses:
    """A native model `m` with a fallback `plain` that knows chat alone."""
    speaking = Target(first, UpstreamOptions("up"), speaks=frozenset(("responses",)))
    native = ModelEntry("m", "text", (speaking,), fallback=("plain",))
    plain = ModelEntry("plain", "text", (Target(second, UpstreamOptions("up2")),))
    return NativeResponses(CompletionService([native, plain], images=None, user_key=b"k"))


def body(**more: Any) -> Json:
    return {"model": "m", "input": [{"role": "user", "content": "hi"}], "user": "u", **more}


async def asked(native: NativeResponses, streamed: bool, stats: RequestStats, **more: Any) -> Json:
    if not streamed:
        return await native.complete(body(**more), [], stats)
    state = NativeStream(body(stream=True, **more), lambda _: None)
    stream = native.stream(body(stream=True, **more), [], stats, state)
    raw = b"".join([sse.encode(event) async for batch in stream for event in batch])
    last = [line for line in raw.split(b"\n") if line.startswith(b"data: {")][-1]
    response: Json = orjson.loads(last[6:])["response"]
    return response


def text(response: Json) -> str:
    return str(response["output"][0]["content"][0]["text"])


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_request_is_relayed_and_its_tokens_are_counted(streamed: bool) -> None:
    first, stats = Upstream("first"), RequestStats()
    response = await asked(natives(first, Upstream("second")), streamed, stats)
    assert (text(response), response["model"], response["provider_specific_fields"]["provider"]) == ("Hi", "m", "first")
    [(route, sent)] = first.asked
    assert (route, sent["model"]) == ("responses", "up") and sent["user"].startswith("user_")
    assert (stats.input_tokens, stats.output_tokens, stats.user_hash) == (3, 2, sent["user"])


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_request_that_was_refused_is_not_tried_elsewhere(streamed: bool) -> None:
    second = Upstream("second")
    native = natives(Upstream("first", UpstreamRefused("no", status=400, code="invalid_value")), second)
    with pytest.raises(UpstreamRefused):
        await asked(native, streamed, RequestStats())
    assert second.asked == []


async def test_too_many_images_are_refused() -> None:
    many = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}] * 40}]
    with pytest.raises(InvalidRequest, match="images"):
        await natives(Upstream("first"), Upstream("second")).complete(body(input=many), [], RequestStats())


WITH_IMAGES = [
    ({"role": "user", "content": [{"type": "input_image", "image_url": {"url": "http://a"}}]}, "content[0]"),
    ({"type": "computer_call_output", "output": {"image_url": "http://a"}}, "output"),
    ({"type": "function_call_output", "output": [{"type": "input_image", "image_url": "http://a"}]}, "output[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "path"), WITH_IMAGES)
def test_images_are_found_wherever_an_upstream_would_fetch_them(item: Json, path: str) -> None:
    [(where, part, _)] = image_parts([{"role": "user", "content": "x"}, item])
    assert where == f"input[1].{path}.image_url" and part["image_url"] == "http://a"
    part["image_url"] = "data:,"
    assert "http://a" not in str(item)


def test_only_models_whose_every_upstream_speaks_it_are_served() -> None:
    native = natives(Upstream("first"), Upstream("second"))
    speaking = Target(Upstream("a"), UpstreamOptions("u"), speaks=frozenset(("responses",)))
    mixed = (speaking, Target(Upstream("b"), UpstreamOptions("u")))
    assert not native.serves(ModelEntry("x", "text", mixed), body())
    assert native.serves(ModelEntry("x", "text", mixed[:1]), body())
    assert not native.serves(ModelEntry("x", "text", ()), body())
