"""Vectors of passages in the search index: which passages have none yet, and their text."""

import sqlite3
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from gateway.domain import Json
from gateway.engines.index.database import transaction
from gateway.engines.words.sections import plain_text

MAX_TOKENS = 256
"""Tokens of a passage that its vector stands for. Measured: with 256, the model's most, Cranfield's nDCG@10 is .384
instead of .377 by vectors alone, at 1.6 times the CPU, which is what an index of vectors costs."""
_TITLE_CHARS = 120
_BODY_CHARS = 1_200
"""Beginnings of the title and of the passage that are read: more than MAX_TOKENS words of any language hold."""
_CLEARED_AT_ONCE = 2_000
"""Vectors of another model deleted in one transaction: some 20 ms, between which pages are stored."""


class PassageText(NamedTuple):
    """A passage without a vector, and the text that its vector will stand for."""

    passage: int
    text: str


def unembedded(connection: sqlite3.Connection, count: int) -> list[PassageText]:
    """The newest passages that have no vector yet, without those that belong to no page."""
    sql = (
        "SELECT passages.id FROM passages CROSS JOIN pages ON pages.id = passages.page WHERE is_embedded = 0"
        " ORDER BY passages.id DESC LIMIT ?"
    )
    return _texts(connection, [row[0] for row in connection.execute(sql, (count,))])


def store_vectors(connection: sqlite3.Connection, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
    """Stores vectors; None for a text that cannot be embedded. A passage whose text has changed since still waits."""
    with transaction(connection):
        current = {each.passage: each.text for each in _texts(connection, [each.passage for each, _ in rows])}
        for each, vector in rows:
            if current.get(each.passage) != each.text:
                continue
            connection.execute("UPDATE passages SET is_embedded = 1 WHERE id = ?", (each.passage,))
            if vector is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO vectors (passage, vector) VALUES (?, ?)", (each.passage, vector)
                )


def adopt_model(connection: sqlite3.Connection, version: str) -> bool:
    """Removes some vectors of other models; whether there are none left, so that vectors of `version` may be stored."""
    row = connection.execute("SELECT version FROM vector_model").fetchone()
    if row is not None and row[0] == version:
        return True
    with transaction(connection):
        connection.execute("DELETE FROM vector_model")
        ids = connection.execute("SELECT passage FROM vectors LIMIT ?", (_CLEARED_AT_ONCE,)).fetchall()
        connection.executemany("UPDATE passages SET is_embedded = 0 WHERE id = ?", ids)
        connection.executemany("DELETE FROM vectors WHERE passage = ?", ids)
        if len(ids) < _CLEARED_AT_ONCE:
            connection.execute("UPDATE passages SET is_embedded = 0 WHERE is_embedded = 1")
            connection.execute("INSERT INTO vector_model (version) VALUES (?)", (version,))
    return len(ids) < _CLEARED_AT_ONCE


def vector_counts(connection: sqlite3.Connection) -> Json:
    """`{model, count, pending}`: the vectors' model (None before the first), how many there are, how many passages
    wait for one."""
    row = connection.execute("SELECT version FROM vector_model").fetchone()
    count = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    pending = connection.execute("SELECT count(*) FROM passages WHERE is_embedded = 0 AND page > 0").fetchone()[0]
    return {"model": row[0] if row else None, "count": count, "pending": pending}


def passage_text(title: str, headings: str, body: str) -> str:
    """What the model reads of a passage: the page's title, the headings that it does not name, and the passage."""
    named = title.lower()
    parts = [title[:_TITLE_CHARS], *(line for line in headings.split("\n") if line and line.lower() not in named)]
    return " ".join(f"{'. '.join(parts)}. {plain_text(body)}".split())


def _texts(connection: sqlite3.Connection, passages: Sequence[int]) -> list[PassageText]:
    """The texts of those of the passages that exist. Passages of one page are read together."""
    found: list[PassageText] = []
    content, content_of = "", -1
    sql = (
        "SELECT passages.page, first, last, headings, title FROM passages JOIN pages ON pages.id = passages.page"
        " WHERE passages.id = ?"
    )
    for passage in passages:
        row = connection.execute(sql, (passage,)).fetchone()
        if row is None:
            continue
        page, first, last, headings, title = row
        if page != content_of:
            content, content_of = _content(connection, page), page
        body = content[first : min(last, first + _BODY_CHARS)]
        found.append(PassageText(passage, passage_text(title, headings, body)))
    return found


def _content(connection: sqlite3.Connection, page: int) -> str:
    packed = connection.execute("SELECT content FROM pages WHERE id = ?", (page,)).fetchone()[0]
    try:
        return zlib.decompress(packed).decode("utf-8", "replace")
    except zlib.error:
        return ""  # one damaged page holds up no other
