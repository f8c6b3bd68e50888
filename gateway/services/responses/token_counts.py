"""Tokens that a request has for its model, without asking anybody: an estimate by characters, corrected by how far off
it was for the last answer whose tokens the model's upstream has counted.

    estimate 250, the upstream counted 300 of the last one that was estimated at 200  ->  375
"""

import time

from gateway.access.budgets import token_estimate
from gateway.domain import Json

_READ = ("messages", "tools", "response_format")
"""Fields of a chat body that a model reads."""
_RENEW_S = 30.0
_LEAST, _MOST = 0.25, 8.0
"""A ratio outside of these says that something else was counted."""


class TokenCounts:
    """What is known of each model of the table."""

    def __init__(self) -> None:
        self._ratios: dict[str, tuple[float, float]] = {}

    def wants(self, model: str) -> bool:
        """Whether what the model's upstream has counted should be noted again."""
        return time.monotonic() - self._ratios.get(model, (0.0, -_RENEW_S))[1] >= _RENEW_S

    def note(self, model: str, chat: Json, counted: int) -> None:
        """The upstream has counted so many tokens for a chat body."""
        ratio = counted / token_estimate({name: chat.get(name) for name in _READ})
        if _LEAST <= ratio <= _MOST:
            self._ratios[model] = ratio, time.monotonic()

    def of(self, model: str, chat: Json) -> tuple[int, bool]:
        """Tokens of a chat body, and whether nothing is known of how its model counts."""
        ratio, _ = self._ratios.get(model, (1.0, 0.0))
        estimate = token_estimate({name: chat.get(name) for name in _READ})
        return max(1, round(estimate * ratio)), model not in self._ratios
