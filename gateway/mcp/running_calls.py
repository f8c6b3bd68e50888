"""The tool calls that run right now, so that `notifications/cancelled` can reach them.

Best effort within one process. Requests are told apart by who sent them and by their id; where two with one name run
at once (several agents on one key and host), neither is cancelled: rather work for nothing than stop another's call.
"""

import asyncio
from collections.abc import Callable, Hashable

from gateway.mcp.messages import RequestId

Client = Callable[[], Hashable]
"""Asked for when somebody cancels: who sent a call."""


class RunningCall:
    """`cancelled` is True once its client has asked for the end, `expired` once its time is up, at `ends_at_s`."""

    __slots__ = ("call_id", "cancelled", "client", "ends_at_s", "expired", "task")

    def __init__(self, client: Client, call_id: RequestId, task: "asyncio.Task[object]", ends_at_s: float) -> None:
        self.client = client
        self.call_id = call_id
        self.task = task
        self.ends_at_s = ends_at_s
        self.cancelled = False
        self.expired = False

    def expire(self) -> None:
        if not (self.cancelled or self.expired):
            self.expired = True
            self.task.cancel()

    def cancel(self) -> bool:
        if self.cancelled or self.expired:
            return False
        self.cancelled = True
        self.task.cancel()
        return True

    def take_back(self) -> bool:
        """In an `except CancelledError`: whether the client's notification, or the time, alone cancelled."""
        return (self.cancelled or self.expired) and self.task.uncancel() == 0


class RunningCalls:
    """As many as the requests in flight hold. Calls come and go all the time, so they are only gathered; the rare
    cancellation looks for the one it means.

    `longest_call_s` is a backstop: tools have shorter budgets of their own. One timer looks after all calls, so that a
    call may last a tenth longer.
    """

    def __init__(self, longest_call_s: float = 180) -> None:
        self.longest_call_s = longest_call_s
        self._running: set[RunningCall] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self, client: Client, call_id: RequestId) -> RunningCall:
        """Count the current task in as this client's call of this id; `leave` must follow."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()  # once: it costs a system call each time
        task = asyncio.current_task(loop)
        assert task is not None
        call = RunningCall(client, call_id, task, loop.time() + self.longest_call_s)
        self._running.add(call)
        if self._timer is None:
            self._timer = loop.call_later(self.longest_call_s / 10, self._look, loop)
        return call

    def leave(self, call: RunningCall) -> None:
        self._running.remove(call)

    def cancel(self, client: Hashable, call_id: RequestId) -> bool:
        """Whether one call was meant and is being cancelled."""
        kind = type(call_id)
        alike = [call for call in self._running if type(call.call_id) is kind and call.call_id == call_id]
        meant = [call for call in alike if call.client() == client]
        return len(meant) == 1 and meant[0].cancel()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for call in list(self._running):
            if call.ends_at_s <= loop.time():
                call.expire()
        if self._running:
            self._timer = loop.call_later(self.longest_call_s / 10, self._look, loop)
