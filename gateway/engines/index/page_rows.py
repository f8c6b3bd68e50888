"""Pages in the search index: stored, replaced, deleted, cut anew, counted. In steps of a few milliseconds."""

import sqlite3
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.index.database import transaction
from gateway.engines.index.passage_rows import PageText, link, new_mark, unlink, write_steps
from gateway.engines.index.vector_rows import vector_counts

SHARED = ""
"""The owner of pages that every key may find."""
_ZLIB_LEVEL = 6
"""zlib's own default."""
_PACKED_CHARS = 32_768
"""Characters compressed in one step: 3.6 ms (measured)."""
_SWEPT_AT_ONCE = 1_000
"""Most pages deleted by one sweep: twice as many as come between two sweeps (`store`), so that an index above its limit
shrinks, in a tenth of a second of short turns."""
_DROPPED_AT_ONCE = 10
"""Pages deleted in one transaction."""


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page to store. `owner` is a key id, or SHARED for everybody; `fetched_at` is Unix time."""

    url: str
    title: str
    content: str
    owner: str = SHARED
    hash: str = ""
    published: str | None = None
    favicon: str | None = None
    fetched_at: float = field(default_factory=time.time)


def store_steps(connection: sqlite3.Connection, page: IndexedPage) -> Iterator[None]:
    """Write a page and its passages in place of the owner's older copy; an unchanged one only becomes younger.

    In steps of a few milliseconds, between which other pages may be written, also this one. The older copy is found
    until the last step. Raises sqlite3.Error.
    """
    key = (page.url, page.owner)
    old = connection.execute("SELECT id, hash FROM pages WHERE url = ? AND owner = ?", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE pages SET fetched_at = ? WHERE id = ?", (page.fetched_at, old[0]))
        return
    packed: list[bytes] = []
    for piece in _packed(page.content):
        packed.append(piece)
        yield
    mark = new_mark()
    yield from write_steps(connection, PageText(page.url, page.owner, page.title, page.content), mark)
    values = (*key, urlsplit(page.url).hostname or "", page.title, page.published, page.fetched_at)
    with transaction(connection):
        _delete(connection, connection.execute("SELECT id FROM pages WHERE url = ? AND owner = ?", key).fetchall())
        columns = "url, owner, host, title, published, fetched_at, favicon, hash, content, is_cut"
        row = connection.execute(
            f"INSERT INTO pages ({columns}) VALUES (?,?,?,?,?,?,?,?,?,1)",  # noqa: S608 - constants only
            (*values, page.favicon, page.hash, b"".join(packed)),
        ).lastrowid
        link(connection, mark, row or 0)


def _packed(content: str) -> Iterator[bytes]:
    """The content, compressed piece by piece; together what `zlib.compress` of all of it is read back as."""
    packer = zlib.compressobj(_ZLIB_LEVEL)
    for start in range(0, len(content), _PACKED_CHARS):
        yield packer.compress(content[start : start + _PACKED_CHARS].encode("utf-8", "replace"))
    yield packer.flush()


def _delete(connection: sqlite3.Connection, ids: list[tuple[int]]) -> None:
    """Delete pages; their passages are no longer found, and deleted later (`delete_steps`). Within a transaction."""
    for (page,) in ids:
        unlink(connection, page)
        connection.execute("DELETE FROM pages WHERE id = ?", (page,))


def drop_steps(connection: sqlite3.Connection, ids: list[tuple[int]]) -> Iterator[None]:
    """Delete pages in small transactions, which fit on a nearly full disk."""
    for at in range(0, len(ids), _DROPPED_AT_ONCE):
        with transaction(connection):
            _delete(connection, ids[at : at + _DROPPED_AT_ONCE])
        yield


def cut_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Cut the pages that an older version stored uncut, in steps as those of `store_steps`."""
    after = 0
    while True:
        sql = "SELECT id, url, owner, title, content FROM pages WHERE is_cut = 0 AND id > ? ORDER BY id LIMIT 1"
        row = connection.execute(sql, (after,)).fetchone()
        if row is None:
            return
        after, url, owner, title, packed = row
        content = unpacked(packed)
        mark = new_mark()
        yield from write_steps(connection, PageText(url, owner, title, content), mark)
        with transaction(connection):
            done = connection.execute(
                "UPDATE pages SET is_cut = 1 WHERE id = ? AND url = ? AND is_cut = 0", (after, url)
            )
            if done.rowcount:
                link(connection, mark, after)
        yield


def pages_at(connection: sqlite3.Connection, url: str, owner: str | None) -> list[tuple[int]]:
    """The rows of the page, and of all below it where `url` ends in `/`; of every owner for None."""
    query, values = "SELECT id FROM pages WHERE url = ?", [url]
    if url.endswith("/"):
        query, values = "SELECT id FROM pages WHERE (url = ? OR substr(url, 1, ?) = ?)", [url, str(len(url)), url]
    if owner is not None:
        query, values = f"{query} AND owner = ?", [*values, owner]
    return connection.execute(query, values).fetchall()


def old_pages(connection: sqlite3.Connection, oldest: float, max_pages: int) -> list[tuple[int]]:
    """The rows of pages fetched before `oldest` and, above `max_pages`, of the oldest ones; at most _SWEPT_AT_ONCE."""
    total = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
    expired = connection.execute("SELECT count(*) FROM pages WHERE fetched_at < ?", (oldest,)).fetchone()[0]
    surplus = min(max(expired, total - max_pages), _SWEPT_AT_ONCE)
    return connection.execute("SELECT id FROM pages ORDER BY fetched_at LIMIT ?", (surplus,)).fetchall()


def page_counts(connection: sqlite3.Connection) -> Json:
    """`{pages, oldest, newest, vectors?}`: ages as Unix times, None when empty; `vector_counts` once there are any."""
    pages, oldest, newest = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at) FROM pages"
    ).fetchone()
    counts = {"pages": pages, "oldest": oldest, "newest": newest}
    vectors = vector_counts(connection)
    return {**counts, "vectors": vectors} if vectors["model"] is not None else counts


def some_pages(connection: sqlite3.Connection, after: int, count: int) -> list[tuple[int, IndexedPage]]:
    """At most `count` pages with rows above `after`, in the order of their rows. A damaged page comes without text."""
    rows = connection.execute(
        "SELECT id, url, title, content, owner, hash, published, favicon, fetched_at FROM pages WHERE id > ?"
        " ORDER BY id LIMIT ?",
        (after, count),
    )
    return [(row, IndexedPage(url, title, unpacked(content), *more)) for row, url, title, content, *more in rows]


def unpacked(content: bytes) -> str:
    """A stored page's text; empty where it is damaged, so that one such page holds up no other."""
    try:
        return zlib.decompress(content).decode("utf-8", "replace")
    except zlib.error:
        return ""
