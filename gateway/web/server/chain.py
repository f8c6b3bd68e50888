"""The order of the middlewares, in one place, and the application that has them. Knows no endpoint.

observe   outermost: whatever happens inside, there is one log line and an id
errors    so that everything below may raise
auth      before a byte of the body is read
limits    before any work; its slot is held to the end of a stream, so deliver must be inside
deliver   makes the bytes, so everything that changes data must be inside
body      after auth; gives sanitize and handlers decoded, checked data
sanitize  innermost: sees exactly what the handler will see, and what it answers
"""

from aiohttp import web

from gateway.web.in_flight import IN_FLIGHT
from gateway.web.middleware.auth import auth
from gateway.web.middleware.body import body
from gateway.web.middleware.deliver import deliver
from gateway.web.middleware.errors import errors
from gateway.web.middleware.limits import limits
from gateway.web.middleware.observe import observing
from gateway.web.middleware.sanitize import sanitize
from gateway.web.server.loop_lag import loop_watch
from gateway.web.state import SERVER_STATE, ServerState


def application(server: ServerState, max_body_bytes: int) -> web.Application:
    """An application with the middlewares and the routes. `max_body_bytes`: larger request bodies are refused (413).

    The caller (`app`) adds the clean-up of the services.
    """
    app = same_application(server, max_body_bytes)
    app.cleanup_ctx.append(loop_watch)
    return app


def same_application(server: ServerState, max_body_bytes: int) -> web.Application:
    """As `application`, for a second listener of a process whose loop is watched already."""
    chain = (observing(server), errors, auth, limits, deliver, body, sanitize)
    app = web.Application(middlewares=chain, client_max_size=max_body_bytes)
    app[SERVER_STATE], app[IN_FLIGHT] = server, server.in_flight
    server.endpoints.register(app)
    return app
