"""The errors that callers may see. The errors middleware builds every error body from one of them.

Each class carries the HTTP status, and the type and code that OpenAI's clients expect (OpenAI API reference, read
2026-11-21); the interface's dialect decides the shape of the body. A message begins in lower case, has no full stop,
says what is wrong and what to do, and never holds a key or a prompt.

GatewayError
├── InvalidRequest            400  the caller must change it; `param` names the field
│   ├── ContentBlocked        400  the sanitizer refused it
│   ├── BodyTimeout           408
│   ├── PayloadTooLarge       413
│   └── UnsupportedMediaType  415
├── Unauthenticated           401
├── Forbidden                 403
│   └── NoPrice               403  a spend limit, and no price to count by
├── NotFound                  404
│   └── ModelNotFound         404
├── Conflict                  409  it goes on with what is not finished
├── MethodNotAllowed          405
├── NotAcceptable             406
├── UpgradeRequired           426  WebSocket is turned off
├── RateLimited               429  a limit of the key is reached
│   └── BudgetSpent           429  its tokens, tool calls or spend are used up
├── StateUnavailable          503  a store of keys or state is away, or its disk is full
├── Overloaded                503  the whole gateway is busy or shutting down
├── EngineMissing             503  an extra or a setting is missing; the operator must act
├── SanitizerFailed           503  detectors or guardrail failed and the policy is to refuse
├── UpstreamError             502  an upstream failed
│   ├── UpstreamUnavailable   503
│   ├── UpstreamTimeout       504
│   └── UpstreamRefused       its own 4xx, passed on with a scrubbed message
├── UnsupportedCoding         501
├── UnsupportedProtocol       505
└── InternalError             500"""

from typing import Any, ClassVar


class GatewayError(Exception):
    """Base of all errors that a caller may see; never raised itself.

    `param` names the field at fault. `retryable`: whether the same request may succeed later; `retry_after_s`: when,
    in seconds, if known. `quoted` is the failure in an upstream's own words, which may repeat the request: it is shown
    only to the caller of that request, through the sanitizer, and never in logs, notes or other callers' answers.
    `partial` is what can be answered all the same, in the shape of the answer; it is sanitized like one.
    `request_id` is the request that it ended, set where the error is answered.
    """

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str = "server_error"
    retryable: bool = False
    quoted: str | None = None
    partial: dict[str, Any] | None = None
    request_id: str | None = None

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        if code is not None:
            self.code = code


class InvalidRequest(GatewayError):
    """The caller must change the request."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class ContentBlocked(InvalidRequest):
    """The sanitizer refused a text. `param` is its place; the message names the entity, never the value."""

    code = "content_filter"


class BodyTimeout(InvalidRequest):
    """The body did not arrive within `server.body_timeout_s`."""

    status = 408
    code = "request_timeout"
    retryable = True


class PayloadTooLarge(InvalidRequest):
    """The request body is over its limit, which the message names."""

    status = 413
    code = "payload_too_large"


class UnsupportedMediaType(InvalidRequest):
    """The body is not in a format that the endpoint reads."""

    status = 415
    code = "unsupported_media_type"


class Unauthenticated(GatewayError):
    """The request has no valid key. `has_key`: it has one that is not valid."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"
    has_key = True


class Forbidden(GatewayError):
    """The key is valid but lacks the scope, or the browser origin is not listed."""

    status = 403
    type = "permission_error"
    code = "insufficient_scope"


