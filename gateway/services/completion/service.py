"""Chat completions: finds the model, calls its upstreams until one answers, and normalises the answer.

Images that messages name by URL are fetched and sent as data URLs. Upstreams are `ports.CompletionUpstream`,
`attempts` decides on retries, `wire` normalises.
"""

import asyncio
import base64
import hashlib
import hmac
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from gateway.access.sealing import Sealer
from gateway.domain import EventBatch, EventStream, Json, RequestStats
from gateway.errors import GatewayError, InvalidRequest, ModelNotFound, UpstreamError, UpstreamTimeout
from gateway.key_scrubber import scrub_keys
from gateway.ports import ImageSource
from gateway.services.completion.attempts import Attempt, ModelEntry, Plan, Target
from gateway.services.completion.turns import SealedStates, Turn, TurnMemory
from gateway.wire.chat.answer import AnswerContext, normalise_answer
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.chat.request import ImagePlace, image_parts, is_legacy, needs_json_check, to_upstream
from gateway.wire.chat.stream import ChatStream, require_json
from gateway.wire.image_header import media_type
from gateway.wire.untrusted_json import count_in, table_in

# Replaces image URLs in messages by the images themselves, so that no upstream fetches an address of a caller.
# `ports.ImageSource` fetches them.

MAX_IMAGES = 8
"""Most images in one request, 160 MiB at most. The OCR route's messages and documentation name it."""
MAX_IMAGE_BYTES = 20 * 1024 * 1024
"""Most bytes of one image file; as base64 it fits into the default `server.max_body_bytes` of 32 MiB."""


async def inline_images(images: Sequence[ImagePlace], source: ImageSource | None, param: str = "messages") -> None:
    """Put data URLs in the place of http(s) addresses.

    Raises InvalidRequest: too many images (at `param`), not an image, another scheme, or the source's refusal.
    """
    if len(images) > MAX_IMAGES:
        raise InvalidRequest(f"a request may hold at most {MAX_IMAGES} images", param=param)
    urls = await data_urls([(image.holder[image.key], image.where) for image in images], source) if images else []
    for image, url in zip(images, urls, strict=True):
        image.holder[image.key] = url


