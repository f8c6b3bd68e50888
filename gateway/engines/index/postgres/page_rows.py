"""The rows of the index's pages in PostgreSQL: written, replaced, read for copies and deleted.

A page and its passages are written in one transaction, after everything has been cut and packed. Gateways that store
the same page wait for each other at its row; gateways that delete skip rows that others hold. Runs in a thread.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.answer.passages import Passage, each_passage
from gateway.engines.answer.tokens import joined_name_parts
from gateway.engines.index.postgres.connections import Database
from gateway.engines.index.postgres.schema import UPKEEP_LOCK
from gateway.engines.index.postgres.tokens import PassageWords, Tokenizer, storable
from gateway.engines.index.rows import MOST_PAGE_CHARS, IndexedPage, PageText, search_row, unpacked

_SWEPT_AT_ONCE = 1_000
"""Most pages deleted by one sweep: twice as many as come between two sweeps (`store`), so that an index above its limit
shrinks."""
_DROPPED_AT_ONCE = 20
"""Pages deleted in one transaction. Chosen: some milliseconds, for which nobody else's page is held; at half twice the
transactions, at double a page that is being stored anew waits for longer."""
_CUT_AT_ONCE = 32
"""Passages whose words are cut together. Chosen: below it the fixed cost of the table in memory shows, at double a long
page takes twice the memory."""


def store_page(connection: Database, page: IndexedPage, tokenizer: Tokenizer) -> None:
    """Writes a page and its passages in place of the owner's older copy; an unchanged one only becomes younger.

    Raises psycopg.Error.
    """
    key = (_digest(page.url), page.owner)
    old = connection.execute("SELECT id, hash FROM gateway_pages WHERE url_digest = %s AND owner = %s", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE gateway_pages SET fetched_at = %s WHERE id = %s", (page.fetched_at, old[0]))
        return
    packed = zlib.compress(page.content.encode("utf-8", "replace"))
    rows = list(_passage_rows(page, tokenizer))
    values = (
        storable(page.url), *key, urlsplit(page.url).hostname or "", storable(page.title), page.published,
        page.fetched_at, page.favicon and storable(page.favicon), page.hash, packed, len(rows),
        sum(words.length for _, words in rows),
    )  # fmt: skip
    with connection.transaction(), connection.cursor() as cursor:
        stored = cursor.execute(
            "INSERT INTO gateway_pages (url, url_digest, owner, host, title, published, fetched_at, favicon, hash,"
            " content, passages, tokens) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)"
            " ON CONFLICT (url_digest, owner) DO UPDATE SET title = excluded.title, published = excluded.published,"
            " fetched_at = excluded.fetched_at, favicon = excluded.favicon, hash = excluded.hash,"
            " content = excluded.content, passages = excluded.passages, tokens = excluded.tokens RETURNING id",
            values,
        ).fetchone()
        assert stored is not None
        cursor.execute("DELETE FROM gateway_passages WHERE page = %s", stored)
        columns = "page, owner, first, last, headings, words, frequencies, length"
        with cursor.copy(f"COPY gateway_passages ({columns}) FROM STDIN".encode()) as copy:
            for each, words in rows:
                headings = storable("\n".join(each.headings))
                copy.write_row(
                    (stored[0], page.owner, each.start, each.end, headings, words.vector, json.dumps(words.frequencies),
                     words.length)
                )  # fmt: skip


def _digest(url: str) -> bytes:
    return hashlib.sha256(storable(url).encode()).digest()


def _passage_rows(page: IndexedPage, tokenizer: Tokenizer) -> Iterator[tuple[Passage, PassageWords]]:
    content = page.content[:MOST_PAGE_CHARS].encode("utf-8", "replace").decode()
    text = PageText(page.url, page.owner, storable(page.title), content)
    title_words = f"{text.title} {joined_name_parts(text.title)}"
    passages = list(each_passage(content))
    for at in range(0, len(passages), _CUT_AT_ONCE):
        some = passages[at : at + _CUT_AT_ONCE]
        rows = [tuple(map(storable, search_row(each, content, text, title_words))) for each in some]
        yield from zip(some, tokenizer.passages(rows), strict=True)


def remove_pages(connection: Database, url: str, owner: str | None) -> int:
    """Deletes the page, and all below it where `url` ends in `/`; of every owner for None. Returns how many.

    Pages that another gateway is storing at this moment stay.
    """
    condition = "url_digest = %s"
    values: list[Any] = [_digest(url)]
    if url.endswith("/"):
        condition, values = "(url_digest = %s OR starts_with(url, %s))", [*values, storable(url)]
    if owner is not None:
        condition, values = f"{condition} AND owner = %s", [*values, owner]
    return _delete(connection, f"WHERE {condition}", values, None)


def sweep(connection: Database, oldest: float, max_pages: int) -> None:
    """Deletes pages fetched before `oldest` and, above `max_pages`, the oldest ones; one gateway at a time does."""
    locked = connection.execute("SELECT pg_try_advisory_lock(%s)", (UPKEEP_LOCK,)).fetchone()
    if locked is None or not locked[0]:
        return
    try:
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM gateway_pages WHERE fetched_at < %s), count(*) FROM gateway_pages", (oldest,)
        ).fetchone()
        assert counts is not None
        surplus = min(max(counts[0], counts[1] - max_pages), _SWEPT_AT_ONCE)
        if surplus > 0:
            _delete(connection, "ORDER BY fetched_at", [], surplus)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (UPKEEP_LOCK,))


def _delete(connection: Database, which: str, values: list[Any], most: int | None) -> int:
    """Deletes pages in small transactions, at most `most`. `which`: condition or order of those."""
    chosen = f"SELECT id FROM gateway_pages {which} LIMIT %s FOR UPDATE SKIP LOCKED"  # noqa: S608 - constants only
    sql = f"DELETE FROM gateway_pages WHERE id IN ({chosen})"  # noqa: S608
    deleted = 0
    while most is None or deleted < most:
        count = _DROPPED_AT_ONCE if most is None else min(_DROPPED_AT_ONCE, most - deleted)
        found = connection.execute(sql.encode(), [*values, count]).rowcount
        deleted += found
        if found < count:
            break
    return deleted


def page_counts(connection: Database) -> Json:
    """`{pages, oldest, newest, bytes}`: ages as Unix times, None when empty."""
    row = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at), pg_total_relation_size('gateway_pages')"
        " + pg_total_relation_size('gateway_passages') FROM gateway_pages"
    ).fetchone()
    assert row is not None
    return {"pages": row[0], "oldest": row[1], "newest": row[2], "bytes": int(row[3])}


def some_pages(connection: Database, after: int, count: int) -> list[tuple[int, IndexedPage]]:
    """At most `count` pages with rows above `after`, in the order of their rows. A damaged page comes without text."""
    rows = connection.execute(
        "SELECT id, url, title, content, owner, hash, published, favicon, fetched_at FROM gateway_pages WHERE id > %s"
        " ORDER BY id LIMIT %s",
        (after, count),
    )
    return [(row, IndexedPage(url, title, unpacked(content), *more)) for row, url, title, content, *more in rows]
