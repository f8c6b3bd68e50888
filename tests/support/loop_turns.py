"""Counts the turns that other tasks get on the event loop while something runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    """`count`: turns so far."""

    count: int = 0


@asynccontextmanager
async def turns_of_others() -> AsyncIterator[Turns]:
    """The turns of one task that is always ready, from here to the end of the block."""
    turns = Turns()

    async def others() -> None:
        while True:
            turns.count += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    try:
        yield turns
    finally:
        task.cancel()
