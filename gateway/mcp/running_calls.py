"""The tool calls that run right now, so that `notifications/cancelled` and a time limit can end them. Knows no tool.

Within one process; `cancellations` reaches the calls of others. A call is found by its client and its id; where two
such calls run at once (several agents on one key and host), neither is cancelled: a wasted call is better than a
stopped call of another agent.
Source: modelcontextprotocol.io, "Cancellation", all revisions, read 2026-11-21.

Theory of operation of a RunningCall:

| state     | entered by                               | left by                                     |
|-----------|------------------------------------------|---------------------------------------------|
| running   | `RunningCalls.enter`, in the call's task | `leave`, or the first of `cancel`, `expire` |
| cancelled | `cancel`: the client's notification      | `take_back`, then `leave`                   |
| expired   | `expire`: the timer, at `ends_at_s`      | `take_back`, then `leave`                   |

Invariants: the task that called `enter` calls `leave` exactly once, and `take_back` only in `except CancelledError`.
"""

import asyncio
from collections.abc import Callable, Hashable

from gateway.mcp.messages import RequestId

Client = Callable[[], Hashable]
"""Returns the identity of a call's client; called only when some client cancels."""


class RunningCall:
    """One call. `ends_at_s` is on the event loop's clock. At most one of `cancelled` and `expired` is True."""

    __slots__ = ("call_id", "cancelled", "client", "ends_at_s", "expired", "task")

    def __init__(self, client: Client, call_id: RequestId, task: "asyncio.Task[object]", ends_at_s: float) -> None:
        self.client = client
        self.call_id = call_id
        self.task = task
        self.ends_at_s = ends_at_s
        self.cancelled = False
        self.expired = False

    def expire(self) -> None:
        """End the call because its time is over."""
        if not (self.cancelled or self.expired):
            self.expired = True
            self.task.cancel()

    def cancel(self) -> bool:
        """End the call for its client. Returns False when it is being ended already."""
        if self.cancelled or self.expired:
            return False
        self.cancelled = True
        self.task.cancel()
        return True

    def take_back(self) -> bool:
        """In `except CancelledError`: undo the cancellation; True when nothing else has cancelled the task as well."""
        return (self.cancelled or self.expired) and self.task.uncancel() == 0


class RunningCalls:
    """A set of the running calls; the rare cancellation searches it. Its size is bounded by the requests in flight.

    `longest_call_s`: 180 s by default, chosen: tools have budgets of their own (a crawl with progress 120 s), so half
    would end such crawls, and double would keep a hanging call's slot for six minutes. One timer checks all calls ten
    times in that span, so a call may last a tenth longer.
    """

    def __init__(self, longest_call_s: float = 180) -> None:
        self.longest_call_s = longest_call_s
        self._running: set[RunningCall] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self, client: Client, call_id: RequestId) -> RunningCall:
        """Count the current task as this client's call with this id. Call `leave` with the result at its end."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()  # once: it costs a system call each time
        task = asyncio.current_task(loop)
        assert task is not None
        call = RunningCall(client, call_id, task, loop.time() + self.longest_call_s)
        self._running.add(call)
        if self._timer is None:
            self._timer = loop.call_later(self.longest_call_s / 10, self._expire_calls, loop)
        return call

    def leave(self, call: RunningCall) -> None:
        """The call has ended."""
        self._running.remove(call)

    def cancel(self, client: Hashable, call_id: RequestId) -> bool:
        """Cancel the client's call with this id. Returns False where there is none, or more than one."""
        matches = self.find(lambda other: other == client, call_id)
        return len(matches) == 1 and matches[0].cancel()

    def find(self, is_client: Callable[[Hashable], bool], call_id: RequestId) -> list[RunningCall]:
        """The running calls with this id whose client `is_client` accepts."""
        kind = type(call_id)
        same_id = [call for call in self._running if type(call.call_id) is kind and call.call_id == call_id]
        return [call for call in same_id if is_client(call.client())]

    def _expire_calls(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for call in list(self._running):
            if call.ends_at_s <= loop.time():
                call.expire()
        if self._running:
            self._timer = loop.call_later(self.longest_call_s / 10, self._expire_calls, loop)
