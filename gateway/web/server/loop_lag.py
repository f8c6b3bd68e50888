"""How late the event loop runs its timers, and how much is in flight, told to the metrics four times a second.

Both are sampled here so that no request pays for them.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from aiohttp import web

from gateway.web.state import SERVER_STATE, ServerState

_PAUSE_S = 0.25


async def loop_watch(app: web.Application) -> AsyncIterator[None]:
    """For `Application.cleanup_ctx`: watches while the application serves; at its end nothing is left unwritten."""
    task = asyncio.create_task(_watch(app[SERVER_STATE]))
    yield
    task.cancel()
    await asyncio.wait({task})
    app[SERVER_STATE].recorder.flush()


async def _watch(server: ServerState) -> None:
    metrics, in_flight = server.metrics, server.in_flight
    while True:
        metrics.in_flight.set(len(in_flight))
        wanted = time.perf_counter() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        metrics.loop_lag.observe(max(0.0, time.perf_counter() - wanted))
