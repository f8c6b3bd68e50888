"""A disk that is full: a limit on the size of files, and the index on a small tmpfs in a mount namespace of its own.

`python -m tests.support.full_disk`; exit status 77 means that namespaces are not permitted here.
"""

import asyncio
import ctypes
import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex

NOT_PERMITTED = 77
DISK_BYTES = 40_000_000


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """A write beyond fails as on a full disk: what has room is taken, and no file is named."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def enter(folder: str) -> bool:
    """Mounts a small tmpfs at `folder`, seen by this process alone; False if not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, new_user = 0x0002_0000, 0x1000_0000
    if libc.unshare(new_mounts) != 0 and libc.unshare(new_user | new_mounts) != 0:
        return False
    private = 1 << 18 | 1 << 14  # MS_PRIVATE, MS_REC
    if libc.mount(b"none", b"/", None, private, None) != 0:
        return False
    return bool(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, f"size={DISK_BYTES}".encode()) == 0)


def pages(name: str, number: int, words: int) -> list[IndexedPage]:
    source = random.Random(name)
    return [
        IndexedPage(
            f"https://{name}.test/{n}", name, f"{name} " + " ".join(f"{source.random()}"[2:] for _ in range(words))
        )
        for n in range(number)
    ]


async def found(index: PageIndex, text: str) -> int:
    return len(await index.search(IndexQuery(text, ("",), 50)))


async def check(folder: Path) -> None:
    path = folder / "i.db"
    index = PageIndex(path, reserve_bytes=10_000_000)
    assert await index.add(pages("first", 5, 50)) is None
    said = await index.add(pages("huge", 600, 6_000))
    assert said is not None and "the disk is full" in said, said
    assert (await index.stats())["error"] == "the disk is full"
    assert await found(index, "first") == 5 and await found(index, "huge") == 50  # what had room is there
    assert shutil.disk_usage(folder).free > 1_000_000, "the reserve is left to others"
    assert await index.remove("https://huge.test/") > 50
    assert await index.add(pages("small", 5, 50)) is None, "what was removed must make room"
    assert (await index.stats())["error"] is None
    await index.close()
    index = PageIndex(path, reserve_bytes=0)
    assert await found(index, "small") == 5
    filler = folder / "filler"
    with filler.open("wb") as file:  # somebody else takes the rest
        try:
            while True:
                file.write(b"x" * 65_536)
                file.flush()
        except OSError:
            pass
    said = await index.add(pages("late", 5, 50))
    assert said is not None and "the disk is full" in said, said
    assert await found(index, "first") == 5 and await found(index, "small") == 5
    many = await asyncio.gather(*(found(index, "first") for _ in range(8)))  # more at once than have looked so far
    assert many == [5] * 8
    await index.close()
    again = PageIndex(path, reserve_bytes=0)  # a restart while there is no room at all
    assert await again.add(pages("late", 5, 50)) is not None
    assert (await again.stats())["error"] == "the disk is full"
    filler.unlink()
    assert await again.add(pages("late", 5, 50)) is None
    assert [await found(again, name) for name in ("first", "small", "late")] == [5, 5, 5]
    assert (await again.stats())["error"] is None and not any("damaged" in name for name in os.listdir(folder))
    await again.close()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        if not enter(folder):
            return NOT_PERMITTED
        try:
            asyncio.run(check(Path(folder)))
        finally:
            ctypes.CDLL(None).umount2(folder.encode(), 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
