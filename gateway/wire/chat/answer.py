"""Whole chat answers of any OpenAI-compatible upstream, brought into the one form that clients are promised.

Source: OpenAI API reference, and answers of llama.cpp, vLLM, Ollama (facts read 2026-11-21). Deliberately knows no
HTTP and no streams.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import UpstreamError

_REASONS = {
    "stop": ("stop", "eos", "eos_token", "end_turn", "end", "stop_sequence", "complete", "completed", "normal"),
    "length": ("length", "max_tokens", "max_length", "model_length", "max_output_tokens", "max_new_tokens"),
    "content_filter": ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "refusal"),
    "tool_calls": ("tool_calls", "tool_use", "tool_call", "function_call"),
}
_FINISH = {word: reason for reason, words in _REASONS.items() for word in words}
_FAILED = ("error", "abort", "aborted", "cancelled", "canceled", "internal_error")


@dataclass(slots=True)
class AnswerContext:
    """What the gateway says of an answer. `legacy`: the caller declared `functions` and gets `function_call`.

    `asked` is the request body.
    """

    model: str
    provider: str
    upstream_model: str
    started_s: float
    attempts: int = 1
    legacy: bool = False
    include_usage: bool = False
    asked: Json = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def prompt_chars(self) -> int:
        """Characters of text in the messages, for estimating tokens where the upstream does not count."""
        total = 0
        for message in self.asked.get("messages", ()):
            content = message.get("content")
            if isinstance(content, str):
                total += len(content)
            elif content:
                total += sum(len(part.get("text") or "") for part in content if isinstance(part, dict))
        return total

    def fields(self) -> Json:
        """`provider_specific_fields` of a choice."""
        return {
            "provider": self.provider,
            "model": self.upstream_model,
            "latency_ms": round((time.perf_counter() - self.started_s) * 1000, 1),
            "attempts": self.attempts,
        }


def new_id(prefix: str) -> str:
    return prefix + secrets.token_hex(12)


def finish_reason(given: Any, *, has_calls: bool, legacy: bool = False) -> str | None:
    """One of the six values. None stays None; an unknown word is a natural end."""
    if not isinstance(given, str) or not given or given.lower() in _FAILED:
        return None
    reason = _FINISH.get(given.lower(), "stop")
    if has_calls and reason in ("stop", "tool_calls"):
        reason = "tool_calls"
    elif reason == "tool_calls" and not has_calls:
        reason = "stop"
    return "function_call" if reason == "tool_calls" and legacy else reason


def normalise_answer(data: Any, context: AnswerContext) -> Json:
    """The upstream's decoded answer, mended in place. Raises UpstreamError when it is no chat completion."""
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise UpstreamError("the upstream's answer has no choices")
    fields, characters = context.fields(), 0
    for position, choice in enumerate(choices):
        if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
            raise UpstreamError("the upstream's answer has a choice without a message")
        choice["index"] = choice["index"] if isinstance(choice.get("index"), int) else position
        message = choice["message"] = mend_message(choice["message"], legacy=context.legacy)
        calls = bool(message.get("tool_calls") or message.get("function_call"))
        given = choice.get("finish_reason")
        choice["finish_reason"] = finish_reason(given, has_calls=calls, legacy=context.legacy)
        choice.setdefault("logprobs", None)
        choice["provider_specific_fields"] = dict(fields)
        if choice["finish_reason"] is None:
            choice["provider_specific_fields"]["error"] = "the upstream did not say why the answer ended"
        characters += len(message.get("content") or "")
    if not isinstance(data.get("id"), str) or not data["id"]:
        data["id"] = new_id("chatcmpl-")
    data["object"], data["model"] = "chat.completion", context.model
    data["created"] = int(data["created"]) if isinstance(data.get("created"), int | float) else int(time.time())
    answer: Json = data
    answer["usage"], estimated = mend_usage(data.get("usage"), lambda: context.prompt_chars, characters)
    if estimated:
        for choice in choices:
            choice["provider_specific_fields"]["usage_estimated"] = True
    if context.fingerprint:
        answer["system_fingerprint"] = context.fingerprint
    elif data.get("system_fingerprint", "") is None:
        del data["system_fingerprint"]
    return answer


def mend_message(message: Json, *, legacy: bool) -> Json:
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
    mended = [mend_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if mended:
        if legacy:
            message["function_call"] = mended[0]["function"]
        else:
            message["tool_calls"] = mended
        message["content"] = message["content"] or None
    elif message["content"] is None and not message.get("function_call") and not message["refusal"]:
        message["content"] = ""
    return message


def joined_text(parts: list[Any]) -> str:
    """The text of a content that came in parts."""
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def mend_call(call: Json) -> Json:
    given = call.get("function")
    function: Json = given if isinstance(given, dict) else {}
    identity = call.get("id")
    return {
        "id": identity if isinstance(identity, str) and identity else new_id("call_"),
        "type": "function",
        "function": {
            "name": str(function.get("name") or call.get("name") or ""),
            "arguments": arguments_text(function.get("arguments", call.get("arguments"))),
        },
    }


def arguments_text(arguments: Any) -> str:
    """Arguments as the JSON text OpenAI sends; some upstreams send the object itself, or nothing."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else orjson.dumps(arguments).decode()


def mend_usage(usage: Any, prompt_chars: Callable[[], int], answer_chars: int) -> tuple[Json, bool]:
    """Token counts that add up, and whether they are estimates: ours (4 characters a token), or, where the upstream
    says so by `estimated`, its own."""
    given: Json = dict(usage) if isinstance(usage, dict) else {}
    told = given.pop("estimated", None) is True
    prompt, completion = given.get("prompt_tokens"), given.get("completion_tokens")
    estimated = told or not isinstance(prompt, int) or not isinstance(completion, int)
    if not isinstance(prompt, int):
        prompt = -(-prompt_chars() // 4)
    if not isinstance(completion, int):
        completion = -(-answer_chars // 4)
    details: Json = {name: value for name, value in given.items() if isinstance(value, dict | int)}
    counts: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**details, **counts}, estimated
