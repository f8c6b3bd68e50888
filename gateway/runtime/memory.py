"""Memory of processes that live long: what garbage collections look at, and what is given back to the system."""

import ctypes
import gc

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Names of parameters of mallopt(3)."""
_OWN_MAPPING_BYTES = 1 << 17
"""glibc's own first value: blocks of this size and more have a mapping of their own, which goes back to the system when
they are freed. Left alone, glibc raises it to the largest block that was freed, up to 32 MB: from then on bodies and
buffers leave holes in the heap, and the next body takes more (one of 1 MB 9.5 times its bytes, 7.6 with this;
`bench.hostile_bodies`). At half ordinary pages and answers are mapped and unmapped too, a page fault every 4 KB; at
double blocks of 200 KB leave such holes."""
_KEPT_BYTES = 1 << 17
"""glibc's own first value: so much freed memory stays at the end of the heap for the next request. At half a burst of
small requests asks the system for memory more often; at eight times as much a body of 1 MB takes its bytes once more
(measured)."""


def settle_memory(shares_memory: bool = False) -> None:
    """Make garbage collections rare: exempt the objects that exist now, which live as long as the process, and raise
    the thresholds, since the objects of a request are freed by reference counts.

    `shares_memory`: the process was forked from one that has exempted its objects already. They stay so, since looking
    at one writes to it, which copies its memory.

    Measured: the default thresholds cost a tenth of the CPU of a small chat. At half of 50,000, collections come twice
    as often; at double, cycles that do arise (exceptions with tracebacks) hold memory longer.
    """
    if not shares_memory:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    _map_large_blocks()
    if not shares_memory:
        give_back()


def _map_large_blocks() -> None:
    """Give large blocks back to the system as soon as they are freed. Does nothing with another C library than
    glibc."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)


def give_back() -> None:
    """Give freed memory back to the system (malloc_trim(3)): half a MiB after an import or a start. Does nothing with
    another C library than glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
