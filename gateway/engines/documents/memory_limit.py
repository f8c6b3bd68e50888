"""The memory that a parse process may have for one job, and what of it the process keeps between jobs.

The kernel holds the limit (RLIMIT_DATA): Python raises MemoryError at it, a library that cannot go on aborts the
process (SIGABRT). Light: the server imports it too.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.engines.fetch.errors import FetchFailed

MEMORY_BYTES, PICTURE_MEMORY_BYTES = 600_000_000, 1_000_000_000
"""Private memory that a process may have beyond the body while it reads a page or document, and while it draws a page
or decodes a picture. Its libraries take 170 MB of it. Measured: a page of 5 MB takes 130 MB more, a manual of 21 MB 10,
a sheet of 600,000 cells 110, a picture of 35 million pixels 410. At half, long pages and large pictures fail; at
double, four processes that hostile documents have filled take a machine of 8 GB."""
_PICTURE_TASKS = frozenset(("picture", "plain picture"))


def limit_bytes(task: str) -> int:
    """What a job of a task (`ExtractOptions`) may take beyond its body."""
    return PICTURE_MEMORY_BYTES if task in _PICTURE_TASKS else MEMORY_BYTES


def out_of_memory(task: str) -> FetchFailed:
    """The error for a page that needs more memory than its task may have."""
    size = f"{limit_bytes(task) // 1_000_000} MB"
    return FetchFailed(f"reading the page needs more memory than one page may take ({size})", "too_large")


@contextmanager
def limited_memory(task: str, body_bytes: int) -> Iterator[None]:
    """Within the block this process has no more. Raises FetchFailed in place of MemoryError."""
    _limit(limit_bytes(task) + body_bytes)
    try:
        yield
    except MemoryError:
        raise out_of_memory(task) from None
    finally:
        _limit(resource.RLIM_INFINITY)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (size, resource.RLIM_INFINITY))


def _resident_bytes() -> int:
    """Resident memory of this process; 0 where the kernel does not tell (`/proc/self/statm`, proc(5))."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
