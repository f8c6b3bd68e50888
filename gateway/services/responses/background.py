"""Background runs: responses that go on without their client, in the process that began them.

Theory of operation. A run is a task that reads the events of one response to their end:

| state      | entered by                          | the store has                     | left by                    |
|------------|-------------------------------------|-----------------------------------|----------------------------|
| queued     | `start`                             | the response, `queued`; its input | the first event, an ending |
| running    | the first event                     | as before, and the events so far  | an ending                  |
| completed, | the events' end                     | the finished response             | -                          |
| incomplete |                                     |                                   |                            |
| failed     | an error, `max_s`, the server's end | the response with its error       | -                          |
| cancelled  | `cancel`, the end of its key        | the response without output       | -                          |

The process that runs it keeps a lease in the store, renewed every few seconds. Who reads an unfinished response without
a lease declares it failed (`server_stopped`): its process has died. A run is cancelled from any process by a message on
the bus. Events are kept for clients that come back, where the request asked for a stream.

Invariants: the finished response is stored before its last event can be read; a run ends in exactly one way; an event's
place in the list of frames is its sequence number. Source: OpenAI API reference (background), read 2026-11-27.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import orjson

from gateway import logs
from gateway.calls.delivery import Sink
from gateway.config.settings import BackgroundLimits
from gateway.domain import Event, EventBatch, Json
from gateway.errors import GatewayError, InternalError, InvalidRequest, Overloaded, RateLimited, StateUnavailable
from gateway.services.responses.store import ResponseStore, available
from gateway.shared_state.bus import Bus
from gateway.shared_state.port import Entries, Entry, StateDown, Windows
from gateway.wire import sse

MOST_BYTES = (64 * 1024 * 1024, 16 * 1024 * 1024)
"""Most bytes of the kept events of one machine, and of one key."""
UNFINISHED = ("queued", "in_progress")

_LEASE_S = 15.0
_RENEW_S = 4.0
_WATCH_S = 1.0
_POLL_S = 0.5
_CANCEL_WAIT_S = 5.0
_RETRY_S = 5.0
_FLUSH_S = 0.5
_FLUSHES = 50
"""Events are stored every half second at first, later at a fiftieth of the run's age: some hundred writes a run."""
_MAX_FRAMES_BYTES = 16 * 1024 * 1024
_MAX_HELD_BYTES = 256 * 1024 * 1024
"""Most bytes of the requests of all runs of a process."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a run does. `response`: the response object, which the events keep up to date. `items`: its input items.

    `work` writes the events into a sink, and stores the finished response; it raises GatewayError for a failure before
    the first event. `failed` and `cancelled` give the events that end it otherwise, and set the response. `is_live`:
    whether its key is still valid. `keeps_events`: a client may read them. `sealed`: see StoredResponse.
    """

    owner: str
    response: Json
    items: list[Json]
    work: Callable[[Sink], Awaitable[None]]
    failed: Callable[[GatewayError], list[Event]]
    cancelled: Callable[[], list[Event]]
    is_live: Callable[[], bool]
    keeps_events: bool
    sealed: str = ""


@dataclass(slots=True)
class _Run:
    job: Job
    size: int
    began_s: float = field(default_factory=time.monotonic)
    frames: list[bytes] = field(default_factory=list)
    frames_bytes: int = 0
    stored: int = 0  # of the frames
    chunks: int = 0
    flushed_s: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_queued: bool = True
    is_begun: bool = False
    is_over: bool = False
    ending: str = ""
    task: "asyncio.Task[None] | None" = None

    @property
    def key(self) -> tuple[str, str]:
        return self.job.owner, self.job.response["id"]

    @property
    def state(self) -> str:
        return UNFINISHED[self.is_begun]

    def add(self, events: list[Event]) -> None:
        """Keep the events for who reads them, and wake those who wait."""
        for event in events:
            encoded = sse.encode(event)
            if encoded != sse.DONE and self.job.keeps_events:
                self.frames.append(encoded)
                self.frames_bytes += len(encoded)
        if self.frames_bytes > _MAX_FRAMES_BYTES:
            raise InternalError("the events of this run take too much room to be kept")
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class _RunSink:
    """As `calls.delivery.Sink`: the events of a run are kept."""

    direct = None

    def __init__(self, runs: "Runs", run: _Run) -> None:
        self._runs = runs
        self._run = run

    async def begin(self) -> None:
        """Nobody waits for a head."""

    async def write(self, batch: EventBatch) -> None:
        """Keep events."""
        await self._runs.take(self._run, batch)

    async def fail(self, events: list[Event]) -> None:
        """Keep the events that end it."""
        await self._runs.end(self._run, events)


