"""The OCR server's side of its worker: death, silence, giving up, queueing, idleness; with a scripted worker."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from gateway.errors import EngineMissing, GatewayError, InvalidRequest, RateLimited
from gateway.ocr.server.app import runner_of
from gateway.ocr.server.worker_client import LONGEST_PAUSE_S, MAX_WAITING, ImageFailed, OcrWorker
from tests.support.ocr_running import request_of
from tests.support.waiting import until

SCRIPT = r"""
import os, sys, time
from gateway.child.worker import JobPipe
channel = JobPipe()
channel.hello({"fingerprint": "scripted-1"})
while True:
    job = channel.next_job()
    data = job.body
    for word in job.head["prompt"].split():
        if word == "die": os._exit(9)
        if word == "die-once":
            if not os.path.exists(data): open(data, "w").close(); os._exit(9)
        elif word == "begin": open(data + b"-begun", "w").close()
        elif word == "hang": time.sleep(60)
        elif word == "refuse":
            job.end({"error": {"status": 400, "code": "invalid_image_format", "message": "bad"}})
            break
        elif word == "until-given-up":
            while not job.is_cancelled: time.sleep(0.01)
            open(data, "w").close()
        elif word == "wait":
            while not os.path.exists(data): time.sleep(0.01)
        else: job.send({"piece": word}); job.alive()
    else: job.end({})
"""

FAILING = "from gateway.child.worker import JobPipe; JobPipe().fail({'message': 'install it'})"


@pytest.fixture
async def worker() -> AsyncIterator[OcrWorker]:
    worker = OcrWorker((sys.executable, "-c", SCRIPT), piece_timeout_s=3)
    yield worker
    await worker.close()


async def read(worker: OcrWorker, prompt: str, data: bytes = b"") -> list[str]:
    async with asyncio.timeout(20), aclosing(worker.read(data, prompt)) as pieces:
        return [piece async for piece in pieces if isinstance(piece, str)]


@pytest.mark.slow
async def test_pieces_come_in_order_and_the_worker_stays(worker: OcrWorker) -> None:
    assert not worker.is_loaded
    assert await read(worker, "one two") == ["one", "two"]
    pid = worker.pid
    assert await read(worker, "three") == ["three"]
    assert (worker.pid, worker.fingerprint) == (pid, "scripted-1")


@pytest.mark.slow
async def test_an_image_that_kills_the_worker_twice_fails_alone_and_the_next_waits_shortly(worker: OcrWorker) -> None:
    for _ in range(3):  # two deaths each
        with pytest.raises(ImageFailed) as failed:
            await read(worker, "die")
        assert (failed.value.status, failed.value.code) == (422, "ocr_failed")
    assert 0 < worker.restarts.wait_s <= LONGEST_PAUSE_S
    assert await read(worker, "next") == ["next"]


@pytest.mark.slow
async def test_a_worker_that_dies_once_is_replaced_unseen_before_it_spoke_and_not_in_mid_answer(
    worker: OcrWorker, tmp_path: Path
) -> None:
    assert await read(worker, "die-once here", f"{tmp_path}/before".encode()) == ["here"]
    with pytest.raises(ImageFailed):
        await read(worker, "said die-once", f"{tmp_path}/within".encode())


@pytest.mark.slow
async def test_a_worker_that_falls_silent_is_ended() -> None:
    worker = OcrWorker((sys.executable, "-c", SCRIPT), piece_timeout_s=1)
    assert await read(worker, "warm") == ["warm"]
    with pytest.raises(GatewayError) as failed:
        await read(worker, "hang")
    assert failed.value.code == "ocr_timeout" and not worker.is_loaded
    assert await read(worker, "next") == ["next"]
    await worker.close()


@pytest.mark.slow
async def test_a_refusal_passes_as_one(worker: OcrWorker) -> None:
    with pytest.raises(InvalidRequest, match="bad"):
        await read(worker, "refuse")
    assert await read(worker, "next") == ["next"]


@pytest.mark.slow
async def test_a_caller_who_leaves_has_the_job_given_up(worker: OcrWorker, tmp_path: Path) -> None:
    mark = f"{tmp_path}/given-up"
    async with aclosing(worker.read(mark.encode(), "first until-given-up")) as pieces:
        assert await anext(pieces) == "first"
    pid = worker.pid
    assert await read(worker, "next wait", mark.encode()) == ["next"]
    assert worker.pid == pid


async def test_a_worker_that_does_not_drop_the_job_of_a_caller_who_leaves_is_ended(worker: OcrWorker) -> None:
    async with aclosing(worker.read(b"", "first hang")) as pieces:
        assert await anext(pieces) == "first"
    assert not worker.is_loaded
    assert await read(worker, "next") == ["next"]


async def test_a_caller_who_leaves_while_the_image_is_sent_spoils_no_other_image(worker: OcrWorker) -> None:
    assert await read(worker, "warm") == ["warm"]
    task = asyncio.create_task(read(worker, "never", bytes(80_000_000)))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await read(worker, "next") == ["next"]


async def test_a_request_whose_client_has_left_is_given_up(worker: OcrWorker, tmp_path: Path) -> None:
    mark, runner = tmp_path / "given-up", runner_of(worker)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    body = request_of(str(mark).encode(), "begin until-given-up")
    try:
        async with aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
            asking = asyncio.create_task(session.post(url, json=body))
            await until(Path(f"{mark}-begun").exists, 20)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await until(mark.exists, 10)
    finally:
        await runner.cleanup()


@pytest.mark.slow
async def test_more_than_may_wait_are_refused_and_the_others_served(worker: OcrWorker, tmp_path: Path) -> None:
    gate = f"{tmp_path}/open"
    tasks = [asyncio.create_task(read(worker, "wait done", gate.encode())) for _ in range(MAX_WAITING + 4)]
    refused, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert all(isinstance(task.exception(), RateLimited) for task in refused)
    await asyncio.to_thread(Path(gate).touch)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(one, RateLimited) and (one.retry_after_s or 0) > 0 for one in outcomes) == 3
    assert outcomes.count(["done"]) == MAX_WAITING + 1


@pytest.mark.slow
async def test_an_idle_worker_is_let_go() -> None:
    worker = OcrWorker((sys.executable, "-c", SCRIPT), idle_s=0.05)
    assert await read(worker, "one") == ["one"]
    await until(lambda: not worker.is_loaded, 10)
    assert await read(worker, "again") == ["again"]
    await worker.close()


@pytest.mark.slow
async def test_an_engine_that_cannot_start_is_missing() -> None:
    worker = OcrWorker((sys.executable, "-c", FAILING))
    with pytest.raises(EngineMissing, match="install it"):
        await read(worker, "x")
    await worker.close()
