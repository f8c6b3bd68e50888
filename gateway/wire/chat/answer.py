"""Normalises whole chat answers of any OpenAI-compatible upstream to the one form that clients are promised.

Source: OpenAI API reference, and answers of llama.cpp, vLLM, Ollama (facts read 2026-11-21). Deliberately knows no
HTTP and no streams.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.untrusted_json import is_count, words_of

_REASONS = {
    "stop": ("stop", "eos", "eos_token", "end_turn", "end", "stop_sequence", "complete", "completed", "normal"),
    "length": ("length", "max_tokens", "max_length", "model_length", "max_output_tokens", "max_new_tokens"),
    "content_filter": ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "refusal"),
    "tool_calls": ("tool_calls", "tool_use", "tool_call", "function_call"),
}
_FINISH = {word: reason for reason, words in _REASONS.items() for word in words}
_FAILED = ("error", "abort", "aborted", "cancelled", "canceled", "internal_error")
"""Finish reasons of upstreams that broke off: not a reason that a client knows."""
MATCHED_STOP = ("stop_reason", "matched_stop")
"""Fields of a choice in which vLLM and SGLang name the stop sequence that ended it."""
NAME_OF_UPSTREAM = "provider"
"""An upstream's own field that names itself, at the top of an answer or event; its value may be an address. Callers get
the configured name in `provider_specific_fields` instead."""
MAX_CHOICES = 128
"""Choices in one answer, and choice indexes in one stream: the most that `n` may be in the OpenAI API reference. Bounds
the work and the memory of an upstream that invents them; our own schema allows n up to 8, so half would do as well."""
MAX_CALLS = 128
"""Tool calls of one choice, whole or streamed: as many as a request may offer tools in the OpenAI API reference. Bounds
the work and the memory of an upstream that invents them; at half it would still be more than models make."""
TOO_MANY_CALLS = f"the upstream sent too many tool calls; the limit is {MAX_CALLS}"
_CHARS_PER_TOKEN = 4
"""For estimates where an upstream sends no counts: OpenAI's rule of thumb for English text. At half or double the
estimate would be off by that factor; estimates are marked as such."""


@dataclass(slots=True)
class AnswerContext:
    """What the gateway adds to an answer or needs to normalise it.

    `model` is the public model name, `provider` the upstream's name, `upstream_model` the model's name there.
    `started_s` is the request's beginning by `time.perf_counter`. `legacy`: the caller declared `functions` and gets
    `function_call`. `include_usage`: the caller requested usage in a stream. `request` is the request body,
    or of one that is let go its `n` alone; then `counted_chars` are its `prompt_chars`.
    `fingerprint` replaces the upstream's `system_fingerprint` unless it is empty. `warnings` are sentences for the
    caller; the list may grow until the answer ends.
    """

    model: str
    provider: str
    upstream_model: str
    started_s: float
    attempts: int = 1
    legacy: bool = False
    include_usage: bool = False
    request: Json = field(default_factory=dict)
    fingerprint: str = ""
    counted_chars: int | None = None
    warnings: Sequence[str] = ()

    @property
    def prompt_chars(self) -> int:
        """Characters of text in the request's messages, for estimating tokens where the upstream sends no counts."""
        return text_chars(self.request) if self.counted_chars is None else self.counted_chars

    def fields(self) -> Json:
        """A choice's `provider_specific_fields`: `{provider, model, latency_ms, attempts, warnings?}`."""
        fields: Json = {
            "provider": self.provider,
            "model": self.upstream_model,
            "latency_ms": round((time.perf_counter() - self.started_s) * 1000, 1),
            "attempts": self.attempts,
        }
        return {**fields, "warnings": list(self.warnings)} if self.warnings else fields


def text_chars(body: Json) -> int:
    """Characters of text in a chat body's messages."""
    total = 0
    for message in body.get("messages", ()):
        content = message.get("content")
        if isinstance(content, str):
            total += len(content)
        elif content:
            total += sum(len(part.get("text") or "") for part in content if isinstance(part, dict))
    return total


def new_id(prefix: str) -> str:
    """`prefix` and 24 random hex digits."""
    return prefix + secrets.token_hex(12)


def finish_reason(reported: Any, *, has_calls: bool, legacy: bool = False) -> str | None:
    """`stop`, `length`, `content_filter`, `tool_calls` or `function_call` for an upstream's word.

    None for a missing word and for those that say the upstream failed; an unknown word counts as `stop`. Whether there
    are tool calls decides between `stop` and `tool_calls`, whatever the upstream says.
    """
    if not isinstance(reported, str) or not reported or reported.lower() in _FAILED:
        return None
    reason = _FINISH.get(reported.lower(), "stop")
    if has_calls and reason in ("stop", "tool_calls"):
        reason = "tool_calls"
    elif reason == "tool_calls" and not has_calls:
        reason = "stop"
    return "function_call" if reason == "tool_calls" and legacy else reason


