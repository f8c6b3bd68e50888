"""A fair queue: a limited number of slots, dealt out by key, so that a flood by one key does not starve another.

Theory of operation. A key's due is `share` of the slots, or an even part of them where that is less: with the keys that
hold or wait for a slot counted, `slots * min(share, 1 / keys)`, at least one slot. Two limits follow from it:

| a key that holds …    | gets a slot while                          | who waits is served                     |
|-----------------------|--------------------------------------------|-----------------------------------------|
| less than its due     | fewer than `slots + spare` slots are held  | the key with the fewest slots first,    |
| its due or more       | fewer than `slots` slots are held          | then the key that was served longest ago|

So a key that is alone may hold every slot: a share binds only when others wait. When another key comes, all slots may
be held, and nothing is taken away from those who hold them; the spare slots bridge the time until one is free. Spare
slots are used by nobody else, and while they are, the greedy key gets no ordinary one. Among the waiting jobs of one
key the oldest is first.

Waiting is bounded in the same way: when `max_waiting` jobs wait, a key with less than its due of them may still wait.

Invariants: `take` (or `acquire`) and `release` are called in pairs with the same key; while a job waits, no slot that
it may have is free. For one event loop.

`WorkTime` limits the time of work and does not run while the work waits for its turn. `async with WorkTime(30)` ends
what runs inside after 30 seconds of work, with TimeoutError. `waiting` stops the clocks of the task around it;
`FairQueue.acquire` is where that happens, so every queue does it. How long a turn is waited for is the queue's own
limit. A clock may be entered several times, one after the other, for the parts of one piece of work. For one event
loop.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

_running: ContextVar[tuple["WorkTime", ...]] = ContextVar("work_time", default=())


class WorkTime:
    """`limit_s`: seconds of work, over all parts."""

    def __init__(self, limit_s: float) -> None:
        self._left_s = limit_s
        self._since_s = 0.0
        self._pauses = 0
        self._timeout: asyncio.Timeout | None = None
        self._token: Token[tuple[WorkTime, ...]] | None = None

    async def __aenter__(self) -> None:
        self._timeout = asyncio.timeout(max(0.0, self._left_s))
        await self._timeout.__aenter__()
        self._since_s = asyncio.get_running_loop().time()
        self._token = _running.set((*_running.get(), self))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None and self._token is not None
        _running.reset(self._token)
        timeout, self._timeout = self._timeout, None
        self._left_s -= asyncio.get_running_loop().time() - self._since_s
        await timeout.__aexit__(kind, error, trace)

    def _stop(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and self._timeout is not None:
            self._left_s -= asyncio.get_running_loop().time() - self._since_s
            self._timeout.reschedule(None)

    def _go_on(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._timeout is not None:
            self._since_s = asyncio.get_running_loop().time()
            self._timeout.reschedule(self._since_s + max(0.0, self._left_s))


@contextmanager
def waiting() -> Iterator[None]:
    """The clocks of the work around it stand still inside."""
    clocks = [clock for clock in _running.get() if clock._timeout is not None and not clock._timeout.expired()]
    for clock in clocks:
        clock._stop()
    try:
        yield
    finally:
        for clock in clocks:
            clock._go_on()


HALF = 0.5
"""Share of a queue whose share is not configured."""


class QueueFull(Exception):
    """Too many jobs wait already."""


class FairQueue:
    """`slots` slots and `spare` ones beyond them; the module docstring has the rules. `share`: above 0, at most 1."""

    def __init__(self, slots: int, *, share: float = HALF, spare: int = 0, max_waiting: int = 1_000_000) -> None:
        self._slots = slots
        self._share = share
        self._spare = spare
        self._max_waiting = max_waiting
        self._held: dict[str, int] = {}
        self._total = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._waiting_total = 0

    def __len__(self) -> int:
        """Slots held, spare ones included."""
        return self._total

    @property
    def waiting(self) -> int:
        """Jobs that wait for a slot."""
        return self._waiting_total

    def held(self, key: str) -> int:
        """Slots that the key holds."""
        return self._held.get(key, 0)

    def is_greedy(self, key: str) -> bool:
        """Whether the key holds and waits for more slots than its due while another key holds one or waits."""
        asked = self._held.get(key, 0) + len(self._waiting.get(key, ()))
        is_alone = self._held.keys() | self._waiting.keys() <= {key}
        return not is_alone and asked > self._due(key, self._slots)

    def take(self, key: str) -> bool:
        """Take a slot if the key may have one now. `release` must follow if so."""
        held = self._held.get(key, 0)
        if self._total >= self._slots and (
            self._total >= self._slots + self._spare or held >= self._due(key, self._slots)
        ):
            return False
        self._held[key] = held + 1
        self._total += 1
        return True

    async def acquire(self, key: str) -> None:
        """Take a slot, waiting for it if need be; the caller bounds the time. Raises QueueFull."""
        if self.take(key):
            return
        mine = self._waiting.get(key, ())
        if self._waiting_total >= self._max_waiting and len(mine) >= self._due(key, self._max_waiting):
            raise QueueFull
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self._waiting_total += 1
        try:
            with waiting():
                await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release(key)  # the slot was given in the same turn of the loop
            elif turn in self._waiting.get(key, ()):
                self._remove(key, turn)
            raise

    def release(self, key: str) -> None:
        """Give a slot back, and hand it to the next who may have it."""
        remaining = self._held[key] - 1
        if remaining:
            self._held[key] = remaining
        else:
            del self._held[key]
        self._total -= 1
        if self._waiting:
            self._put_last(key)
            while self._waiting and self._serve_next():
                pass

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """A slot until the block ends. Waits as `acquire` does. Raises QueueFull."""
        await self.acquire(key)
        try:
            yield
        finally:
            self.release(key)

    def _due(self, key: str, places: int) -> int:
        keys = len(self._held) + (key not in self._held)
        keys += sum(other not in self._held and other != key for other in self._waiting)
        return max(1, int(places * min(self._share, 1 / keys)))

    def _serve_next(self) -> bool:
        """Give one waiting job a slot, or drop one that has left; False when none may have one.

        The key with the fewest slots is asked alone: when it may have none, no other may. `_waiting` keeps the keys in
        the order in which they were served.
        """
        key = min(self._waiting, key=lambda name: self._held.get(name, 0))
        turn = self._waiting[key][0]
        if turn.cancelled():
            self._remove(key, turn)
            return True
        if not self.take(key):
            return False
        self._remove(key, turn)
        self._put_last(key)
        turn.set_result(None)
        return True

    def _put_last(self, key: str) -> None:
        """The key was served just now: among keys that hold equally many slots it is the last one."""
        if key in self._waiting:
            self._waiting[key] = self._waiting.pop(key)

    def _remove(self, key: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting[key]
        turns.remove(turn)
        self._waiting_total -= 1
        if not turns:
            del self._waiting[key]
