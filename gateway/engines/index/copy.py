"""Copies the pages of one search index into another, for `gateway index copy`: from SQLite to PostgreSQL, and back.

Owners, dates and ages are kept. A page that the target has already is replaced. Vectors are not copied; where they are
used, they are made again. Knows no database.
"""

import errno

from gateway.domain import Progress
from gateway.engines.index.port import Index

_AT_ONCE = 20
"""Pages read at once. Chosen: a few megabytes at most of real pages; at half twice the reads, at double twice the
memory."""


async def copy_pages(source: Index, target: Index, progress: Progress) -> int:
    """Copies all pages, and returns how many. Raises EngineMissing, sqlite3.Error, and OSError, also when the target
    does not take the pages; what was copied before stays, and another copy begins anew."""
    total = int((await source.stats())["pages"])
    if source.problem is not None:
        raise OSError(errno.EIO, f"the pages cannot be read: {source.problem}")
    copied = row = 0
    while rows := await source.pages(row, _AT_ONCE):
        row = rows[-1][0]
        pages = [page for _, page in rows if page.content]
        if problem := await target.add(pages):
            raise OSError(errno.EIO, problem)
        copied += len(pages)
        progress.step(copied, max(total, copied), pages[-1].url if pages else "")
    return copied
