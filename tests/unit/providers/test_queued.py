"""The queue before an upstream: how many calls it is given, whose turn it is, and who is refused."""

import asyncio

import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamRefused
from gateway.providers.wrappers import FanOutUpstream, QueuedUpstream
from gateway.resilience.fair_queue import FairQueue
from tests.support.batches import Batches
from tests.support.waiting import until


class Held:
    """An upstream that answers when `go` is set. `seen`: the key of each call, in order."""

    name = "held"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.go = asyncio.Event()

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        self.seen.append(stats.key_id)
        await self.go.wait()
        return {"choices": [{"index": 0}]}

    async def stream(self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None) -> Batches:
        self.seen.append(stats.key_id)
        yield [b"{}"]
        await self.go.wait()


async def test_calls_beyond_the_slots_wait_and_another_key_is_next() -> None:
    held = Held()
    upstream = QueuedUpstream(held, FairQueue(2, spare=1), 10)
    flood = [asyncio.create_task(upstream.complete({}, RequestStats(key_id="a"))) for _ in range(10)]
    await until(lambda: len(held.seen) == 2, 5)
    others = [asyncio.create_task(upstream.complete({}, RequestStats(key_id="b"))) for _ in range(2)]
    await until(lambda: len(held.seen) == 3, 5)
    assert held.seen == ["a", "a", "b"], "a spare slot is for the key that has none"
    held.go.set()
    async with asyncio.timeout(5):
        await asyncio.gather(*flood, *others)
    assert held.seen[:5].count("b") == 2


async def test_each_answer_of_a_request_for_several_has_a_slot_of_its_own() -> None:
    held = Held()
    upstream = FanOutUpstream(QueuedUpstream(held, FairQueue(2), 10))
    task = asyncio.create_task(upstream.complete({"n": 8}, RequestStats(key_id="a")))
    await until(lambda: len(held.seen) == 2, 5)
    held.go.set()
    async with asyncio.timeout(5):
        assert len((await task)["choices"]) == 8
    assert held.seen == ["a"] * 8


async def test_a_call_beyond_the_bound_is_refused_and_a_finished_one_makes_room() -> None:
    held = Held()
    upstream = QueuedUpstream(held, FairQueue(1, max_waiting=0), 10)
    first = upstream.stream({}, RequestStats())
    await anext(first)
    queued = asyncio.create_task(upstream.complete({}, RequestStats()))
    await asyncio.sleep(0)
    with pytest.raises(UpstreamRefused, match="2 callers already") as refused:
        await upstream.complete({}, RequestStats())
    assert refused.value.status == 429 and refused.value.retry_after_s
    held.go.set()
    await first.aclose()
    async with asyncio.timeout(5):
        assert (await queued)["choices"]


async def test_a_call_that_waits_too_long_is_refused_and_gives_its_place_up() -> None:
    queue = FairQueue(1)
    upstream = QueuedUpstream(Held(), queue, 0.01)
    assert queue.take("a")
    with pytest.raises(UpstreamRefused, match="callers already"):
        await upstream.complete({}, RequestStats(key_id="a"))
    assert queue.waiting == 0 and len(queue) == 1
