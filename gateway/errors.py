"""The errors of the domain, from which the edge builds every error body.

This module knows no HTTP library and no wire format. Each class carries a status *hint* and the type and code that
OpenAI clients expect (facts: OpenAI API reference, read 2026-11-21); the interface's dialect decides the body's shape.
A message is written for the caller: it says what to correct and never holds a key, a prompt or an upstream's body.
What an upstream said stands apart from it, in `quoted`.

    GatewayError
    ├── InvalidRequest            400  the caller's fault; `param` names the field
    │   ├── ContentBlocked        400  the sanitizer refused it
    │   ├── BodyTimeout           408
    │   ├── PayloadTooLarge       413
    │   └── UnsupportedMediaType  415
    ├── Unauthenticated           401
    ├── Forbidden                 403
    ├── NotFound                  404
    │   └── ModelNotFound         404
    ├── MethodNotAllowed          405
    ├── NotAcceptable             406
    ├── RateLimited               429  this key asked too much
    ├── Overloaded                503  the whole gateway is busy or draining
    ├── EngineMissing             503  an extra or a setting is missing: the operator's work
    ├── SanitizerFailed           503  detectors or guardrail failed and the policy is to refuse
    ├── UpstreamError             502  the upstream's fault
    │   ├── UpstreamUnavailable   503
    │   ├── UpstreamTimeout       504
    │   └── UpstreamRefused       its own 4xx, passed on with a scrubbed message
    ├── UnsupportedCoding         501
    ├── UnsupportedProtocol       505
    └── InternalError             500
"""

from typing import ClassVar


class GatewayError(Exception):
    """Base of all errors a caller may see; never raised itself.

    `quoted`: what an upstream said, in its own words, which may repeat the request. For the caller of that very call
    alone, and as text of others: through the sanitizer. Never for logs, notes and what other callers see.
    """

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str = "server_error"
    retryable: bool = False
    quoted: str | None = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        if code is not None:
            self.code = code


class InvalidRequest(GatewayError):
    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class ContentBlocked(InvalidRequest):
    """The sanitizer blocked it. `param` is where, the message names the kind, never the value."""

    code = "content_filter"


class BodyTimeout(InvalidRequest):
    status = 408
    code = "request_timeout"
    retryable = True


class PayloadTooLarge(InvalidRequest):
    status = 413
    code = "payload_too_large"


class UnsupportedMediaType(InvalidRequest):
    status = 415
    code = "unsupported_media_type"


class Unauthenticated(GatewayError):
    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class Forbidden(GatewayError):
    status = 403
    type = "permission_error"
    code = "insufficient_scope"


class NotFound(GatewayError):
    status = 404
    type = "invalid_request_error"
    code = "not_found"


class ModelNotFound(NotFound):
    code = "model_not_found"

    def __init__(self, message: str) -> None:
        super().__init__(message, param="model")


class MethodNotAllowed(GatewayError):
    """`allow` lists the methods the path does take."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"

    def __init__(self, message: str, allow: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allow = allow


class NotAcceptable(GatewayError):
    status = 406
    type = "invalid_request_error"
    code = "not_acceptable"


class RateLimited(GatewayError):
    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    retryable = True


class Overloaded(GatewayError):
    status = 503
    code = "overloaded"
    retryable = True


class EngineMissing(GatewayError):
    status = 503
    code = "engine_missing"


class SanitizerFailed(GatewayError):
    status = 503
    code = "sanitizer_failed"
    retryable = True


class UpstreamError(GatewayError):
    status = 502
    type = "upstream_error"
    code = "upstream_error"
    retryable = True


class UpstreamUnavailable(UpstreamError):
    status = 503
    code = "upstream_unavailable"


class UpstreamTimeout(UpstreamError):
    status = 504
    code = "upstream_timeout"


class UpstreamRefused(UpstreamError):
    """The upstream answered 400, 404, 413, 422 or 429; `status` is that of the caller's answer."""

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, param=param, code=code, retry_after_s=retry_after_s)
        self.status = status
        self.retryable = status == 429


class UnsupportedCoding(GatewayError):
    status = 501
    type = "invalid_request_error"
    code = "unsupported_transfer_encoding"


class UnsupportedProtocol(GatewayError):
    status = 505
    type = "invalid_request_error"
    code = "unsupported_protocol"


class InternalError(GatewayError):
    code = "internal_error"
