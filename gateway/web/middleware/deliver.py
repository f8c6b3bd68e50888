"""Turns replies into bytes: a whole answer at once, a stream event by event without a queue.

`gateway.calls.delivery` has the rules for streams at every door; this module writes one to HTTP.
"""

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.calls.delivery import ClientGone
from gateway.calls.delivery import deliver as deliver_events
from gateway.errors import UpstreamError
from gateway.web.http_sink import HttpSink
from gateway.web.replies import EventReply, JsonReply
from gateway.web.state import CALL


@web.middleware
async def deliver(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Renders a JsonReply, sends an EventReply to its end. Raises GatewayError, as long as no byte was sent."""
    reply = await handler(request)
    if isinstance(reply, JsonReply):
        try:
            reply.render()
        except TypeError as error:
            raise UpstreamError("the answer holds text that is not valid Unicode") from error
    elif isinstance(reply, EventReply):
        call = request[CALL]
        sink = HttpSink(request, call, reply)
        try:
            await deliver_events(call, reply, sink)
            await sink.finish()
        except ClientGone:
            if not sink.is_whole:
                call.stats.outcome = "client_gone"
        finally:
            sink.end()
    return reply
