"""How late the event loop runs its timers, and how much is in flight, told to the metrics four times a second.

Both are sampled here so that no request pays for them.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from aiohttp import web

from gateway.web.in_flight import IN_FLIGHT
from gateway.web.observe import METRICS
from gateway.web.recorder import RECORDER

_PAUSE_S = 0.25


async def loop_watch(app: web.Application) -> AsyncIterator[None]:
    """For `Application.cleanup_ctx`: watches while the application serves; at its end nothing is left unwritten."""
    task = asyncio.create_task(_watch(app))
    yield
    task.cancel()
    await asyncio.wait({task})
    app[RECORDER].flush()


async def _watch(app: web.Application) -> None:
    metrics, in_flight = app[METRICS], app[IN_FLIGHT]
    while True:
        metrics.in_flight.set(len(in_flight))
        wanted = time.perf_counter() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        metrics.loop_lag.observe(max(0.0, time.perf_counter() - wanted))
