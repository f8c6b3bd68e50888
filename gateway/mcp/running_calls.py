"""The tool calls that run right now, so that `notifications/cancelled` and a time limit can end them.

A call is found by its client and its id; where two such calls run at once (several agents on one key and host), neither
is cancelled: a wasted call is better than a stopped call of another agent. Source: modelcontextprotocol.io,
"Cancellation", all revisions, read 2026-11-21.

Theory of operation of a RunningCall:

| state     | entered by                               | left by                                     |
|-----------|------------------------------------------|---------------------------------------------|
| running   | `RunningCalls.enter`, in the call's task | `leave`, or the first of `cancel`, `expire` |
| cancelled | `cancel`: the client's notification      | `take_back`, then `leave`                   |
| expired   | `expire`: the timer, at `ends_at_s`      | `take_back`, then `leave`                   |

Invariants: the task that called `enter` calls `leave` exactly once, and `take_back` only in `except CancelledError`.

`Cancellations` ends a call in whichever process it runs, another worker or machine, and only where exactly one fits. So
the processes are asked how many they have (`calls?`), each answers (`calls`), and if all have one together, it is ended
(`cancel`). While a process that was asked has not answered, it may have one that looks alike: after _LIMIT_S without
its answer nothing is ended. A client is named by a digest. Messages travel by `shared_state.bus`.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

from gateway.domain import Json
from gateway.mcp.messages import RequestId
from gateway.shared_state.bus import Bus

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


_LIMIT_S = 2.0
"""How long answers are waited for."""

_MAX_ASKED = 1000
"""Cancellations that wait for answers; more are dropped, as any may be."""


@dataclass(slots=True)
class _Question:
    """One cancellation that waits. `asked`: processes that were asked, None before it is known."""

    digest: str
    call_id: RequestId
    found: int
    answers: int = 0
    asked: int | None = None
    limit: asyncio.TimerHandle | None = None


class Cancellations:
    """Cancels calls of this process's `running` and of all processes on the bus. Where there are no others it costs
    what `RunningCalls.cancel` costs."""

    def __init__(self, running: RunningCalls, bus: Bus) -> None:
        self._running = running
        self._bus = bus
        self._questions: dict[str, _Question] = {}
        bus.listen(self._receive)

    @property
    def waiting(self) -> int:
        """Cancellations that wait for answers."""
        return len(self._questions)

    def cancel(self, client: Hashable, call_id: RequestId) -> None:
        """End the client's call with this id, if there is exactly one anywhere."""
        if not self._bus.has_others:
            self._running.cancel(client, call_id)
            return
        if len(self._questions) >= _MAX_ASKED:
            return
        token, digest = secrets.token_hex(8), _digest(client)
        question = _Question(digest, call_id, found=len(self._find(digest, call_id)))
        self._questions[token] = question
        question.limit = asyncio.get_running_loop().call_later(_LIMIT_S, self._questions.pop, token, None)
        message = {"kind": "calls?", "token": token, "client": digest, "id": call_id}
        self._bus.send(message, partial(self._note_asked, token))

    def _note_asked(self, token: str, count: int) -> None:
        if question := self._questions.get(token):
            question.asked = count
            self._decide(token, question)

    def _note_answer(self, token: str, count: int) -> None:
        if question := self._questions.get(token):
            question.answers += 1
            question.found += count
            self._decide(token, question)

    def _decide(self, token: str, question: _Question) -> None:
        """End the call when all have answered, and one has it."""
        if question.asked is None or question.answers < question.asked:
            return
        del self._questions[token]
        if question.limit is not None:
            question.limit.cancel()
        if question.found != 1:
            return
        if here := self._find(question.digest, question.call_id):
            here[0].cancel()
        else:
            self._bus.send({"kind": "cancel", "client": question.digest, "id": question.call_id})

    def _receive(self, message: Json) -> None:
        kind, token = message.get("kind"), str(message.get("token"))
        if kind == "calls":
            count = message.get("count")
            if isinstance(count, int):
                self._note_answer(token, count)
            return
        call_id = message.get("id")
        if kind not in ("calls?", "cancel") or not isinstance(call_id, str | int):
            return
        here = self._find(str(message.get("client")), call_id)
        if kind == "calls?":
            self._bus.send({"kind": "calls", "token": token, "count": len(here)})
        elif len(here) == 1:
            here[0].cancel()

    def _find(self, digest: str, call_id: RequestId) -> list[RunningCall]:
        return self._running.find(lambda client: _digest(client) == digest, call_id)


def _digest(client: Hashable) -> str:
    return hashlib.sha256(repr(client).encode("utf-8", "surrogatepass")).hexdigest()[:32]
