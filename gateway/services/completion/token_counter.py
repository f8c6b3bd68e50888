"""Counts the tokens of a messages request with the upstream's own tokenizer, where the upstream has a route for it.

llama.cpp's server and vLLM count on `/v1/messages/count_tokens` (llama.cpp tried 2026-11-22: 2 ms).
"""

import asyncio
import weakref

from gateway.domain import Json, RequestStats
from gateway.errors import GatewayError
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.wire.untrusted_json import count_in

_ROUTE = "messages/count_tokens"
_FIELDS = ("messages", "system", "tools")
"""What is counted; nothing else of the request goes to the upstream."""
_WAIT_S = 3.0
"""Seconds to wait for the upstream's count; then the tokens are estimated."""


class TokenCounter:
    """Remembers which upstreams have no such route, for as long as they are configured."""

    def __init__(self) -> None:
        self._without_route: weakref.WeakSet[object] = weakref.WeakSet()

    async def count(self, entry: ModelEntry, body: Json, stats: RequestStats) -> int | None:
        """The input tokens of a messages body by the model's first upstream; None where it cannot say."""
        if not entry.targets:
            return None
        target = entry.targets[0]
        is_resting = target.health.wait_s(stats.key_id) > 0
        if target.upstream in self._without_route or is_resting or _has_foreign_data(body):
            return None
        asked = {name: body[name] for name in _FIELDS if body.get(name) is not None}
        return await self._ask(target, {"model": target.options.name_of(body), **asked}, stats)

    async def _ask(self, target: Target, body: Json, stats: RequestStats) -> int | None:
        try:
            async with asyncio.timeout(_WAIT_S):
                answer = await target.upstream.complete(body, stats, route=_ROUTE)
        except GatewayError as error:
            if error.code == "upstream_misconfigured":  # 404 or 405: it does not know the route
                self._without_route.add(target.upstream)
            return None
        except TimeoutError:
            return None
        return count_in(answer, "input_tokens") or None


def _has_foreign_data(body: Json) -> bool:
    """Whether a block holds more than text: an upstream could fetch its address, or refuses it."""
    stack = [block for message in body["messages"] for block in _blocks(message)]
    while stack:
        block = stack.pop()
        if block["type"] in ("image", "document"):
            return True
        if block["type"] == "tool_result":
            stack += _blocks(block)
    return False


def _blocks(holder: Json) -> list[Json]:
    content = holder.get("content")
    return content if isinstance(content, list) else []