def normalise_answer(data: Any, context: AnswerContext) -> Json:
    """A `chat.completion` object made of an upstream's decoded answer, in place.

    `{id, object, created, model, choices, usage, system_fingerprint?, …}`, each choice `{index, message, finish_reason,
    logprobs, provider_specific_fields}`. `provider_specific_fields` gets `usage_estimated: true` for estimated counts
    and `error` where no finish reason came. Raises UpstreamError when `data` is not a chat completion.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise UpstreamError("the upstream's answer has no choices")
    if len(choices) > MAX_CHOICES:
        raise UpstreamError("the upstream's answer has too many choices")
    fields, characters = context.fields(), 0
    for position, choice in enumerate(choices):
        if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
            raise UpstreamError("the upstream's answer has a choice without a message")
        choice["index"] = choice["index"] if isinstance(choice.get("index"), int) else position
        message = choice["message"] = _normalise_message(choice["message"], legacy=context.legacy)
        calls = bool(message.get("tool_calls") or message.get("function_call"))
        reported = choice.get("finish_reason")
        choice["finish_reason"] = finish_reason(reported, has_calls=calls, legacy=context.legacy)
        choice.setdefault("logprobs", None)
        choice["provider_specific_fields"] = dict(fields)
        if choice["finish_reason"] is None:
            choice["provider_specific_fields"]["error"] = "the upstream did not say why the answer ended"
        characters += len(message.get("content") or "")
    if not isinstance(data.get("id"), str) or not data["id"]:
        data["id"] = new_id("chatcmpl-")
    data["object"], data["model"] = "chat.completion", context.model
    data.pop(NAME_OF_UPSTREAM, None)
    data["created"] = int(data["created"]) if isinstance(data.get("created"), int | float) else int(time.time())
    answer: Json = data
    answer["usage"], estimated = normalise_usage(data.get("usage"), lambda: context.prompt_chars, characters)
    if estimated:
        for choice in choices:
            choice["provider_specific_fields"]["usage_estimated"] = True
    if context.fingerprint:
        answer["system_fingerprint"] = context.fingerprint
    elif data.get("system_fingerprint", "") is None:
        del data["system_fingerprint"]
    return answer


def _normalise_message(message: Json, *, legacy: bool) -> Json:
    """`{role, content, refusal, reasoning_content?, tool_calls? or function_call?}`, in place."""
    message["role"] = "assistant"
    content = message.get("content")
    if isinstance(content, list):
        content = joined_text(content)
    message["content"] = content if isinstance(content, str) else None
    message.setdefault("refusal", None)
    if "reasoning" in message and "reasoning_content" not in message:
        message["reasoning_content"] = message.pop("reasoning")
    calls = message.pop("tool_calls", None)
    if not calls and isinstance(message.get("function_call"), dict) and not legacy:
        calls = [{"function": message.pop("function_call")}]
    if isinstance(calls, list) and len(calls) > MAX_CALLS:
        raise UpstreamError(TOO_MANY_CALLS)
    normal = [_normalise_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if normal:
        if legacy:
            message["function_call"] = normal[0]["function"]
        else:
            message["tool_calls"] = normal
        message["content"] = message["content"] or None
    elif message["content"] is None and not message.get("function_call") and not message["refusal"]:
        message["content"] = ""
    return message


def joined_text(parts: list[Any]) -> str:
    """The texts of content parts, `[{type, text}]`, joined without a separator."""
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _normalise_call(call: Json) -> Json:
    """`{id, type, function: {name, arguments}}`."""
    inner = call.get("function")
    function: Json = inner if isinstance(inner, dict) else {}
    identity = call.get("id")
    return {
        "id": identity if isinstance(identity, str) and identity else new_id("call_"),
        "type": "function",
        "function": {
            "name": words_of(function.get("name") or call.get("name") or ""),
            "arguments": arguments_text(function.get("arguments", call.get("arguments"))),
        },
    }


def arguments_text(arguments: Any) -> str:
    """Call arguments as JSON text, as OpenAI sends them; some upstreams send the object itself, or nothing."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else orjson.dumps(arguments).decode()


def normalise_usage(usage: Any, prompt_chars: Callable[[], int], answer_chars: int) -> tuple[Json, bool]:
    """`{prompt_tokens, completion_tokens, total_tokens, …}` that add up, and whether they are estimates.

    A count that is missing, or cannot be one, is estimated from `prompt_chars()` or `answer_chars`: budgets are settled
    by it. Our embedded OCR engine marks its own counts with `estimated: true`. Other counts and objects are kept.
    """
    reported: Json = dict(usage) if isinstance(usage, dict) else {}
    is_marked = reported.pop("estimated", None) is True
    details: Json = {name: value for name, value in reported.items() if isinstance(value, dict) or is_count(value)}
    prompt, completion = details.get("prompt_tokens"), details.get("completion_tokens")
    estimated = is_marked or not isinstance(prompt, int) or not isinstance(completion, int)
    if not isinstance(prompt, int):
        prompt = -(-prompt_chars() // _CHARS_PER_TOKEN)
    if not isinstance(completion, int):
        completion = -(-answer_chars // _CHARS_PER_TOKEN)
    counts: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**details, **counts}, estimated
