"""Responses from upstreams that speak /responses themselves. `wire` rewrites requests and mends answers."""

from collections.abc import Sequence

from gateway.domain import EventBatch, Json, RequestStats
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.native_calls import NativeCall, NativeCalls
from gateway.wire.chat.json_answer import mend_texts
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.hosted_answer import AnswerWriter
from gateway.wire.native_stream import PassedStream
from gateway.wire.responses.native import (
    NativeStream,
    image_parts,
    json_kind,
    json_parts,
    refuse_hosts,
    repair_response,
    said_bytes,
    takes,
    to_native,
)
from gateway.wire.responses.request import to_chat
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.untrusted_json import utf8_size


class NativeResponses(NativeCalls):
    """Answers responses requests whose `input` is a list of items; `earlier` are the items before it."""

    route = "responses"

    def serves(self, entry: ModelEntry, body: Json) -> bool:
        """True when every upstream of the model speaks /responses, and /responses has every field of the request."""
        return self.speaks(entry) and takes(body)

    def to_send(self, call: NativeCall, options: UpstreamOptions, stats: RequestStats) -> Json:
        """See NativeCalls."""
        return to_native(call.body, call.earlier, options, self._completions.hashed_user(call.body, stats))

    def mended(self, answer: Json, body: Json, model: str, backend: Json) -> tuple[Json, int]:
        """See NativeCalls. Raises UpstreamError."""
        response = repair_response(answer, body, model, backend)
        return response, sum(map(said_bytes, response["output"]))

    def json_kind(self, body: Json) -> str:
        """See NativeCalls."""
        return json_kind(body)

    def mend_json(self, answer: Json, kind: str) -> bool:
        """See NativeCalls."""
        parts = json_parts(answer)
        return parts is None or mend_texts(parts, kind, answer["provider_specific_fields"])

    def written_in(self, events: EventBatch) -> int:
        """See NativeCalls."""
        deltas = [event.data["delta"] for event in events if event.data is not None and "delta" in event.data]
        return sum(utf8_size(delta) for delta in deltas if isinstance(delta, str))

    async def prepare(self, body: Json, earlier: Sequence[Json]) -> None:
        """See NativeCalls."""
        refuse_hosts(body, earlier)
        await self._completions.inline(image_parts([*earlier, *body["input"]]), "input")

    def translated(
        self, body: Json, earlier: Sequence[Json], stats: RequestStats, state: PassedStream | None
    ) -> tuple[Json, AnswerWriter]:
        """See NativeCalls."""
        chat = to_chat(body, list(earlier))
        stats.warnings += chat.warnings
        if isinstance(state, NativeStream):
            state.names = chat.names
        return chat.body, state or ResponseStream(body, lambda response: None, chat.names)
