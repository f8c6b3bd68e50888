"""Makes the message object of an answer: its envelope, stop reasons and usage.

Source: Anthropic API reference (Messages), SDK anthropic 2.12, read 2026-11-22. `provider_specific_fields` is an
addition of ours, as on the other model routes.
"""

import re
import secrets
from collections.abc import Iterator
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import GatewayError
from gateway.wire.chat.answer import other_counts
from gateway.wire.untrusted_json import count_in, table_in, utf8_size

_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
"""Chat's finish reasons, and the stop reason of each. None, an upstream that does not say why it ended, stays None."""
_BYTES_PER_TOKEN = 4
"""UTF-8 bytes in a token, for estimates: OpenAI's rule of thumb for English. Three letters of Chinese count two."""


def new_id(prefix: str) -> str:
    """`prefix` (`msg`, `toolu`, `srvtoolu`), an underscore and 32 random hex digits."""
    return f"{prefix}_{secrets.token_hex(16)}"


def new_message(model: str) -> Json:
    """`{id, type: "message", role, model, content: [], stop_reason: null, stop_sequence: null, usage}`."""
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_object(None),
    }


def usage_object(usage: Json | None) -> Json:
    """`{input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens}` of a chat usage.

    As in this API, `input_tokens` leaves out those that were read from a cache or written to one. What else the
    upstream counts is kept.
    """
    prompt, details = count_in(usage, "prompt_tokens"), table_in(usage, "prompt_tokens_details")
    cached = min(prompt, count_in(details, "cached_tokens"))
    written = min(prompt - cached, count_in(details, "cache_write_tokens"))
    return {
        **other_counts(usage),
        "input_tokens": prompt - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": count_in(usage, "completion_tokens"),
    }


def stop_fields(finish_reason: str | None, matched: Any, stops: list[str]) -> Json:
    """`{stop_reason, stop_sequence}`. `matched`: what an upstream says ended the answer (vLLM, SGLang)."""
    if finish_reason == "stop" and isinstance(matched, str) and matched in stops:
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": _REASONS.get(finish_reason or ""), "stop_sequence": None}


def token_estimate(chat: Json) -> int:
    """About how many tokens a chat body has, at least 1: the bytes of its texts, calls and tools, without images."""
    size = len(orjson.dumps(chat["tools"])) if chat.get("tools") else 0
    size += sum(map(utf8_size, _texts(chat["messages"])))
    return max(1, -(-size // _BYTES_PER_TOKEN))


def _texts(messages: list[Json]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        else:
            yield from (part.get("text") or "" for part in content or ())
        yield from (call["function"]["arguments"] for call in message.get("tool_calls") or ())


# --- errors ---
# The error object of the messages interface. Source: Anthropic API reference (errors), read 2026-11-22.

_TOKENS = re.compile(r"\b(\d{1,9}) tokens")
NO_THREADS = "thread_unsupported_request"
"""Code by which the SDK's tool runner knows that it must send the whole history (anthropic 2.12)."""
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    504: "timeout_error",
}
"""Types of errors by status. Any other status of the caller's is `invalid_request_error`, of ours `overloaded_error`
where trying again helps, else `api_error`."""


def error_object(error: GatewayError) -> Json:
    """`{type: "error", error: {type, message, code}, request_id}`; `code` is an addition of ours.

    A prompt that is too long is reported in words by which Claude Code knows that it must shorten the conversation.
    """
    kind = _TYPES.get(error.status)
    if kind is None:
        is_busy = error.status >= 500 and error.retryable
        kind = "overloaded_error" if is_busy else "api_error" if error.status >= 500 else "invalid_request_error"
    message = _too_long(error.message) if error.code == "context_length_exceeded" else error.message
    fields: Json = {"type": kind, "message": message, "code": error.code}
    if error.code == NO_THREADS:
        fields["details"] = {"error_code": error.code, "unsupported": ["thread"]}
    return {"type": "error", "error": fields, "request_id": error.request_id}


def _too_long(message: str) -> str:
    """An upstream's words for a prompt beyond its context in those of this API, with both numbers where it tells them
    (llama.cpp, vLLM): by them Claude Code knows how much to leave out."""
    counts = [int(each) for each in _TOKENS.findall(message)][:2]
    if len(counts) == 2 and counts[0] != counts[1]:
        return f"prompt is too long: {max(counts)} tokens > {min(counts)} maximum"
    return f"prompt is too long: {message}"
