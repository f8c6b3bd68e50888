"""Masking of a stream in steps, between which the event loop serves others. Knows no channel and no detector.

A step on the loop takes as long as a short text. A long text is handed out instead: a thread scans it when it is the
key's turn (`Sanitizer.apart`), as it does with those of requests and whole answers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TypeAlias, TypeVar

from gateway.domain import Event, Json
from gateway.errors import GatewayError

T = TypeVar("T")
Apart: TypeAlias = Callable[[], object]
"""Work on one long text: too much for a step."""
MaskSteps: TypeAlias = Generator[Apart | None, None, T]
"""Work in steps, which returns its result at the end. What a step hands out is to be done before the next one; if it
raises, that is thrown into the steps."""
Place: TypeAlias = Callable[[Apart], Awaitable[object]]
"""Does such work where it holds nobody up."""
_SLICE_S = 0.004
"""Chosen: as the turns of whole answers (`sanitize.pipeline`)."""
SLOTS_A_STEP = 64
"""Chosen: places of text that are looked for in one step (below a millisecond)."""
CleanError: TypeAlias = Callable[[GatewayError], Awaitable[None]]
"""Masks in place what an error says of the stream."""
Refusal: TypeAlias = Callable[[GatewayError, Json | None], list[Event]]
"""(error, data of the last event with data, or None) -> the events that end the stream in its dialect."""


def at_once(steps: MaskSteps[T]) -> T:
    """The result, all of it done here."""
    error: Exception | None = None
    try:
        while True:
            apart = next(steps) if error is None else steps.throw(error)
            error = None
            if apart is not None:
                try:
                    apart()
                except Exception as raised:
                    error = raised
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # its traceback leads to this frame: as a circle they would wait for the garbage collector


async def in_turns(steps: MaskSteps[T], place: Place) -> T:
    """The result; others run between the steps, and work that is handed out is done in its place."""
    error: Exception | None = None
    end_s = time.perf_counter() + _SLICE_S
    try:
        while True:
            apart = next(steps) if error is None else steps.throw(error)
            error = None
            if apart is not None:
                try:
                    await place(apart)
                except Exception as raised:
                    error = raised
            elif time.perf_counter() < end_s:
                continue
            else:
                await asyncio.sleep(0)
            end_s = time.perf_counter() + _SLICE_S
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # as in `at_once`
