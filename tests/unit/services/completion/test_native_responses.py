"""What the completion service needs no socket for: images and upstreams of responses, and batches of a stream."""

from typing import Any

import orjson
import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.native_responses import NativeResponses
from gateway.services.completion.service import CompletionService
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.responses.native import image_parts
from tests.support.batches import Batches


def chunk(text: str, finish: str | None = None) -> bytes:
    return orjson.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


class FixedBatches:
    """An upstream that streams fixed batches."""

    name = "batches"

    def __init__(self, *batches: list[bytes]) -> None:
        self._batches = batches

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        raise NotImplementedError

    async def stream(self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None) -> Batches:
        for batch in self._batches:
            yield list(batch)


async def text_of(*batches: list[bytes]) -> tuple[str, int]:
    """The text that the service streams, and the number of events with text."""
    entry = ModelEntry("m", "text", (Target(FixedBatches(*batches), UpstreamOptions("theirs")),))
    service = CompletionService([entry], images=None, user_key=b"k")
    events = service.stream({"model": "m", "messages": [{"role": "user", "content": "x"}]}, RequestStats())
    texts = []
    async for batch in events:
        for event in batch:
            data = event.data or (orjson.loads(event.raw[6:]) if event.raw and b"[DONE]" not in event.raw else {})
            texts += [each["delta"].get("content") or "" for each in data.get("choices", [])]
    return "".join(texts), len([text for text in texts if text])


async def test_batches_without_events_change_nothing() -> None:
    assert await text_of([], [chunk("one ")], [], [chunk("two", "stop")], [], [b"[DONE]"]) == ("one two", 2)


def natives() -> NativeResponses:
    """A model `m` whose upstream speaks responses."""
    speaking = Target(FixedBatches(), UpstreamOptions("up"), speaks=frozenset(("responses",)))
    return NativeResponses(CompletionService([ModelEntry("m", "text", (speaking,))], images=None, user_key=b"k"))


def body(**more: Any) -> Json:
    return {"model": "m", "input": [{"role": "user", "content": "hi"}], "user": "u", **more}


async def test_too_many_images_are_refused() -> None:
    many = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}] * 40}]
    with pytest.raises(InvalidRequest, match="images"):
        await natives().complete(body(input=many), [], RequestStats())


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
    native = natives()
    speaking = Target(FixedBatches(), UpstreamOptions("u"), speaks=frozenset(("responses",)))
    mixed = (speaking, Target(FixedBatches(), UpstreamOptions("u")))
    assert not native.serves(ModelEntry("x", "text", mixed), body())
    assert native.serves(ModelEntry("x", "text", mixed[:1]), body())
    assert not native.serves(ModelEntry("x", "text", ()), body())
