"""Ends an embedded server when the process that started it ends. Linux only: prctl(2), read 2026-11-21."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""


def die_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when its parent ends, even by SIGKILL.

    Call it early, from the main thread: a parent that has ended before is not noticed.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
