"""Messages between processes reach the others, and a call is cancelled only where exactly one fits."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Hashable
from pathlib import Path

import pytest

from gateway.domain import Json
from gateway.mcp.running_calls import Cancellations, RunningCalls
from gateway.shared_state.bus import Bus, RedisBus, WorkerBus
from gateway.shared_state.redis_state import RedisConnection, RedisTimes
from tests.support.redis_server import RedisServer, running_redis
from tests.support.waiting import until


class Worker:
    """One process: a bus, and the calls that it runs."""

    def __init__(self, folder: Path, redis: RedisConnection | None = None) -> None:
        self.redis = redis
        self.bus = Bus(WorkerBus(folder), RedisBus(redis) if redis is not None else None)
        self.heard: list[Json] = []
        self.bus.listen(self.heard.append)
        self.running = RunningCalls()
        self.cancellations = Cancellations(self.running, self.bus)
        self.bus.start()

    async def call(self, client: Hashable, call_id: int | str) -> bool:
        """Run until it is cancelled for its client. Returns that it was."""
        running = self.running.enter(lambda: client, call_id)
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            return running.take_back()
        finally:
            self.running.leave(running)
        return False

    async def close(self) -> None:
        await self.bus.close()
        if self.redis is not None:
            await self.redis.close()


@pytest.fixture(params=["workers", "machines"])
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Worker]]:
    if request.param == "workers":
        made = [Worker(tmp_path / "bus") for _ in range(3)]
        yield made
    else:
        async with running_redis(tmp_path) as server:
            made = [Worker(tmp_path / str(n), RedisConnection(server.url, RedisTimes(command_s=2))) for n in range(3)]
            await until_listening(server, 3)
            yield made
            for each in made:
                await each.close()
        return
    for each in made:
        await each.close()


async def until_listening(server: RedisServer, count: int) -> None:
    async with asyncio.timeout(5):
        while (await server.do("PUBSUB", "NUMSUB", "gateway:bus"))[1] < count:
            pass


async def test_a_message_reaches_all_others_and_not_its_sender(workers: list[Worker]) -> None:
    workers[0].bus.send({"kind": "hello", "text": "ü"})
    workers[0].bus.send({"kind": "too long", "text": "x" * 10_000})
    await until(lambda: bool(workers[1].heard and workers[2].heard), 5)
    await asyncio.sleep(0.05)
    assert [each["kind"] for each in workers[1].heard] == ["hello"]
    assert workers[1].heard[0]["text"] == "ü" and workers[0].heard == []


@pytest.mark.slow
async def test_a_call_is_cancelled_in_whichever_process_it_runs(workers: list[Worker]) -> None:
    client = ("key", "10.0.0.1", "agent/1")
    calls = [asyncio.create_task(worker.call(client, number)) for number, worker in enumerate(workers)]
    await asyncio.sleep(0)
    for number in range(3):
        workers[(number + 1) % 3].cancellations.cancel(client, number)
    assert await asyncio.wait_for(asyncio.gather(*calls), 5) == [True, True, True]


@pytest.mark.slow
async def test_neither_of_two_calls_that_look_alike_is_cancelled_nor_another_clients(workers: list[Worker]) -> None:
    client, other = ("key", "10.0.0.1", "agent/1"), ("key", "10.0.0.2", "agent/1")
    alike = [asyncio.create_task(worker.call(client, 7)) for worker in workers[:2]]
    foreign = asyncio.create_task(workers[2].call(other, 8))
    same_id_as_text = asyncio.create_task(workers[2].call(client, "8"))
    await asyncio.sleep(0)
    for worker in workers:
        worker.cancellations.cancel(client, 7)
        worker.cancellations.cancel(client, 8)
    await until(lambda: not any(worker.cancellations.waiting for worker in workers), 10)
    for worker in workers:  # what was sent before is heard before
        worker.bus.send({"kind": "last"})
    await until(lambda: all([each["kind"] for each in worker.heard].count("last") == 2 for worker in workers), 10)
    tasks = [*alike, foreign, same_id_as_text]
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_no_call_is_cancelled_before_all_have_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.mcp.running_calls._LIMIT_S", 0.05)
    worker = Worker(tmp_path / "bus")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as silent:
        silent.bind(str(tmp_path / "bus" / "silent.sock"))
        call = asyncio.create_task(worker.call("client", 7))
        await asyncio.sleep(0)
        worker.cancellations.cancel("client", 7)
        assert worker.cancellations.waiting == 1
        await until(lambda: worker.cancellations.waiting == 0, 5)
        assert await asyncio.wait({call}, timeout=0.05) == (set(), {call})
    call.cancel()
    await asyncio.wait({call})
    await worker.close()


def has_others(worker: Worker) -> bool:
    return worker.bus.has_others


async def test_a_process_that_has_ended_is_forgotten_and_one_alone_asks_nobody(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 40) / "bus"  # longer than the path of a socket may be
    alone = Worker(folder)
    assert has_others(alone) is False
    ended = Worker(folder)
    assert has_others(alone) is True and folder.stat().st_mode & 0o777 == 0o700
    name = next(each for each in os.listdir(folder) if each != alone.bus._workers._name)
    await ended.close()
    (folder / name).touch()  # not a socket: left alone
    assert has_others(alone) is False
    (folder / name).unlink()
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(f"/proc/self/fd/{os.open(folder, os.O_RDONLY)}/dead.sock")
    dead.close()
    assert has_others(alone) is True
    alone.bus.send({"kind": "hello"})
    assert has_others(alone) is False
    await alone.close()


async def test_a_folder_that_cannot_be_used_leaves_a_process_alone(tmp_path: Path) -> None:
    (tmp_path / "bus").write_text("a file")
    worker = Worker(tmp_path / "bus")
    assert not worker.bus.has_others
    worker.bus.send({"kind": "hello"})
    call = asyncio.create_task(worker.call("client", 1))
    await asyncio.sleep(0)
    worker.cancellations.cancel("client", 1)
    assert await asyncio.wait_for(call, 5)
    await worker.close()


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'"text"', b"\xff\xfe", b'{"kind":"calls","token":1}'])
async def test_what_is_no_message_is_ignored(tmp_path: Path, data: bytes) -> None:
    worker = Worker(tmp_path / "bus")
    name = os.listdir(tmp_path / "bus")[0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(data, str(tmp_path / "bus" / name))
        sender.sendto(b'{"kind":"after"}', str(tmp_path / "bus" / name))
    await until(lambda: bool(worker.heard) and worker.heard[-1]["kind"] == "after", 5)
    await worker.close()
