"""Responses from upstreams that speak /responses themselves. `wire` rewrites requests and mends answers."""

from contextlib import aclosing

from gateway.domain import EventBatch, EventStream, Json, RequestStats
from gateway.errors import UpstreamError
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.native_calls import NativeCall, NativeCalls
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.hosted_answer import events_of, events_of_whole
from gateway.wire.responses.native import (
    NativeStream,
    image_parts,
    refuse_hosts,
    repair_response,
    said_bytes,
    takes,
    to_native,
)
from gateway.wire.responses.request import ChatRequest, to_chat
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.untrusted_json import utf8_size


class NativeResponses(NativeCalls):
    """Answers responses requests whose `input` is a list of items; `earlier` are the items before it."""

    route = "responses"

    def serves(self, entry: ModelEntry, body: Json) -> bool:
        """True when every upstream of the model speaks /responses, and /responses has every field of the request."""
        return self.speaks(entry) and takes(body)

    async def complete(self, body: Json, earlier: list[Json], stats: RequestStats) -> Json:
        """A full response object (see `wire.responses.object.new_response`). Raises GatewayError."""
        try:
            return await self.whole(await self._begun(body, earlier, stats), stats)
        except UpstreamError as error:
            chat = self._chat(error, body, earlier)
        stats.warnings += chat.warnings
        answer = await self._completions.complete(chat.body, stats)
        return ResponseStream(body, lambda response: None, chat.names).made_of(events_of_whole(answer))

    async def stream(self, body: Json, earlier: list[Json], stats: RequestStats, state: NativeStream) -> EventStream:
        """Responses events made by `state`, ended by `[DONE]`. Raises GatewayError, also after the first events."""
        begun = False
        try:
            call = await self._begun(body, earlier, stats)
            async with aclosing(self.events(call, stats, state)) as batches:
                async for batch in batches:
                    begun = True
                    yield batch
            return
        except UpstreamError as error:
            if begun:
                raise
            chat = self._chat(error, body, earlier)
        stats.warnings += chat.warnings
        state.names = chat.names
        async with aclosing(state.run(events_of(self._completions.stream(chat.body, stats)))) as batches:
            async for batch in batches:
                yield batch

    def to_send(self, call: NativeCall, options: UpstreamOptions, stats: RequestStats) -> Json:
        """See NativeCalls."""
        return to_native(call.body, call.earlier, options, self._completions.hashed_user(call.body, stats))

    def mended(self, answer: Json, body: Json, model: str, backend: Json) -> tuple[Json, int]:
        """See NativeCalls. Raises UpstreamError."""
        response = repair_response(answer, body, model, backend)
        return response, sum(map(said_bytes, response["output"]))

    def written_in(self, events: EventBatch) -> int:
        """See NativeCalls."""
        deltas = [event.data["delta"] for event in events if event.data is not None and "delta" in event.data]
        return sum(utf8_size(delta) for delta in deltas if isinstance(delta, str))

    async def _begun(self, body: Json, earlier: list[Json], stats: RequestStats) -> NativeCall:
        refuse_hosts(body, earlier)
        await self._completions.inline(image_parts([*earlier, *body["input"]]), "input")
        return await self.begun(body, earlier, stats)

    def _chat(self, error: UpstreamError, body: Json, earlier: list[Json]) -> ChatRequest:
        name = self.chat_fallback(error, body["model"])
        chat = to_chat(body, earlier)
        chat.body["model"] = name
        return chat
