"""What is written to a child process that has ended is an error that its callers know, on both event loops."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable

import pytest
import uvloop

from gateway.resilience.child_pipe import write_to_child


@pytest.mark.slow
@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("parts", [(b"a",), (b"a" * 1_000_000, b"b")], ids=["small", "large"])
def test_writing_to_a_child_that_has_ended_is_a_lost_connection(
    make_loop: Callable[[], asyncio.AbstractEventLoop], parts: tuple[bytes, ...]
) -> None:
    async def write_behind_the_end() -> None:
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "", stdin=PIPE)
        assert child.stdin is not None
        await child.wait()
        with pytest.raises(ConnectionError):
            for _ in range(3):
                write_to_child(child.stdin, *parts)
                await child.stdin.drain()
                await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(asyncio.wait_for(write_behind_the_end(), 20))