class NotFound(GatewayError):
    """There is no such path, stored response or item, or key id."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class ModelNotFound(NotFound):
    """No model has this name; `param` is always `model`."""

    code = "model_not_found"

    def __init__(self, message: str) -> None:
        super().__init__(message, param="model")


class Conflict(GatewayError):
    """The request goes on with something that is not finished."""

    status = 409
    type = "invalid_request_error"
    code = "response_in_progress"
    retryable = True


class MethodNotAllowed(GatewayError):
    """The path takes other methods only: those in `allow`."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"

    def __init__(self, message: str, allow: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allow = allow


class NotAcceptable(GatewayError):
    """The `Accept` header allows none of the formats that the endpoint can answer in."""

    status = 406
    type = "invalid_request_error"
    code = "not_acceptable"


class UpgradeRequired(GatewayError):
    """The path is served over another protocol than was asked for."""

    status = 426
    type = "invalid_request_error"
    code = "upgrade_required"


class RateLimited(GatewayError):
    """The key, an address that sends wrong keys, or the queue of the OCR engine is over its limit.

    `limit`: the key's calls a minute, where that is the limit.
    """

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    retryable = True
    limit: int = 0


class BudgetSpent(RateLimited):
    """A budget of the key is used up. `retryable` only where the period ends soon."""

    code = "insufficient_quota"
    retryable = False


class NoPrice(Forbidden):
    """The key has a spend limit, and what it asks for has no price."""

    code = "no_price"


class StateUnavailable(GatewayError):
    """The store of keys or responses that the machines share cannot be reached."""

    status = 503
    code = "state_unavailable"
    retryable = True


class Overloaded(GatewayError):
    """The whole gateway serves as many requests as it may, or is shutting down."""

    status = 503
    code = "overloaded"
    retryable = True


class EngineMissing(GatewayError):
    """An extra is not installed or an engine is turned off: the operator must act."""

    status = 503
    code = "engine_missing"


class SanitizerFailed(GatewayError):
    """Detectors or guardrail failed, and the policy is to refuse."""

    status = 503
    code = "sanitizer_failed"
    retryable = True


class UpstreamError(GatewayError):
    """An upstream or a search provider failed, or answered what cannot be used. `cause` says how in the operator's log:
    `refused`, `dns`, `tls`, `timeout`, `disconnected`, `not json`, `status 503 overloaded_error`; never an address.
    `said`: the upstream's own words, which the message has too; they may quote the request."""

    status = 502
    type = "upstream_error"
    code = "upstream_error"
    retryable = True
    cause = said = ""


class UpstreamUnavailable(UpstreamError):
    """It cannot be reached, or says that it is busy."""

    status = 503
    code = "upstream_unavailable"


class UpstreamTimeout(UpstreamError):
    """It was silent for longer than its timeout."""

    status = 504
    code = "upstream_timeout"


class UpstreamRefused(UpstreamError):
    """The upstream calls the request the caller's fault. `status` is the one the caller gets: 400, 413 or 429."""

    retryable = False

    def __init__(
        self, message: str, *, status: int, code: str, param: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, param=param, code=code, retry_after_s=retry_after_s)
        self.status = status
        self.retryable = status == 429


class UnsupportedCoding(GatewayError):
    """The request has a transfer coding other than `chunked`."""

    status = 501
    type = "invalid_request_error"
    code = "unsupported_transfer_encoding"


class UnsupportedProtocol(GatewayError):
    """The request is not HTTP/1.0 or HTTP/1.1."""

    status = 505
    type = "invalid_request_error"
    code = "unsupported_protocol"


class InternalError(GatewayError):
    """A fault of the gateway itself; the log line of the request says where."""

    code = "internal_error"


_REFUSAL_CODES = frozenset(
    (
        *("content_filter", "context_length_exceeded", "insufficient_quota", "invalid_value", "rate_limit_exceeded"),
        *("image_too_large", "invalid_image_format", "missing_image", "ocr_queue_full", "too_many_images"),
    )
)
"""Codes of upstreams' refusals that are counted by themselves: those that the gateway sets or its OCR engine sends."""


def error_label(error: GatewayError) -> str:
    """The error's code for metrics and records. An upstream may word the code of its refusal as it likes, and each new
    word would be a new time series."""
    is_foreign = isinstance(error, UpstreamRefused) and error.code not in _REFUSAL_CODES
    return "upstream_refused" if is_foreign else error.code


TEXTS_ALONE = "it may take texts alone: LangChain's OpenAIEmbeddings sends them with check_embedding_ctx_length=False"
"""What a caller whose token ids were refused can do."""
