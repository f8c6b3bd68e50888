"""The error object of the messages interface. Source: Anthropic API reference (errors), read 2026-11-22."""

import re

from gateway.domain import Json
from gateway.errors import GatewayError

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
