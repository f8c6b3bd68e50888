"""Removes what a key has left on this machine, and in Redis: `gateway keys erase`."""

import time
from contextlib import AsyncExitStack

from gateway.access.budgets import user_counters
from gateway.access.usage import SharedUsage, erase_usage
from gateway.app.shared import SharedParts, shared_parts
from gateway.app.web_engine import open_backend
from gateway.config.settings import Config
from gateway.engines.index.port import Index
from gateway.shared_state.port import Entries
from gateway.web.history import erase_records

_PAGES_AT_ONCE = 100


async def erase(config: Config, key_id: str) -> dict[str, int]:
    """Remove stored responses, conversations, background runs, pages that this key alone has indexed, its usage, the
    records of its last requests, and what is counted of its users. Returns how many there were of each; of usage and
    records, on this machine. Raises StateDown, and as the index does."""
    async with AsyncExitStack() as resources:
        shared = shared_parts(config, resources)
        if shared.redis is not None:
            await shared.redis.check()
        counts = {name: await _erased(entries, key_id) for name, entries in _stores(shared).items()}
        index = open_backend(config, config.index.backend)
        resources.push_async_callback(index.close)
        counts["pages"] = await _erase_pages(index, key_id)
        counts["usage"] = await shared.file.run(lambda connection: erase_usage(connection, key_id))
        counts["records"] = await shared.file.run(lambda connection: erase_records(connection, key_id))
        counts["counters"] = sum([await shared.counters.erase(prefix) for prefix in user_counters(key_id)])
        if shared.redis is not None:
            await SharedUsage(shared.redis, config.usage.keep_days).erase(key_id, time.time())
    return counts


def _stores(shared: SharedParts) -> dict[str, Entries]:
    return {"responses": shared.responses, "conversations": shared.conversations, "runs": shared.runs}


async def _erased(entries: Entries, owner: str) -> int:
    count = await entries.count(owner)
    await entries.erase(owner)
    return count


async def _erase_pages(index: Index, owner: str) -> int:
    """Remove the owner's pages, a batch of all pages at a time."""
    last, removed = 0, 0
    while batch := await index.pages(last, _PAGES_AT_ONCE):
        last = batch[-1][0]
        for _, page in batch:
            if page.owner == owner:
                removed += await index.remove(page.url, owner)
    return removed
