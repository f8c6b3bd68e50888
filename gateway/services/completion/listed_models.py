"""What upstreams list of the models that a wildcard stands for (`models.list_models`)."""

import asyncio
import time

from gateway.errors import ModelNotFound, UpstreamError
from gateway.services.completion.attempts import ModelEntry
from gateway.services.completion.model_names import is_wild
from gateway.services.completion.service import CompletionService

_TTL_S, _AFTER_FAILURE_S = 300.0, 30.0
_WAIT_S = 5.0
"""Seconds to wait for a list; then what was listed before is shown, or nothing."""


class ListedModels:
    """The names of models that callers are shown. An upstream is asked for its list at most every _TTL_S."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions
        self._listed: dict[str, list[str]] = {}
        self._until_s: dict[str, float] = {}
        self._lock = asyncio.Lock()

    async def names(self, entry: ModelEntry) -> list[str]:
        """The names of an entry: its own and its aliases; in the place of wildcards what its upstream lists."""
        own = [name for name in (entry.name, *entry.aliases) if not is_wild(name)]
        if not entry.lists:
            return own
        async with self._lock:
            if time.monotonic() >= self._until_s.get(entry.name, 0.0):
                self._until_s[entry.name] = time.monotonic() + await self._ask(entry)
        listed = (name for name in self._listed.get(entry.name, ()) if self._is_of(name, entry))
        return list(dict.fromkeys((*own, *listed)))

    async def _ask(self, entry: ModelEntry) -> float:
        """Asks the first upstream of an entry; for how many seconds the answer counts."""
        listing = entry.targets[0].listing if entry.targets else None
        if listing is None:
            return _TTL_S
        try:
            async with asyncio.timeout(_WAIT_S):
                self._listed[entry.name] = await listing()
        except (UpstreamError, TimeoutError):
            return _AFTER_FAILURE_S
        return _TTL_S

    def _is_of(self, name: str, entry: ModelEntry) -> bool:
        """Whether a name means the entry, and not a more exact one."""
        try:
            return self._completions.resolve(name).name == entry.name
        except ModelNotFound:
            return False