class Runs:
    """The runs of this process; those of others are read from the store and cancelled over the bus."""

    def __init__(
        self, store: ResponseStore, entries: Entries, places: Windows, bus: Bus, limits: BackgroundLimits
    ) -> None:
        """`entries`: the kept events and leases. `places`: counts runs by key, and all."""
        self._store = store
        self._entries = entries
        self._places = places
        self._bus = bus
        self._limits = limits
        self._running: dict[tuple[str, str], _Run] = {}
        self._watching: asyncio.Task[None] | None = None
        self._is_closed = False
        bus.listen(self._receive)

    def __len__(self) -> int:
        return len(self._running)

    async def start(self, job: Job) -> None:
        """Begin a run. Raises RateLimited where its key has `per_key` runs, Overloaded where all have `total`."""
        response_id = job.response["id"]
        if self._is_closed:
            raise Overloaded("the gateway is shutting down", code="shutting_down", retry_after_s=1)
        await self._take_place(job.owner, response_id)
        try:
            size = await self._store.put(job.owner, {**job.response, "status": "queued"}, job.items, job.sealed)
            if size + sum(run.size for run in self._running.values()) > _MAX_HELD_BYTES:
                raise Overloaded("background runs hold too much memory; try again later", retry_after_s=_RETRY_S)
            run = _Run(job, size)
            await self._note(run)
        except BaseException:
            await self._give_place(job.owner, response_id)
            raise
        self._running[run.key] = run
        run.task = asyncio.create_task(self._run(run))
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    async def settled(self, owner: str, response: Json) -> Json:
        """A stored response as it is: an unfinished one whose process has died is failed from now on."""
        key = owner, response["id"]
        if response.get("status") not in UNFINISHED:
            return response
        if run := self._running.get(key):
            return {**response, "status": run.state}
        with available("background responses"):
            lease = await self._entries.get(owner, _lease(key[1]))
        if lease is not None:
            return {**response, "status": lease.decode()}
        return await self._declare_stopped(owner, key[1])

    async def cancel(self, owner: str, response_id: str) -> Json:
        """Cancel a run wherever it runs; the response as it is then. Raises NotFound, InvalidRequest for a response
        that was not made in the background, or has ended in another way."""
        response = await self._of_background(owner, response_id)
        if response["status"] in UNFINISHED:
            self._end(owner, response_id, "cancelled")
            self._bus.send({"kind": "cancel_run", "owner": owner, "id": response_id})
            response = await self._ended(owner, response_id)
        if response["status"] != "cancelled":
            raise InvalidRequest(f"Cannot cancel a {response['status']} response.", param="response_id")
        return response

    async def refuse_running(self, owner: str, response_id: str) -> None:
        """Raises NotFound, and InvalidRequest for a response that is not finished."""
        response = await self.settled(owner, (await self._store.get(owner, response_id)).response)
        if response["status"] in UNFINISHED:
            text = "this response is still running in the background; cancel it before it is deleted"
            raise InvalidRequest(text, param="response_id")

    async def events(self, owner: str, response_id: str, after: int) -> AsyncGenerator[list[bytes], None]:
        """The frames of the events with a higher sequence number than `after`, to the end of the run. Raises NotFound,
        InvalidRequest for a response whose events are not kept."""
        head = await self._head(owner, response_id)
        if head is None or not head["keeps_events"]:
            await self._store.get(owner, response_id)
            raise InvalidRequest(
                "stream: its events are not kept; only those of a request with background and stream are, for a while",
                param="stream",
            )
        run = self._running.get((owner, response_id))
        frames = self._of_run(run, after + 1) if run is not None else self._of_store(owner, response_id, after + 1)
        async with aclosing(frames) as batches:
            async for batch in batches:
                yield batch

    async def wait(self, limit_s: float) -> None:
        """Wait until no run is left, at most `limit_s` seconds."""
        tasks = [run.task for run in self._running.values() if run.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=limit_s)

    async def close(self) -> None:
        """Fail the runs that are left: the server stops."""
        self._is_closed = True
        for owner, response_id in list(self._running):
            self._end(owner, response_id, "server_stopped")
        await self.wait(_CANCEL_WAIT_S)
        if self._watching is not None:
            self._watching.cancel()

    async def _run(self, run: _Run) -> None:
        try:
            async with asyncio.timeout(self._limits.max_s):
                await run.job.work(_RunSink(self, run))
        except TimeoutError:
            await self._fail(run, _error("max_run_time", f"the run took longer than {self._limits.max_s:g} s"))
        except GatewayError as error:
            await self._fail(run, error)
        except asyncio.CancelledError:
            await self._end_early(run)
        except Exception as error:
            logs.event("unexpected", error=logs.failure(error))
            await self._fail(run, InternalError("the gateway failed on this run"))
        finally:
            await self._finish(run)

    async def take(self, run: "_Run", events: list[Event]) -> None:
        """Keep the next events of a run; the first ones say that it is queued."""
        if run.is_queued:
            run.is_queued = False
        elif not run.is_begun:
            run.is_begun = True
            with contextlib.suppress(StateDown):
                await self._renew(run)  # other processes read its state there
        run.add(events)
        if time.monotonic() - run.flushed_s > max(_FLUSH_S, (time.monotonic() - run.began_s) / _FLUSHES):
            await self._flush(run)

    async def end(self, run: "_Run", events: list[Event]) -> None:
        """Keep the events that end a run, whatever came before, and its response."""
        run.frames_bytes = 0
        run.add(events)
        await self._store.put(run.job.owner, run.job.response, run.job.items, run.job.sealed)

    async def _end_early(self, run: _Run) -> None:
        if run.ending == "cancelled":
            await self.end(run, run.job.cancelled())
        else:
            await self._fail(run, _error("server_stopped", "the server was stopped before the response was finished"))

    async def _fail(self, run: _Run, error: GatewayError) -> None:
        await self.end(run, run.job.failed(error))

    async def _finish(self, run: _Run) -> None:
        run.is_over = True
        with contextlib.suppress(StateDown):
            await self._flush(run)
        run.wake()
        del self._running[run.key]
        await self._give_place(*run.key)

    async def _flush(self, run: _Run) -> None:
        """Store the events that are not stored yet, and what the run's state is."""
        owner, response_id = run.key
        run.flushed_s = time.monotonic()
        fresh = run.frames[run.stored :]
        with contextlib.suppress(StateDown):
            if fresh:
                value = str(run.stored).encode() + b"\n" + b"".join(fresh)
                await self._entries.put(Entry(owner, _chunk(response_id, run.chunks), value, self._store.ttl_s))
                run.stored, run.chunks = run.stored + len(fresh), run.chunks + 1
            if fresh or run.is_over:
                await self._note(run)

    async def _note(self, run: _Run) -> None:
        """Store a run's head, and its lease while it runs."""
        owner, response_id = run.key
        head = {"keeps_events": run.job.keeps_events, "is_over": run.is_over, "chunks": run.chunks}
        with contextlib.suppress(StateDown):
            await self._entries.put(Entry(owner, _head(response_id), orjson.dumps(head), self._store.ttl_s))
            await self._renew(run)

    async def _renew(self, run: _Run) -> None:
        owner, response_id = run.key
        if run.is_over:
            await self._entries.delete(owner, _lease(response_id))
            return
        await self._entries.put(Entry(owner, _lease(response_id), run.state.encode(), _LEASE_S))
        for name in _places(owner):
            await self._places.hold(name, {response_id: _LEASE_S})

    async def _watch(self) -> None:
        """Renew leases, and end the runs of keys that are no longer valid; ends when nothing runs."""
        renewed_s = time.monotonic()
        while self._running:
            await asyncio.sleep(_WATCH_S)
            is_due = time.monotonic() - renewed_s >= _RENEW_S
            renewed_s = time.monotonic() if is_due else renewed_s
            for run in list(self._running.values()):
                if not run.job.is_live():
                    self._end(*run.key, "cancelled")
                elif is_due and not run.is_over:
                    with contextlib.suppress(StateDown):
                        await self._renew(run)

    def _end(self, owner: str, response_id: str, ending: str) -> None:
        run = self._running.get((owner, response_id))
        if run is not None and run.task is not None and not run.ending and not run.is_over:
            run.ending = ending
            run.task.cancel()

    def _receive(self, message: Json) -> None:
        if message.get("kind") == "cancel_run":
            self._end(str(message.get("owner")), str(message.get("id")), "cancelled")

    async def _take_place(self, owner: str, response_id: str) -> None:
        limits = (self._limits.per_key, self._limits.total)
        for name, limit in zip(_places(owner), limits, strict=True):
            with contextlib.suppress(StateDown):
                if (await self._places.take(name, limit, _LEASE_S, response_id)).wait_s:
                    await self._give_place(owner, response_id)
                    text = f"{limit} background responses run or wait already; wait for one to end"
                    is_own = name != _places(owner)[1]
                    raise (RateLimited if is_own else Overloaded)(text, retry_after_s=_RETRY_S)

    async def _give_place(self, owner: str, response_id: str) -> None:
        for name in _places(owner):
            with contextlib.suppress(StateDown):
                await self._places.release(name, [response_id])

    async def _of_background(self, owner: str, response_id: str) -> Json:
        response = await self.settled(owner, (await self._store.get(owner, response_id)).response)
        if not response.get("background"):
            raise InvalidRequest("this response was not made with background: true", param="response_id")
        return response

    async def _ended(self, owner: str, response_id: str) -> Json:
        """The response once it has ended, or as it is after _CANCEL_WAIT_S."""
        end_s = time.monotonic() + _CANCEL_WAIT_S
        while True:
            response = await self.settled(owner, (await self._store.get(owner, response_id)).response)
            if response["status"] not in UNFINISHED:
                return response
            if time.monotonic() >= end_s:
                raise StateUnavailable("the run does not answer; try again", retry_after_s=_RETRY_S)
            await asyncio.sleep(0.05)

    async def _declare_stopped(self, owner: str, response_id: str) -> Json:
        """Fail a response whose process has died."""
        stored = await self._store.get(owner, response_id)
        if stored.response["status"] not in UNFINISHED:
            return stored.response  # it has ended meanwhile
        error = {"code": "server_stopped", "message": "the server that ran this response has stopped"}
        response = {**stored.response, "status": "failed", "error": error}
        await self._store.put(owner, response, stored.items, stored.sealed)
        head = await self._head(owner, response_id)
        if head is not None and not head["is_over"]:
            await self._end_events(owner, response, head)
        return response

    async def _end_events(self, owner: str, response: Json, head: Json) -> None:
        count = 0
        if head["chunks"]:
            first, frames = await self._chunk_of(owner, response["id"], head["chunks"] - 1) or (0, [])
            count = first + len(frames)
        kind = "response.failed"
        frame = sse.frame({"type": kind, "sequence_number": count, "response": response}, kind)
        value = str(count).encode() + b"\n" + frame
        over = {**head, "is_over": True, "chunks": head["chunks"] + 1}
        with available("background responses"):
            await self._entries.put(Entry(owner, _chunk(response["id"], head["chunks"]), value, self._store.ttl_s))
            await self._entries.put(Entry(owner, _head(response["id"]), orjson.dumps(over), self._store.ttl_s))

    async def _of_run(self, run: _Run, start: int) -> AsyncGenerator[list[bytes], None]:
        while True:
            changed, is_over = run.changed, run.is_over
            if fresh := run.frames[start:]:
                start += len(fresh)
                yield fresh
            elif is_over:
                return
            else:
                await changed.wait()

    async def _of_store(self, owner: str, response_id: str, start: int) -> AsyncGenerator[list[bytes], None]:
        number = 0
        while head := await self._head(owner, response_id):
            while number < head["chunks"]:
                first, frames = await self._chunk_of(owner, response_id, number) or (start, [])
                if fresh := frames[max(0, start - first) :]:
                    yield fresh
                number += 1
            if head["is_over"]:
                return
            await asyncio.sleep(_POLL_S)
            await self.settled(owner, (await self._store.get(owner, response_id)).response)

    async def _head(self, owner: str, response_id: str) -> Json | None:
        with available("background responses"):
            value = await self._entries.get(owner, _head(response_id))
        head: Json | None = orjson.loads(value) if value is not None else None
        return head

    async def _chunk_of(self, owner: str, response_id: str, number: int) -> tuple[int, list[bytes]] | None:
        """The number of its first event, and the frames; None where it was dropped to make room."""
        with available("background responses"):
            value = await self._entries.get(owner, _chunk(response_id, number))
        if value is None:
            return None
        first, _, frames = value.partition(b"\n")
        return int(first), [frame + b"\n\n" for frame in frames.split(b"\n\n") if frame]


def checked_after(value: str | None) -> int:
    """A query's `starting_after` as a number, -1 for none. Raises InvalidRequest."""
    if value is None:
        return -1
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise InvalidRequest("starting_after: must be the sequence number of an event", param="starting_after")
    return int(value)


def _error(code: str, message: str) -> GatewayError:
    return InternalError(message, code=code)


def _places(owner: str) -> tuple[str, str]:
    return f"runs:{owner}", "runs"


def _head(response_id: str) -> str:
    return f"{response_id}.head"


def _lease(response_id: str) -> str:
    return f"{response_id}.lease"


def _chunk(response_id: str, number: int) -> str:
    return f"{response_id}.{number}"
