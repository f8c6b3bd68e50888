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
