"""Memory of processes that live long: what garbage collections look at, and what is given back to the system."""

import ctypes
import gc


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
    if not shares_memory:
        give_back()


def give_back() -> None:
    """Give freed memory back to the system (malloc_trim(3)): half a MiB after an import or a start. Does nothing with
    another C library than glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
