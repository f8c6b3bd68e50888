"""The rows of a page's passages: written with the page, deleted with it, cut anew for pages of an older version."""

import sqlite3
import zlib
from collections.abc import Sequence

from gateway.engines.index.query import owner_token
from gateway.engines.text.passages import passages, plain_text
from gateway.engines.text.tokens import bigrams, fold, joined_name_parts

_MOST_PAGE_CHARS = 1_000_000
"""How much of a page is searchable. Chosen: the longest page of 3,399 real ones has 700,000 characters; a page of this
size has 600 passages and takes a second to write, at double a hostile one holds up other writes for two."""

_CUT_AT_ONCE = 50
"""Pages cut in one transaction while catching up: about half a second, after which waiting writes have their turn."""


def write_passages(connection: sqlite3.Connection, page: int, title: str, content: str, place: tuple[str, str]) -> None:
    """Cut a page and write its passages. `page` is its row, `place` its URL and owner."""
    url, owner = place
    content = content[:_MOST_PAGE_CHARS]
    title_words = f"{title} {joined_name_parts(title)}"
    for each in passages(content):
        path = " ".join(each.headings)
        body = plain_text(content[each.start : each.end])
        row = connection.execute(
            "INSERT INTO passages (page, first, last, headings) VALUES (?,?,?,?)",
            (page, each.start, each.end, "\n".join(each.headings)),
        ).lastrowid
        pairs = " ".join(bigrams(fold(f"{title} {path} {body}")))
        words = (title_words, path, f"{body} {joined_name_parts(body)}", url, pairs, owner_token(owner))
        connection.execute(
            "INSERT INTO passage_search (rowid, title, path, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
            (row, *words),
        )


def drop_passages(connection: sqlite3.Connection, pages: Sequence[int]) -> None:
    """Delete the passages of these pages."""
    ids = [(page,) for page in pages]
    rows = "SELECT id FROM passages WHERE page = ?"
    connection.executemany(f"DELETE FROM passage_search WHERE rowid IN ({rows})", ids)  # noqa: S608 - constants only
    connection.executemany("DELETE FROM passages WHERE page = ?", ids)


def cut_next(connection: sqlite3.Connection) -> bool:
    """Cut the next pages that an older version stored uncut; whether there may be more. Within a transaction."""
    sql = "SELECT id, url, owner, title, content FROM pages WHERE is_cut = 0 ORDER BY id LIMIT ?"
    rows = connection.execute(sql, (_CUT_AT_ONCE,)).fetchall()
    for page, url, owner, title, packed in rows:
        try:
            content = zlib.decompress(packed).decode("utf-8", "replace")
        except zlib.error:
            content = ""  # one damaged page holds up no other
        write_passages(connection, page, title, content, (url, owner))
        connection.execute("UPDATE pages SET is_cut = 1 WHERE id = ?", (page,))
    return len(rows) == _CUT_AT_ONCE
