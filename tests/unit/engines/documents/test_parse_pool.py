"""The pool of parse processes: one that dies fails its own job, and is replaced; all are dealt out by key."""

import asyncio
import math
import os
import signal
import zlib
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool, _PageAtWork
from gateway.engines.fetch.errors import Unreadable
from tests.support.pdfs import CATALOG, HELVETICA, PAGES, PDF_PAGE, pdf_of, pdf_stream
from tests.support.waiting import until

pytestmark = pytest.mark.slow  # a parse process for each test

OPTIONS = ExtractOptions(url="https://a.test/")
SLOW = (b"<html><body>" + b"<p>A page of very many paragraphs, each of which is looked at.</p>" * 85_000) + b"</body>"
"""Takes seconds."""
PAGE = b"<html><body><p>A page with a sentence.</p></body></html>"


@pytest.fixture
async def pool(request: pytest.FixtureRequest) -> AsyncIterator[ParsePool]:
    """With one process, or as many as the test says."""
    pool = ParsePool(getattr(request, "param", 1), job_limit_s=60)
    yield pool
    await pool.close()


async def _process_at_work(pool: ParsePool) -> int:
    """The process that reads a page now."""
    await until(lambda: any(reading.child.pid for reading in pool._busy), 30)
    return next(reading.child.pid for reading in pool._busy if reading.child.pid)


async def test_processes_that_keep_dying_are_replaced_with_short_pauses(pool: ParsePool) -> None:
    for death in range(1, 6):
        reading = asyncio.create_task(pool.extract(SLOW, OPTIONS))
        os.kill(await _process_at_work(pool), signal.SIGKILL)
        with pytest.raises(Unreadable, match="brought the parser down"):
            await reading
        assert (pool._restarts.wait_s > 0) == (death == 5)
    assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"


async def test_a_pool_tells_for_how_long_no_page_has_been_read(pool: ParsePool) -> None:
    assert pool.quiet_s == math.inf
    reading = asyncio.create_task(pool.extract(PAGE, OPTIONS))
    while pool.quiet_s and not reading.done():  # noqa: ASYNC110 - nothing here could set an event
        await asyncio.sleep(0)
    assert pool.quiet_s == 0 and not reading.done()
    await reading
    assert 0 < pool.quiet_s < 60


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_an_idle_process_that_has_died_costs_no_page(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def read_behind_a_death() -> None:
        pool = ParsePool(1)
        try:
            for _ in range(2):
                assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"
                (idle,) = pool._idle
                assert idle.pid is not None
                os.kill(idle.pid, signal.SIGKILL)
                await until(lambda: idle.pid is None, 10)  # noqa: B023
            assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"
        finally:
            await pool.close()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(asyncio.wait_for(read_behind_a_death(), 60))


@pytest.mark.parametrize("pool", [2], indirect=True)
async def test_slow_pages_of_one_key_do_not_keep_another_key_waiting(pool: ParsePool) -> None:
    order: list[str] = []

    async def job(body: bytes, owner: str) -> None:
        await pool.extract(body, OPTIONS, owner)
        order.append(owner)

    flood = [asyncio.create_task(job(SLOW, "slow")) for _ in range(12)]
    await until(lambda: pool._slots.waiting == 10, 10)
    async with asyncio.timeout(60):
        for _ in range(20):
            await job(PAGE, "small")
    assert order.index("small") <= 2 and order[-1] == "small", "at most the two pages being read come before it"
    assert len(order) < 20 + 12, "the flood must still be running for this to say anything"
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    assert len(pool._slots) == 0


def _priority(reading: _PageAtWork) -> int:
    return os.getpriority(os.PRIO_PROCESS, reading.thread)


async def test_slow_pages_give_way_to_another_key_and_their_process_reads_on_at_full_priority(pool: ParsePool) -> None:
    flood = [asyncio.create_task(pool.extract(SLOW, OPTIONS, "flood")) for _ in range(2)]
    await until(lambda: any(reading.thread for reading in pool._busy), 30)
    (slow,) = pool._busy
    assert _priority(slow) == 0, "nobody else waits"
    async with asyncio.timeout(60):
        await pool.extract(PAGE, OPTIONS, "small")
        assert _priority(slow) == 10
        await flood[0]
        await until(lambda: any(reading.thread for reading in pool._busy), 30)
        (after,) = pool._busy
        assert (after.child, _priority(after)) == (slow.child, 0)
        await flood[1]


@pytest.mark.parametrize("pool", [2], indirect=True)
async def test_pages_of_one_key_are_read_by_the_same_processes_however_long_they_wait(pool: ParsePool) -> None:
    page, processes = SLOW[: len(SLOW) // 40], set[int]()
    async with asyncio.timeout(60):
        for _ in range(3):
            pages = asyncio.gather(*(pool.extract(page, OPTIONS, "key") for _ in range(10)))
            while not pages.done():
                processes.update(reading.child.pid for reading in pool._busy if reading.child.pid)
                await asyncio.wait({pages}, timeout=0.01)
            await pages
    assert len(processes) <= 3, "two, and the one that was in reserve"


async def test_a_flood_leaves_one_process_in_reserve_for_other_keys(pool: ParsePool) -> None:
    flood = [asyncio.create_task(pool.extract(SLOW, OPTIONS, "flood")) for _ in range(3)]
    await until(lambda: bool(pool._idle), 30)
    reserve = pool._idle[0]
    async with asyncio.timeout(60):
        await pool.extract(PAGE, OPTIONS, "small")
        assert reserve.jobs == 1, "the next page of the flood did not take it"
        await asyncio.gather(*flood)


async def test_a_page_that_takes_too_much_cpu_time_is_given_up_and_the_next_one_is_read_at_once(
    pool: ParsePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_s = pool._cpu_limit_s
    monkeypatch.setattr(pool, "_cpu_limit_s", lambda body: 0.02 if b"slow" in body[:100] else limit_s(body))
    slow = b"<html><body><p>slow" + b"<p>A page with a sentence." * 100_000
    for _ in range(6):
        with pytest.raises(Unreadable, match=r"takes longer than 0\.0 s to read"):
            await pool.extract(slow, OPTIONS)
        assert pool._restarts.wait_s == 0
    assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"


def test_the_cpu_time_of_a_page_is_in_proportion_to_its_size() -> None:
    pool = ParsePool(1)
    assert pool._cpu_limit_s(PAGE) < 2.1
    assert 4.5 < pool._cpu_limit_s(b" " * 5_000_000) <= 5.0
    assert pool._cpu_limit_s(b"%PDF-1.7 " + b" " * 5_000_000) == 15


def _pdf_of_words(count: int) -> bytes:
    """A PDF of one page whose packed content shows a word so many times."""
    content = zlib.compress(b"BT /F 9 Tf 9 TL 30 790 Td " + b"(words of a page) Tj T* " * count + b" ET")
    return pdf_of([CATALOG, PAGES, PDF_PAGE, pdf_stream(content, b"/Filter/FlateDecode"), HELVETICA])


async def test_a_pdf_that_takes_too_much_memory_is_given_up_and_the_next_page_is_read_at_once(pool: ParsePool) -> None:
    for _ in range(2):
        with pytest.raises(Unreadable, match="needs more memory than one page may take") as failure:
            await pool.extract(_pdf_of_words(2_000_000), OPTIONS)
        assert failure.value.code == "too_large"
        assert pool._restarts.wait_s == 0
    assert (await pool.extract(_pdf_of_words(20), OPTIONS))["content"].count("words of a page") == 20
