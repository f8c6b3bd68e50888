"""An application under the production runner, on a port of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from gateway.calls.in_flight import InFlight
from gateway.web.listen_socket import bind
from gateway.web.server.runner import Listener
from gateway.web.state import IN_FLIGHT

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def listening(app: web.Application | Answer, stalled_s: float = 5) -> AsyncIterator[int]:
    """The port of an application, or of one that answers every request alike."""
    if not isinstance(app, web.Application):
        answer, app = app, web.Application()
        app[IN_FLIGHT] = InFlight(10)
        app.router.add_route("*", "/", answer)
    listener, sock = Listener(app, header_timeout_s=5, stalled_s=stalled_s), bind("127.0.0.1", 0)
    await listener.start([sock])
    try:
        yield sock.getsockname()[1]
    finally:
        await listener.close()
