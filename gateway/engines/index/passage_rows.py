"""Passages of pages in the search index: written with their words, linked to a page, deleted. In steps."""

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.engines.index.database import transaction
from gateway.engines.index.query import owner_token
from gateway.engines.words.sections import Passage, passage_steps, plain_text
from gateway.engines.words.text import bigrams, fold, joined_name_parts, text_stems

MOST_PAGE_CHARS = 1_000_000
"""How much of a page is searchable."""

_PASSAGES_A_STEP = 4
"""Passages written or deleted in one transaction. Measured: 0.4 ms each with their words, and 0.2 ms the
transaction."""

GONE = -1
_ABANDONED_S = 600.0
"""Age of passages without a page whose writer is taken for dead."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What of a page is searchable."""

    url: str
    owner: str
    title: str
    content: str


def new_mark() -> int:
    """A number for the passages of a page that has no row yet."""
    return -time.time_ns()


def write_steps(connection: sqlite3.Connection, text: PageText, mark: int) -> Iterator[None]:
    """Cut a page and write its passages under `mark`, in steps that are a transaction each."""
    content = text.content[:MOST_PAGE_CHARS]
    title_words = f"{text.title} {joined_name_parts(text.title)}"
    some: list[Passage] = []
    for passage in passage_steps(content):
        if passage is not None:
            some.append(passage)
            if len(some) < _PASSAGES_A_STEP:
                continue
            _write(connection, [(each, search_row(each, content, text, title_words)) for each in some], mark)
            some.clear()
        yield
    if some:
        _write(connection, [(each, search_row(each, content, text, title_words)) for each in some], mark)
        yield


def _write(connection: sqlite3.Connection, rows: list[tuple[Passage, tuple[str, ...]]], mark: int) -> None:
    with transaction(connection):
        for each, words in rows:
            row = connection.execute(
                "INSERT INTO passages (page, first, last, headings) VALUES (?,?,?,?)",
                (mark, each.start, each.end, "\n".join(each.headings)),
            ).lastrowid
            connection.execute(
                "INSERT INTO passage_search (rowid, title, path, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
                (row, *words),
            )


def search_row(each: Passage, content: str, text: PageText, title_words: str) -> tuple[str, ...]:
    """What of a passage is searched: title, headings, text, address, CJK pairs and foreign stems, and owner, as
    `passage_search` has."""
    path = " ".join(each.headings)
    body = plain_text(content[each.start : each.end])
    folded = fold(f"{text.title} {path} {body}")
    pairs = " ".join(bigrams(folded) + text_stems(folded))
    return (title_words, path, f"{body} {joined_name_parts(body)}", text.url, pairs, owner_token(text.owner))


def link(connection: sqlite3.Connection, mark: int, page: int) -> None:
    """Give the passages written under `mark` to the page of this row. Within a transaction."""
    connection.execute("UPDATE passages SET page = ? WHERE page = ?", (page, mark))


def unlink(connection: sqlite3.Connection, page: int) -> None:
    """Take a page's passages out of the search. Within a transaction."""
    connection.execute("UPDATE passages SET page = ? WHERE page = ?", (GONE, page))


def delete_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Delete the passages that belong to no page, in steps that are a transaction each."""
    while True:
        oldest = -int((time.time() - _ABANDONED_S) * 1e9)
        sql = "SELECT id FROM passages WHERE page < 0 AND page > ? LIMIT ?"
        ids = connection.execute(sql, (oldest, _PASSAGES_A_STEP)).fetchall()
        if not ids:
            return
        with transaction(connection):
            connection.executemany("DELETE FROM passage_search WHERE rowid = ?", ids)
            connection.executemany("DELETE FROM passages WHERE id = ?", ids)
        yield
