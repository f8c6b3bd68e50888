"""Waiting for what another process, thread or timer changes, never longer than a limit."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], bool], limit_s: float) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - nothing here could set an event
            await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], Awaitable[bool]], limit_s: float) -> None:
    """Raises TimeoutError. The pause leaves other processes the processor."""
    async with asyncio.timeout(limit_s):
        while not await condition():  # noqa: ASYNC110 - nothing here could set an event
            await asyncio.sleep(0.05)
