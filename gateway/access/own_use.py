"""What the gateway's own calls of models use for a key: OCR of pages that hold no text, in web tools and file parts.

They come in the course of a request for another thing, so that the middleware, which counts what a request names, does
not see them. They are counted by the same rules: reserved of the key's budgets before the call and settled after it,
and written to its usage and the metrics. They are no requests of their own. Knows no HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gateway.access.budgets import Budgets, count_cut_off
from gateway.access.prices import Used
from gateway.access.rate_limits import LimitState
from gateway.access.usage import UsageBook, UsageKey
from gateway.domain import Caller, Json, RequestStats
from gateway.metrics import Metrics


class OwnUse:
    """`caller_of` gives the caller of a key's id, None for none: the gateway's own work, or a key revoked meanwhile."""

    def __init__(
        self, caller_of: Callable[[str], Caller | None], budgets: Budgets, usage: UsageBook, metrics: Metrics
    ) -> None:
        self._caller_of = caller_of
        self._budgets = budgets
        self._usage = usage
        self._metrics = metrics

    @asynccontextmanager
    async def charged(self, body: Json, stats: RequestStats) -> AsyncIterator[None]:
        """Around one call with `body`; `stats` has the key's id before, and what was used after it. Raises BudgetSpent
        and NoPrice before the call."""
        caller = self._caller_of(stats.key_id)
        limits: dict[str, LimitState] = {}
        reservation = await self._budgets.reserve(caller, body, limits) if caller is not None else None
        was_cut = False
        try:
            yield
        except asyncio.CancelledError:
            was_cut = True
            raise
        finally:
            if was_cut and reservation is not None:
                count_cut_off(stats, reservation)
            used = Used(stats.input_tokens, stats.cached_tokens, stats.output_tokens)
            if reservation is not None:
                await asyncio.shield(self._budgets.settle(reservation, stats.model, used, limits))
            if stats.model and used.tokens:
                self._count(stats, used)

    def _count(self, stats: RequestStats, used: Used) -> None:
        if stats.key_id:
            self._usage.add(UsageKey(stats.key_id, stats.model), used, requests=0)
        self._metrics.tokens.labels(stats.model, "input").inc(used.input_tokens)
        self._metrics.tokens.labels(stats.model, "output").inc(used.output_tokens)
