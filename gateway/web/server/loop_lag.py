"""Samples how late the event loop runs its timers, its tasks, and the requests in flight, for the metrics.

All are sampled here so that no request pays for them. Knows no request.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

from aiohttp import web

from gateway.web.state import SERVER_STATE, ServerState

_PAUSE_S = 0.25
"""Time between samples. Chosen: four wake-ups a second cost nothing measurable; half would double them, double would
miss most blocks that are shorter than half a second."""

_THREAD_TURN_S = 0.001
"""Longest that a busy thread (a scan of a long text, a write to the index) keeps Python's lock while the event loop
wants it, at each of the loop's turns; a small request takes about ten. Chosen: Python's default is five times as long,
which makes a request of 5 ms one of 50 under a flood of long texts. At half, busy threads switch twice as often (2 % of
their time); at double, small requests wait twice as long."""


async def loop_watch(app: web.Application) -> AsyncIterator[None]:
    """For `Application.cleanup_ctx`: samples while the application serves, and writes the last log lines.

    Keeps threads from holding the loop up meanwhile.
    """
    sys.setswitchinterval(_THREAD_TURN_S)
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
