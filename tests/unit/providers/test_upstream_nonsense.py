"""Whatever shapes an upstream answers in: the caller gets an answer that is JSON, or is told that it failed."""

import copy
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from gateway.domain import EventBatch, Json, RequestStats
from gateway.errors import UpstreamError
from gateway.services.ocr.upstream import OcrAdapter
from gateway.wire.chat.answer import AnswerContext, normalise_answer
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.chat.stream import ChatStream
from gateway.wire.hosted_answer import events_of_whole
from gateway.wire.openai_error import upstream_error
from gateway.wire.responses.dialect import ResponsesDialect
from gateway.wire.responses.native import NativeStream, repair_response
from gateway.wire.responses.stream import ResponseStream
from tests.support.batches import Batches
from tests.support.rich_bodies import rich

ROUNDS = 2_000
ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", "9" * 30, [], {}, [None], ["x"], {"a": 1}, [[]], [{}]]
ASKED: Json = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x"}], "input": "x"}
CHAT, CHUNKS = rich("chat_answer"), rich("chat_stream")
RESPONSE, EVENTS = rich("responses_answer"), rich("responses_stream")


class Spoiler:
    """The same oddities in every run."""

    def __init__(self) -> None:
        self._random = random.Random(5)

    def spoil(self, value: Any, share: float = 0.02) -> Any:
        """A copy in which some values are something else, and some keys are gone."""
        if self._random.random() < share:
            return copy.deepcopy(self._random.choice(ODD))
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if self._random.random() > share}
            return {key: self.spoil(item, share) for key, item in kept.items()}
        return [self.spoil(item, share) for item in value] if isinstance(value, list) else value

    def marks(self) -> AnswerContext:
        legacy, wants_usage = self._random.random() < 0.2, self._random.random() < 0.5
        return AnswerContext("m", "p", "u", 0.0, request=ASKED, legacy=legacy, include_usage=wants_usage)


def shown(events: EventBatch, slots_of: Callable[[Json], Any]) -> None:
    """As the middlewares and the wire need it: slots that can be told apart, data that is JSON."""
    for event in events:
        if event.data is not None:
            {slot.channel for slot in slots_of(event.data)}
            orjson.dumps(event.data)


def whole_chat(spoiler: Spoiler) -> None:
    answer = normalise_answer(spoiler.spoil(CHAT), spoiler.marks())
    orjson.dumps([answer, ResponseStream(ASKED, lambda _: None).made_of(events_of_whole(answer))])


def streamed_chat(spoiler: Spoiler) -> None:
    stream = ChatStream(spoiler.marks())
    events, fault = stream.take([orjson.dumps(spoiler.spoil(chunk)) for chunk in CHUNKS])
    if fault is not None:
        raise fault
    shown([*events, *stream.end()], ChatDialect().event_slots)


def whole_native(spoiler: Spoiler) -> None:
    orjson.dumps(repair_response(spoiler.spoil(RESPONSE), ASKED, "m", {}))


def refusal(spoiler: Spoiler) -> None:
    told = {"error": {"message": "m", "type": "t", "code": "c", "param": "p"}}
    orjson.dumps(upstream_error(400, spoiler.spoil(told, 0.3), None).message)


@pytest.mark.slow
@pytest.mark.parametrize("ask", [whole_chat, streamed_chat, whole_native, refusal])
def test_an_odd_answer_is_mended_or_the_upstreams_fault(ask: Callable[[Spoiler], None]) -> None:
    spoiler, mended = Spoiler(), 0
    for _ in range(ROUNDS):
        try:
            ask(spoiler)
            mended += 1
        except UpstreamError:
            continue
    assert mended > ROUNDS / 4


@pytest.mark.slow
async def test_an_odd_native_stream_is_mended_or_the_upstreams_fault() -> None:
    spoiler, mended = Spoiler(), 0

    async def payloads() -> Batches:
        yield [orjson.dumps(spoiler.spoil(event)) for event in EVENTS]

    for _ in range(ROUNDS):
        stream = NativeStream(ASKED, lambda response: None)
        try:
            async for batch in stream.pass_through(payloads()):
                shown(batch, ResponsesDialect().event_slots)
            mended += 1
        except UpstreamError:
            continue
    assert mended > ROUNDS / 10


class OddModel:
    """A vision model's server whose answers are spoilt."""

    name = "odd"

    def __init__(self) -> None:
        self._spoiler = Spoiler()

    async def complete(self, body: Json, account: RequestStats, *, route: str = "") -> Json:
        return {name: self._spoiler.spoil(value) for name, value in CHAT.items()}

    async def stream(self, body: Json, account: RequestStats, *, route: str = "", relay: object = None) -> Batches:
        yield [orjson.dumps(self._spoiler.spoil(chunk)) for chunk in CHUNKS]


@pytest.mark.slow
async def test_what_an_ocr_server_says_is_cleaned_where_it_is_text_and_passed_on_where_it_is_not() -> None:
    reader = OcrAdapter(OddModel())
    for _ in range(ROUNDS):
        orjson.dumps(await reader.complete(ASKED, RequestStats()))
        async for batch in reader.stream(ASKED, RequestStats()):
            for data in batch:
                orjson.loads(data)
