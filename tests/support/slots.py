"""A key's slot for the length of a block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.access.rate_limits import Limiter
from gateway.domain import Caller


@asynccontextmanager
async def slot(limiter: Limiter, caller: Caller) -> AsyncIterator[None]:
    member = await limiter.take(caller)
    try:
        yield
    finally:
        await limiter.give(caller.key_id, member)
