"""Memory of processes that live long: what garbage collections look at."""

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
