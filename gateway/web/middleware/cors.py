"""Which web pages may read the answers: the origins the operator listed."""

from aiohttp import hdrs, web

from gateway.web.context import CONTEXT

_READABLE = (
    "X-Request-Id, Retry-After, X-Should-Retry, WWW-Authenticate, Mcp-Protocol-Version, X-Gateway-Guardrail, "
    "X-Gateway-Warning"
)


def cross_origin(request: web.Request, reply: web.StreamResponse) -> None:
    """Lets an allowed page read the answer; called with a request that has an Origin."""
    origin = request.headers[hdrs.ORIGIN]
    if origin in request[CONTEXT].server.allowed_origins:
        reply.headers["Access-Control-Allow-Origin"] = origin
        reply.headers["Access-Control-Expose-Headers"] = _READABLE
        reply.headers["Vary"] = "Origin"
