"""What models and tools cost, in billionths of the currency: whole numbers, so that sums are exact. Knows no HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.config.server_settings import Price

NANO = 1_000_000_000
"""Parts of a unit of the currency. A token of a cheap model costs tens of them; sums below 9 million units are exact in
every store (2**53)."""

_MILLION = 1_000_000


@dataclass(slots=True)
class Used:
    """What a request used. `input_tokens` include the `cached_tokens` of them."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


class PriceList:
    """The configured prices by name of a model or tool."""

    def __init__(self, prices: Sequence[Price]) -> None:
        self._prices = {price.model: price for price in prices}
        self.currency = prices[0].currency if prices else "USD"

    def has(self, name: str) -> bool:
        """Whether a model or tool has a price."""
        return name in self._prices

    def tool_cost(self, tool: str, model: str, calls: int = 1) -> int:
        """What calls of a tool cost: its own price, else that of the model for which the gateway called it (empty: a
        caller called it); 0 where neither has one."""
        return self.cost(tool if self.has(tool) else model, Used(tool_calls=calls))

    def cost(self, name: str, used: Used) -> int:
        """What was used of a model or tool costs; 0 where it has no price."""
        price = self._prices.get(name)
        if price is None:
            return 0
        cached = min(used.cached_tokens, used.input_tokens)
        cached_price = price.input_per_million
        if price.cached_input_per_million is not None:
            cached_price = price.cached_input_per_million
        tokens = (used.input_tokens - cached) * price.input_per_million + cached * cached_price
        tokens += used.output_tokens * price.output_per_million
        return round(tokens * (NANO // _MILLION) + used.tool_calls * price.tool_call * NANO)