async def data_urls(urls: list[tuple[str, str]], source: ImageSource | None) -> list[str]:
    """The images of `(url, path)` pairs as data URLs, in the same order, fetched side by side.

    Raises InvalidRequest as `data_url`, `param` being the path; the other downloads are cancelled then.
    """
    tasks = [asyncio.create_task(_data_url_at(url, where, source)) for url, where in urls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _data_url_at(url: str, where: str, source: ImageSource | None) -> str:
    try:
        return await data_url(url, source)
    except InvalidRequest as error:
        error.param = where
        raise


async def data_url(url: str, source: ImageSource | None) -> str:
    """The image of an http(s) URL as a data URL; a data URL unchanged. Raises InvalidRequest."""
    if url.startswith("data:"):
        if len(url) > MAX_IMAGE_BYTES * 4 // 3 + 100:
            raise InvalidRequest(f"an image may have at most {MAX_IMAGE_BYTES} bytes", param="messages")
        return url
    if not url.lower().startswith(("http://", "https://")):
        raise InvalidRequest("image_url must be an http(s) or data: URL", param="messages")
    if source is None:
        raise InvalidRequest("images by URL are not supported here; send a data: URL", param="messages")
    data = await source.fetch_image(url, MAX_IMAGE_BYTES)
    kind = media_type(data)
    if kind is None:
        raise InvalidRequest(
            "the image's format is unknown; send PNG, JPEG, WEBP, GIF, BMP or TIFF",
            param="messages",
            code="invalid_image_format",
        )
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


# Counts the tokens of a messages request with the upstream's own tokenizer, where the upstream has a route for it.
#
# llama.cpp's server and vLLM count on `/v1/messages/count_tokens` (llama.cpp tried 2026-11-22: 2 ms).

_ROUTE = "messages/count_tokens"
_FIELDS = ("messages", "system", "tools")
"""What is counted; nothing else of the request goes to the upstream."""
_WAIT_S = 3.0
"""Seconds to wait for the upstream's count; then the tokens are estimated."""


class TokenCounter:
    """Remembers which upstreams have no such route, for as long as they are configured."""

    def __init__(self) -> None:
        self._without_route: weakref.WeakSet[object] = weakref.WeakSet()

    async def count(self, entry: ModelEntry, body: Json, stats: RequestStats) -> int | None:
        """The input tokens of a messages body by the model's first upstream; None where it cannot say."""
        if not entry.targets:
            return None
        target = entry.targets[0]
        is_resting = target.health.wait_s(stats.key_id) > 0
        if target.upstream in self._without_route or is_resting or _has_foreign_data(body):
            return None
        asked = {name: body[name] for name in _FIELDS if body.get(name) is not None}
        return await self._ask(target, {"model": target.options.model, **asked}, stats)

    async def _ask(self, target: Target, body: Json, stats: RequestStats) -> int | None:
        try:
            async with asyncio.timeout(_WAIT_S):
                answer = await target.upstream.complete(body, stats, route=_ROUTE)
        except GatewayError as error:
            if error.code == "upstream_misconfigured":  # 404 or 405: it does not know the route
                self._without_route.add(target.upstream)
            return None
        except TimeoutError:
            return None
        return count_in(answer, "input_tokens") or None


def _has_foreign_data(body: Json) -> bool:
    """Whether a block holds more than text: an upstream could fetch its address, or refuses it."""
    stack = [block for message in body["messages"] for block in _blocks(message)]
    while stack:
        block = stack.pop()
        if block["type"] in ("image", "document"):
            return True
        if block["type"] == "tool_result":
            stack += _blocks(block)
    return False


def _blocks(holder: Json) -> list[Json]:
    content = holder.get("content")
    return content if isinstance(content, list) else []


_AFTER_FINISH_S = 5.0
"""Seconds to wait for usage and `[DONE]` after the finish reason."""
_SHOWN_CHARS = 80
"""Most characters of a model's name in an error text."""
_MOST_AFTER_FINISH = 64
"""Most events accepted after the finish reason."""


class CompletionService:
    """Answers chat requests to the models of a table.

    `images` fetches the images that messages name by URL; None refuses these. `user_key` is the secret of the hash that
    is sent instead of a caller's `user`.
    """

    def __init__(self, models: Sequence[ModelEntry], *, images: ImageSource | None, user_key: bytes) -> None:
        self._images = images
        self._memory = TurnMemory()
        self.sealer: Callable[[], Sealer] | None = None
        """Seals what clients carry; None: they carry nothing."""
        self.user_key = user_key
        self.models = tuple(models)
        self._by_name = {name: entry for entry in models for name in (entry.name, *entry.aliases)}
        self._folded = {name.lower(): name for name in self._by_name}

    def resolve(self, name: str) -> ModelEntry:
        """The entry of an exact name or alias. Raises ModelNotFound, with the right name if only the case differs."""
        entry = self._by_name.get(name)
        if entry is not None:
            return entry
        similar = self._folded.get(name.lower())
        known = ", ".join(sorted(entry.name for entry in self.models))
        hint = f"did you mean {similar!r}? Names are case-sensitive" if similar else f"available: {known or 'none'}"
        raise ModelNotFound(f"model {scrub_keys(name[:_SHOWN_CHARS])!r} does not exist; {hint}")

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A normal `chat.completion` object (see `wire.chat.answer.normalise_answer`) for a checked chat body.

        Adds the answer's tokens to `stats`. Raises GatewayError: ModelNotFound, InvalidRequest, UpstreamError.
        """
        self.resolve(body["model"])
        await self.inline(image_parts(body))
        started_s = time.perf_counter()
        turn = Turn(self._memory, stats.key_id, body["messages"])
        plan = self.plan(body["model"], turn.maker)
        while True:
            async with plan.attempt(stats) as attempt:
                context = _context(body, attempt, stats, started_s, turn)
                is_checked = needs_json_check(body, attempt.target.options)
                answer = await attempt.target.upstream.complete(self._sent(body, attempt, stats, turn), stats)
                answer = normalise_answer(answer, context)
                break
        stats.made = context.state_of(0)
        turn.remember(context.states.values())
        count_usage(answer["usage"], stats)
        if is_checked:
            for choice in answer["choices"]:
                if choice["finish_reason"] == "stop":
                    require_json(choice["message"]["content"] or "")
        return answer

    async def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """Normal `chat.completion.chunk` events, ended by `[DONE]`, for a checked chat body.

        Raises GatewayError, also after the first events; there is no `[DONE]` then.
        """
        self.resolve(body["model"])
        await self.inline(image_parts(body))
        started_s = time.perf_counter()
        turn = Turn(self._memory, stats.key_id, body["messages"])
        plan = self.plan(body["model"], turn.maker)
        while True:
            async with plan.attempt(stats) as attempt:
                context = _context(body, attempt, stats, started_s, turn)
                stats.made = context.state_of(0)
                state = ChatStream(context, keep_text=needs_json_check(body, attempt.target.options))
                stream = attempt.target.upstream.stream(self._sent(body, attempt, stats, turn), stats)
                try:
                    async with aclosing(stream) as payloads:
                        async for batch in payloads:
                            if (plain := state.relayed(batch)) is not None:  # the attempt has begun with another
                                yield plain
                                continue
                            events, fault = state.take(batch)
                            if events:
                                if not attempt.begun:  # with the first event no other upstream is asked any more
                                    attempt.begin()
                                    stats.streaming = state
                                yield events
                            if fault is not None:
                                raise fault
                            if state.finished or state.done:
                                break
                        if state.finished and not state.done and (trailing := await _trailing(payloads, state)):
                            yield trailing
                    ending = state.end()
                    turn.remember(context.states.values())
                    attempt.begin()
                    yield ending
                finally:
                    stats.streaming = None
                    if attempt.begun:  # an attempt that sent no event must not add estimated tokens
                        count_usage(state.usage, stats)
                return

    def hashed_user(self, body: Json, stats: RequestStats) -> str | None:
        """`user_` and 32 hex digits, an HMAC of the body's `user`, noted for the log; None when it has none."""
        user = body.get("user")
        if not isinstance(user, str) or not user:
            return None
        stats.user_hash = "user_" + hmac.new(self.user_key, user.encode(), hashlib.sha256).hexdigest()[:32]
        return stats.user_hash

    async def inline(self, images: Sequence[ImagePlace], param: str = "messages") -> None:
        """Put the images themselves in the place of their addresses. Raises InvalidRequest as `inline_images`."""
        await inline_images(images, self._images, param)

    def _sent(self, body: Json, attempt: Attempt, stats: RequestStats, turn: Turn) -> Json:
        options = attempt.target.options
        messages = turn.messages_for(attempt.maker, options.rules.thoughts)
        return to_upstream({**body, "messages": messages}, options, user=self.hashed_user(body, stats))

    def notes(self) -> list[str]:
        """What an operator must know: upstreams that are not called for a while, and why."""
        return [
            f"upstream {target.upstream.name} of {entry.name} keeps failing and is left alone: {target.fault}"
            for entry in self.models
            for target in entry.targets
            if target.health.is_open
        ]

    def carrier(self, owner: str, stats: RequestStats) -> Carrier:
        """Hands the states of this request's answer to its client, the key `owner`, and reads those that it has."""
        return SealedStates(self.sealer, owner, stats) if self.sealer is not None else NO_CARRIER

    def plan(self, name: str, maker: str = "") -> Plan:
        """The attempts for a model: its own upstreams, then those of its fallbacks. The upstream `maker` is asked
        first: it has made what only it understands of the conversation. Raises ModelNotFound."""
        entry = self.resolve(name)
        return Plan([entry, *(self.resolve(other) for other in entry.fallback)], maker)


class OwnModel:
    """Implements ports.ChatModel with one model of the service: for the guardrail and for crawl instructions."""

    def __init__(self, completions: CompletionService, model: str) -> None:
        self._completions = completions
        self._model = model

    async def ask(self, body: Json, timeout_s: float) -> Json:
        """A `chat.completion` object for a chat body without `model`. Raises GatewayError; UpstreamTimeout after
        `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._completions.complete({**body, "model": self._model}, RequestStats())
        except TimeoutError:
            raise UpstreamTimeout(f"the model did not answer within {timeout_s:g} s") from None


async def _trailing(payloads: AsyncGenerator[list[bytes], None], state: ChatStream) -> EventBatch:
    """The events after the finish reason, at most usage and `[DONE]`; a timeout or a cut there is not an error.

    Raises UpstreamError for an event that is not a chunk.
    """
    events: EventBatch = []
    try:
        async with asyncio.timeout(_AFTER_FINISH_S):
            async for batch in payloads:
                more, fault = state.take(batch)
                events += more
                if fault is not None or state.done or len(events) > _MOST_AFTER_FINISH:
                    break
            else:
                fault = None
    except (TimeoutError, UpstreamError):
        return events
    if fault is not None:
        raise fault
    return events


def _context(body: Json, attempt: Attempt, stats: RequestStats, started_s: float, turn: Turn) -> AnswerContext:
    return AnswerContext(
        model=attempt.entry.name,
        provider=attempt.target.upstream.name,
        upstream_model=attempt.target.options.model,
        started_s=started_s,
        attempts=stats.attempts,
        legacy=is_legacy(body),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        request=body,
        fingerprint=attempt.target.options.fingerprint,
        warnings=stats.warnings,
        made_by=attempt.maker,
        ids=turn.ids,
    )


def count_usage(usage: Json, stats: RequestStats) -> None:
    """Adds what a normal usage of chat or of a response counts to the request's stats: tokens in and out, and those
    that a cache had or got."""
    prompt = count_in(usage, "prompt_tokens") or count_in(usage, "input_tokens")
    details = table_in(usage, "prompt_tokens_details") or table_in(usage, "input_tokens_details")
    cached = min(count_in(details, "cached_tokens"), prompt)
    stats.input_tokens += prompt
    stats.output_tokens += count_in(usage, "completion_tokens") or count_in(usage, "output_tokens")
    stats.cached_tokens += cached
    stats.written_tokens += min(count_in(details, "cache_write_tokens"), prompt - cached)
