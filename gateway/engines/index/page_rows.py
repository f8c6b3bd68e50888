"""The rows of the index's pages: written, replaced and deleted, each with its passages. Knows no thread and no file."""

import sqlite3
import time
import zlib
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.index.passage_rows import drop_passages, write_passages
from gateway.engines.index.schema import SHARED, transaction
from gateway.engines.index.vector_rows import vector_counts

_ZLIB_LEVEL = 6
"""zlib's own default."""
_DROPPED_AT_ONCE = 10
"""Pages deleted in one transaction. Chosen: the log of a transaction that fails stays on a nearly full disk, so it must
be small; half makes more transactions of the same work."""


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


def _delete(connection: sqlite3.Connection, ids: list[int]) -> None:
    drop_passages(connection, ids)
    connection.executemany("DELETE FROM pages WHERE id = ?", [(at,) for at in ids])


def drop_pages(connection: sqlite3.Connection, ids: list[int]) -> None:
    """Deletes pages in small transactions, which fit on a nearly full disk, and returns the space to the disk."""
    for at in range(0, len(ids), _DROPPED_AT_ONCE):
        with transaction(connection):
            _delete(connection, ids[at : at + _DROPPED_AT_ONCE])
    connection.execute("PRAGMA incremental_vacuum").fetchall()


def store_page(connection: sqlite3.Connection, page: IndexedPage) -> None:
    """Write a page and its passages in place of the owner's older copy; an unchanged one only becomes younger."""
    key = (page.url, page.owner)
    old = connection.execute("SELECT id, hash FROM pages WHERE url = ? AND owner = ?", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE pages SET fetched_at = ? WHERE id = ?", (page.fetched_at, old[0]))
        return
    if old is not None:
        _delete(connection, [old[0]])
    host = urlsplit(page.url).hostname or ""
    content = zlib.compress(page.content.encode("utf-8", "replace"), _ZLIB_LEVEL)
    values = (*key, host, page.title, page.published, page.fetched_at, page.favicon, page.hash, content)
    columns = "url, owner, host, title, published, fetched_at, favicon, hash, content, is_cut"
    cursor = connection.execute(f"INSERT INTO pages ({columns}) VALUES (?,?,?,?,?,?,?,?,?,1)", values)  # noqa: S608
    write_passages(connection, cursor.lastrowid or 0, page.title, page.content, (page.url, page.owner))


def remove_pages(connection: sqlite3.Connection, url: str, owner: str | None) -> int:
    """Delete the page, and all below it where `url` ends in `/`; of every owner for None. How many there were."""
    query, values = "SELECT id FROM pages WHERE url = ?", [url]
    if url.endswith("/"):
        query, values = "SELECT id FROM pages WHERE (url = ? OR substr(url, 1, ?) = ?)", [url, str(len(url)), url]
    if owner is not None:
        query, values = f"{query} AND owner = ?", [*values, owner]
    doomed = connection.execute(query, values).fetchall()
    drop_pages(connection, [row[0] for row in doomed])
    return len(doomed)


def page_counts(connection: sqlite3.Connection) -> Json:
    """`{pages, oldest, newest, vectors?}`: ages as Unix times, None when empty; `vector_counts` once there are any."""
    pages, oldest, newest = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at) FROM pages"
    ).fetchone()
    counts = {"pages": pages, "oldest": oldest, "newest": newest}
    vectors = vector_counts(connection)
    return {**counts, "vectors": vectors} if vectors["model"] is not None else counts
