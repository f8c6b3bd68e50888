"""Messages from upstreams that speak /messages themselves. `wire` rewrites requests and mends answers."""

from collections.abc import Sequence
from typing import Any

from gateway.domain import EventBatch, Json, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.services.completion.images import MAX_IMAGES
from gateway.services.completion.native_calls import NativeCall, NativeCalls
from gateway.wire.chat.json_answer import mend_texts
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.hosted_answer import AnswerWriter
from gateway.wire.messages.native import (
    chat_usage,
    image_places,
    mended_message,
    refuse_hosts,
    settle_images,
    to_native,
    written_bytes,
    written_in,
)
from gateway.wire.messages.request import json_kind, to_chat
from gateway.wire.messages.stream import MessageStream
from gateway.wire.native_stream import PassedStream
from gateway.wire.untrusted_json import count_in, table_in


class NativeMessages(NativeCalls):
    """Answers messages requests."""

    route = "messages"

    async def count(self, body: Json, stats: RequestStats) -> int | None:
        """The input tokens of a request, by the model's first upstream; None where it cannot say. Raises
        InvalidRequest, UpstreamRefused."""
        target = self._completions.resolve(body["model"]).targets[0]
        await self.prepare(body, ())
        try:
            sent = self._native(body, target.options, stats)
            answer = await target.upstream.complete(sent, stats, route=f"{self.route}/count_tokens")
        except UpstreamRefused:
            raise
        except UpstreamError:
            return None
        return count_in(answer, "input_tokens") or None

    def to_send(self, call: NativeCall, options: UpstreamOptions, stats: RequestStats) -> Json:
        """See NativeCalls."""
        return {**self._native(call.body, options, stats), **options.extra_body}

    def mended(self, answer: Json, body: Json, model: str, backend: Json) -> tuple[Json, int]:
        """See NativeCalls. Raises UpstreamError."""
        message = mended_message(answer, model, backend)
        return message, sum(map(written_bytes, message["content"]))

    def asked(self, body: Json) -> Json:
        """See NativeCalls."""
        return {**body, "user": _user_of(body)}

    def usage(self, told: object) -> Json:
        """See NativeCalls."""
        return chat_usage(told)

    def json_kind(self, body: Json) -> str:
        """See NativeCalls."""
        return json_kind(body)

    def mend_json(self, answer: Json, kind: str) -> bool:
        """See NativeCalls."""
        if answer.get("stop_reason") != "end_turn":
            return True
        texts = [block for block in answer["content"] if isinstance(block.get("text"), str)]
        return mend_texts(texts, kind, answer["provider_specific_fields"])

    def written_in(self, events: EventBatch) -> int:
        """See NativeCalls."""
        return written_in(events)

    def _native(self, body: Json, options: UpstreamOptions, stats: RequestStats) -> Json:
        return to_native(body, options.name_of(body), self._completions.hashed_user({"user": _user_of(body)}, stats))

    async def prepare(self, body: Json, earlier: Sequence[Json]) -> None:
        """See NativeCalls."""
        refuse_hosts(body)
        places = image_places(body)
        await self._completions.inline(places)
        settle_images(places)

    def translated(
        self, body: Json, earlier: Sequence[Json], stats: RequestStats, state: PassedStream | None
    ) -> tuple[Json, AnswerWriter]:
        """See NativeCalls; signed blocks stay behind."""
        return to_chat(body, MAX_IMAGES), state or MessageStream(body, 1)


def _user_of(body: Json) -> Any:
    return table_in(body, "metadata").get("user_id")
