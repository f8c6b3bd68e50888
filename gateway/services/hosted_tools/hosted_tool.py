"""What a kind of hosted tool is to the loop, and how its calls are run."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Protocol, TypeAlias

from gateway.domain import Json
from gateway.wire.hosted_answer import CallPhase, HostedCall, HostedEvent

_CALLS_AT_ONCE = 4
"""Calls of one round that run beside each other. Chosen: at half, four searches take twice as long; at double, one
answer takes more of the providers' and the pages' connections from others."""


class HostedTool(Protocol):
    """One kind of hosted tool in one request. `phases`: those that are reported before a call runs."""

    @property
    def kind(self) -> str: ...

    @property
    def phases(self) -> tuple[str, ...]: ...

    @property
    def guidance(self) -> str:
        """What the prompt says about its functions, beside their descriptions; read after `functions`."""
        ...

    def opening(self, limit_s: float) -> AsyncGenerator[list[HostedEvent], None]:
        """What happens before the first round, such as listing a server's tools, within `limit_s` seconds. What takes
        longer fails as a call does. Raises GatewayError."""
        ...

    def functions(self, taken: Collection[str]) -> list[Json]:
        """The chat function tools that the model is offered, after `opening`; no name is among `taken`."""
        ...

    def serves(self, name: str) -> bool:
        """Whether a function of this name is one of `functions`."""
        ...

    def start(self, name: str, arguments: str) -> HostedCall:
        """A call as the model made it; `arguments` is what it wrote, which may be no JSON."""
        ...

    async def run(self, call: HostedCall) -> None:
        """Run a call: sets `status` (`completed` or `failed`) and `output`. Raises no GatewayError."""
        ...


Running: TypeAlias = tuple[HostedTool, HostedCall]


async def run_all(calls: Sequence[Running], limit_s: float) -> AsyncGenerator[list[HostedEvent], None]:
    """Run the calls at the same time, `limit_s` seconds at most; their phases are yielded in the order of the calls.

    Closing the generator cancels those that still run.
    """
    turns = asyncio.Semaphore(_CALLS_AT_ONCE)
    tasks = [asyncio.create_task(_run(tool, call, turns, limit_s)) for tool, call in calls]
    try:
        for (tool, call), task in zip(calls, tasks, strict=True):
            yield [CallPhase(call, phase) for phase in tool.phases]
            await task
            yield [CallPhase(call, call.status)]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


OUT_OF_TIME = "the time for tools in one answer is used up"
"""The error of a call, or of a list of tools, that was ended by the limit of the answer."""


async def _run(tool: HostedTool, call: HostedCall, turns: asyncio.Semaphore, limit_s: float) -> None:
    try:
        async with asyncio.timeout(limit_s), turns:
            await tool.run(call)
    except TimeoutError:
        call.status, call.error = "failed", OUT_OF_TIME
        call.output = f"This call failed: {call.error}. Answer with what you know."
