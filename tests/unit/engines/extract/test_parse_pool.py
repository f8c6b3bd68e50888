"""The pool of parse processes: one that dies fails its own job, and is replaced."""

import os
import signal

import pytest

from gateway.engines.extract.page import ExtractOptions
from gateway.engines.extract.parse_pool import ParsePool
from gateway.engines.fetch.errors import FetchFailed

OPTIONS = ExtractOptions(url="https://a.test/")
PAGE = b"<html><body><p>A page with a sentence.</p></body></html>"


async def test_processes_that_keep_dying_are_replaced_with_short_pauses() -> None:
    pool = ParsePool(1)
    try:
        for death in range(1, 6):
            assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"
            process = pool._idle[0].process
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
            with pytest.raises(FetchFailed, match="brought the parser down"):
                await pool.extract(PAGE, OPTIONS)
            assert (pool._restarts.wait_s > 0) == (death == 5)
        assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"
    finally:
        await pool.close()


class _HastyPool(ParsePool):
    def _cpu_limit_s(self, body: bytes) -> float:
        return 0.02 if b"slow" in body[:100] else super()._cpu_limit_s(body)


async def test_a_page_that_takes_too_much_cpu_time_is_given_up_and_the_next_one_is_read_at_once() -> None:
    pool = _HastyPool(1)
    slow = b"<html><body><p>slow" + b"<p>A page with a sentence." * 100_000
    try:
        for _ in range(6):
            with pytest.raises(FetchFailed, match=r"takes longer than 0\.0 s to read"):
                await pool.extract(slow, OPTIONS)
            assert pool._restarts.wait_s == 0
        assert (await pool.extract(PAGE, OPTIONS))["kind"] == "html"
    finally:
        await pool.close()


def test_the_cpu_time_of_a_page_is_in_proportion_to_its_size() -> None:
    pool = ParsePool(1)
    assert pool._cpu_limit_s(PAGE) < 2.1
    assert 4.5 < pool._cpu_limit_s(b" " * 5_000_000) <= 5.0
    assert pool._cpu_limit_s(b"%PDF-1.7 " + b" " * 5_000_000) == 15
