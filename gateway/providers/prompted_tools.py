"""PromptedToolsUpstream: gives tool calls to an upstream whose model has none.

`wire.chat.prompted_tools` makes the prompt and reads the answer.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson

from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamError
from gateway.providers.wrappers import Wrapper
from gateway.wire.chat.prompted_tools import BEGINNING_CHARS, NO_CALL, PromptedTools, has_tool_history, may_begin_call
from gateway.wire.mended_json import mended_json
from gateway.wire.untrusted_json import table_in, tables_in

_MAX_HELD_CHARS = 1 << 18
"""Most characters of an answer that are held back until it is clear whether they are a call."""


class PromptedToolsUpstream(Wrapper):
    """For requests with `n` of 1. Answers have `tool_calls` as if its model
    made them; what the caller must know is added to `stats.warnings`."""

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """See ports.CompletionUpstream. Raises InvalidRequest for a `tool_choice` that cannot be met; UpstreamError,
        code `invalid_json_answer`, where the model made no valid call although it had to."""
        tools = _tools_of(body)
        if tools is None:
            return await self._upstream.complete(body, stats, route=route)
        answer = await self._upstream.complete(tools.sent, stats, route=route)
        warnings = list(tools.warnings)
        for choice in tables_in(answer, "choices") if tools.is_offered else ():
            message = table_in(choice, "message")
            text = message.get("content")
            calls, warning = tools.read(text if isinstance(text, str) else "", choice.get("finish_reason"))
            if calls or tools.is_forced:
                message["content"] = None
            if calls:
                message["tool_calls"], choice["finish_reason"] = calls, "tool_calls"
            warnings += [warning] if warning else []
        _warn(stats, warnings)
        return answer

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream. Raises what `complete` raises. Text is passed on as soon as it is clear that
        it is no call; a call is held back until it is whole and checked."""
        tools = _tools_of(body)
        if tools is None or not tools.is_offered:
            _warn(stats, tools.warnings if tools else [])
            async with aclosing(self._upstream.stream(tools.sent if tools else body, stats, route=route)) as batches:
                async for batch in batches:
                    yield batch
            return
        reader = _StreamReader(tools)
        async with aclosing(self._upstream.stream(tools.sent, stats, route=route)) as batches:
            async for batch in batches:
                passed = [each for data in batch for each in reader.take(data)]
                _warn(stats, reader.warnings)
                if passed:
                    yield passed


class _StreamReader:
    """One stream. While `_is_holding`, texts are kept; a forced call's first chunk too, so that an error has a status.

    States: holding, until the text cannot become a call (free) or the finish reason comes (over); free and over pass
    everything on.
    """

    def __init__(self, tools: PromptedTools) -> None:
        self._tools = tools
        self._is_holding = True
        self._held: list[str] = []
        self._held_chars = 0
        self._beginning = ""
        self.warnings = list(tools.warnings)

    def take(self, data: bytes) -> list[bytes]:
        """The data to pass on for the data of one event. Raises UpstreamError."""
        if not self._is_holding:
            return [data]
        chunk = _decoded(data)
        choices = tables_in(chunk, "choices")
        if not choices:
            return [data]
        choice = choices[0]
        delta, finish = table_in(choice, "delta"), choice.get("finish_reason")
        text = delta.pop("content", None)
        if isinstance(text, str) and text and not self._hold(text):
            self._is_holding = False
            choice["delta"] = {**delta, "content": "".join(self._held)}
            self.warnings.append(NO_CALL)
            return [orjson.dumps(chunk)]
        if finish:
            return self._over(chunk, choice, delta)
        return [] if self._tools.is_forced or not delta else [orjson.dumps(chunk)]

    def _hold(self, text: str) -> bool:
        """Keeps a text; whether to go on holding."""
        self._held.append(text)
        self._held_chars += len(text)
        if len(self._beginning) < BEGINNING_CHARS:
            self._beginning = (self._beginning + text).lstrip()[:BEGINNING_CHARS]
        is_too_long = self._held_chars > _MAX_HELD_CHARS
        if self._tools.is_forced and is_too_long:
            raise UpstreamError("the model did not answer with a valid tool call", code="invalid_json_answer")
        return self._tools.is_forced or (not is_too_long and may_begin_call(self._beginning))

    def _over(self, chunk: Json, choice: Json, delta: Json) -> list[bytes]:
        """The chunk that tells the call, or the held text, and then the end."""
        self._is_holding = False
        text = "".join(self._held)
        calls, warning = self._tools.read(text, str(choice["finish_reason"]))
        self.warnings += [warning] if warning else []
        if calls:
            held_delta: Json = {"tool_calls": [{"index": index, **call} for index, call in enumerate(calls)]}
            choice["finish_reason"] = "tool_calls"
        else:
            held_delta = {"content": "" if self._tools.is_forced else text}
        before = {**chunk, "usage": None, "choices": [{**choice, "delta": held_delta, "finish_reason": None}]}
        choice["delta"] = delta
        return [orjson.dumps(before), orjson.dumps(chunk)]


def _tools_of(body: Json) -> PromptedTools | None:
    """None for a request without tools, which is sent as it is."""
    return PromptedTools(body) if body.get("tools") or has_tool_history(body) else None


def _decoded(data: bytes) -> Any:
    try:
        return mended_json(data)
    except orjson.JSONDecodeError:
        return None


def _warn(stats: RequestStats, warnings: list[str]) -> None:
    stats.warnings += [warning for warning in dict.fromkeys(warnings) if warning not in stats.warnings]
