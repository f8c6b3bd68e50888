"""The error body of OpenAI's API, outgoing and incoming.

Source: OpenAI API reference and SDKs openai 3.52, @ai-sdk/openai 3.0 (read 2026-11-21). `code` is always a string:
one SDK drops the message when it is null.
"""

import re
from typing import Any

from gateway.domain import Json
from gateway.errors import GatewayError, UpstreamError, UpstreamRefused, UpstreamUnavailable
from gateway.key_scrubber import HIDDEN, scrub_keys

_MAX_CHARS = 500
_OF_RESPONSES = {"messages": "input", "max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
"""Fields of a chat request and what the responses route calls them."""
_URL = re.compile(r"(?i)\bhttps?://\S+")


def error_object(error: GatewayError) -> Json:
    """`type` follows the status where an upstream's refusal is passed on: clients act on it."""
    kind = error.type
    if isinstance(error, UpstreamRefused):
        kind = "rate_limit_error" if error.status == 429 else "invalid_request_error"
    return {"message": error.message, "type": kind, "param": error.param, "code": error.code}


def responses_error_object(error: GatewayError) -> Json:
    """The same for a request that was translated to chat: `param` is the field its caller knows."""
    param = error.param
    named = _OF_RESPONSES.get(re.split(r"[.\[]", param)[0], param) if param is not None else None
    return {**error_object(error), "param": named}


def scrubbed(text: Any) -> str:
    """A message of an upstream's, fit to be shown: one line, no keys, no addresses, at most 500 characters."""
    line = " ".join(str(text).split())
    return _URL.sub(HIDDEN, scrub_keys(line))[:_MAX_CHARS]


def upstream_error(status: int, body: Any, retry_after_s: float | None) -> UpstreamError:
    """What the caller is told when an upstream answered `status` with the decoded `body` (None = not JSON)."""
    told = _told(body)
    message = scrubbed(told.get("message") or "")
    if status in (401, 403):
        return UpstreamError("the upstream did not accept the gateway's credentials", code="upstream_credentials")
    if status == 429:
        quota = str(told.get("code")) == "insufficient_quota"
        return UpstreamRefused(
            message or "the upstream is busy",
            status=429,
            code="rate_limit_exceeded" if not quota else "insufficient_quota",
            retry_after_s=retry_after_s,
        )
    if "image input is not supported" in message:
        return UpstreamRefused("this model does not take images", status=400, code="invalid_value", param="messages")
    if status in (400, 404, 405, 409, 413, 415, 422):
        return _refused(status, message, told)
    if status == 503:
        return UpstreamUnavailable("the upstream is not available", retry_after_s=retry_after_s)
    return UpstreamError(f"the upstream failed ({status})", retry_after_s=retry_after_s)


def _refused(status: int, message: str, told: Json) -> UpstreamError:
    """The caller's fault in the upstream's eyes. A 404 is about a path or model the operator chose: our fault."""
    if status in (404, 405, 415):
        return UpstreamError(f"the upstream does not serve this ({status})", code="upstream_misconfigured")
    code, param = told.get("code"), told.get("param")
    code = code if isinstance(code, str) and code else "invalid_value"
    if re.search(r"context (length|size|window)|maximum context|exceed_context|too many tokens", message, re.I) or (
        told.get("type") == "exceed_context_size_error"
    ):
        code, param = "context_length_exceeded", "messages"
    if param is None and (named := re.search(r"^Field '([a-z_]{1,40})'", message)):
        param = named[1]  # llama.cpp
    return UpstreamRefused(
        message or "the upstream refused the request",
        status=413 if status == 413 else 400,
        code=code,
        param=param if isinstance(param, str) else None,
    )


def _told(body: Any) -> Json:
    """`{"error": {...}}`, `{"error": "text"}`, `{"message": …}`, `{"detail": …}`: as the first of them."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error", body)
    if isinstance(inner, dict):
        return {"message": inner.get("message") or inner.get("detail"), **inner}
    return {"message": inner}
