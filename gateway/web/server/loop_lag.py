"""Samples how late the event loop runs its timers, its tasks, and the requests in flight, for the metrics.

All are sampled here so that no request pays for them. Knows no request.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from aiohttp import web

from gateway.web.state import SERVER_STATE, ServerState

_PAUSE_S = 0.25
"""Time between samples. Chosen: four wake-ups a second cost nothing measurable; half would double them, double would
miss most blocks that are shorter than half a second."""


async def loop_watch(app: web.Application) -> AsyncIterator[None]:
    """For `Application.cleanup_ctx`: samples while the application serves, and writes the last log lines."""
    task = asyncio.create_task(_watch(app[SERVER_STATE]))
    yield
    task.cancel()
    await asyncio.wait({task})
    app[SERVER_STATE].recorder.flush()


async def _watch(server: ServerState) -> None:
    metrics, in_flight = server.metrics, server.in_flight
    while True:
        metrics.in_flight.set(len(in_flight))
        metrics.tasks.set(len(asyncio.all_tasks()))
        due_s = time.perf_counter() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        metrics.loop_lag.observe(max(0.0, time.perf_counter() - due_s))
