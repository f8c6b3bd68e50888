"""Messages from upstreams that speak /messages themselves. `wire` rewrites requests and mends answers."""

from contextlib import aclosing
from typing import Any

from gateway.domain import EventBatch, EventStream, Json, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.services.completion.images import MAX_IMAGES
from gateway.services.completion.native_calls import NativeCall, NativeCalls
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.hosted_answer import events_of, events_of_whole
from gateway.wire.messages.native import (
    NativeMessageStream,
    chat_usage,
    image_places,
    mended_message,
    refuse_hosts,
    settle_images,
    to_native,
    written_bytes,
    written_in,
)
from gateway.wire.messages.request import to_chat
from gateway.wire.messages.stream import MessageStream
from gateway.wire.untrusted_json import count_in, table_in


class NativeMessages(NativeCalls):
    """Answers messages requests."""

    route = "messages"

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A message (`wire.messages.native.mended_message`). Raises GatewayError."""
        try:
            await self._prepare(body)
            return await self.whole(await self.begun(body, (), stats), stats)
        except UpstreamError as error:
            chat = self._chat(error, body)
        answer = await self._completions.complete(chat, stats)
        return MessageStream(body, 1).made_of(events_of_whole(answer))

    async def stream(self, body: Json, stats: RequestStats, state: NativeMessageStream) -> EventStream:
        """The events of a message, made by `state`. Raises GatewayError, also after the first events."""
        begun = False
        try:
            await self._prepare(body)
            call = await self.begun(body, (), stats)
            async with aclosing(self.events(call, stats, state)) as batches:
                async for batch in batches:
                    begun = True
                    yield batch
            return
        except UpstreamError as error:
            if begun:
                raise
            chat = self._chat(error, body)
        async with aclosing(state.run(events_of(self._completions.stream(chat, stats)))) as batches:
            async for batch in batches:
                yield batch

    async def count(self, body: Json, stats: RequestStats) -> int | None:
        """The input tokens of a request, by the model's first upstream; None where it cannot say. Raises
        InvalidRequest, UpstreamRefused."""
        target = self._completions.resolve(body["model"]).targets[0]
        await self._prepare(body)
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

    def written_in(self, events: EventBatch) -> int:
        """See NativeCalls."""
        return written_in(events)

    def _native(self, body: Json, options: UpstreamOptions, stats: RequestStats) -> Json:
        return to_native(body, options.name_of(body), self._completions.hashed_user({"user": _user_of(body)}, stats))

    async def _prepare(self, body: Json) -> None:
        refuse_hosts(body)
        places = image_places(body)
        await self._completions.inline(places)
        settle_images(places)

    def _chat(self, error: UpstreamError, body: Json) -> Json:
        """The chat request for a fallback; signed blocks stay behind."""
        name = self.chat_fallback(error, body["model"])
        return {**to_chat(body, MAX_IMAGES), "model": name}


def _user_of(body: Json) -> Any:
    return table_in(body, "metadata").get("user_id")
