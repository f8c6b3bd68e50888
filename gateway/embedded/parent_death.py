"""An embedded server's tie to the process that started it. Linux only (prctl(2), read 2026-11-21)."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """SIGTERM this process when its parent dies, however it dies. To be called from the main thread, early."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
