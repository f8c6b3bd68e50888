"""The search index's file: its tables, its version, and what happens when it is damaged.

One SQLite database in WAL mode. `pages` holds one row per page and owner, the content compressed; `search` is the
FTS5 table over its words with the same rowid. A damaged file is moved aside and an empty one takes its place.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSION = 1
SHARED = ""
_DDL = """
CREATE TABLE pages (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, title TEXT NOT NULL,
  published TEXT, fetched_at REAL NOT NULL, favicon TEXT, hash TEXT NOT NULL, content BLOB NOT NULL,
  UNIQUE (url, owner)
);
CREATE INDEX pages_by_age ON pages (fetched_at);
CREATE VIRTUAL TABLE search USING fts5(
  title, headings, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row);
"""


class DamagedIndex(Exception):
    """The file is not a database, or one whose pages contradict each other."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, made or upgraded as needed. Raises DamagedIndex, sqlite3.Error."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cache_size=-16000")
        connection.execute("PRAGMA mmap_size=0")
        _upgrade(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        if is_damage(error):
            raise DamagedIndex(str(error)) from error
        raise
    return connection


def _upgrade(connection: sqlite3.Connection) -> None:
    """Version 0 is an empty file. A version we do not know is treated as damage: the file is moved aside, kept."""
    with transaction(connection):
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == VERSION:
            return
        if version != 0:
            raise sqlite3.DatabaseError(f"malformed: schema version {version} is not {VERSION}")
        for statement in _DDL.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def is_damage(error: sqlite3.Error) -> bool:
    """True for errors that only a new file can mend."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in text or "not a database" in text


def set_aside(path: Path) -> Path | None:
    """Moves a damaged file out of the way, once even if several processes find it; returns where it went."""
    with (path.parent / (path.name + ".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            open_database(path).close()
            if _sound(path):
                return None
        except (DamagedIndex, sqlite3.Error):
            pass
        target = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
        if path.exists():
            path.rename(target)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return target


def _sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    finally:
        connection.close()
