"""The search index's file: its tables, its version and the way from older ones, and what happens when it is damaged.

One SQLite database in WAL mode. `pages` holds one row per page and owner, the content compressed; `passages` says where
the page's passages begin and end and under which headings (one a line); `passage_search` is the FTS5 table over their
words with the same rowid. Pages whose `passages` are still to be written (`is_cut` 0, left by an older version) are not
found until the writer has caught up with them. `user_version` says how many of STEPS the file has been through; the
missing ones are done in order, in one transaction, so that a crash leaves either the old shape or the new. A damaged
file, or one that a newer gateway wrote, is moved aside, and an empty one takes its place.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SHARED = ""
KEPT_ASIDE = 3
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE pages (
          id INTEGER PRIMARY KEY, url TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, title TEXT NOT NULL,
          published TEXT, fetched_at REAL NOT NULL, favicon TEXT, hash TEXT NOT NULL, content BLOB NOT NULL,
          UNIQUE (url, owner)
        )""",
        "CREATE INDEX pages_by_age ON pages (fetched_at)",
        """CREATE VIRTUAL TABLE search USING fts5(
          title, headings, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'
        )""",
        "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row)",
    ),
    # 2: how common a word is, is now asked of the index itself, through its own stemmer
    ("DROP TABLE vocabulary",),
    # 3: passages are ranked instead of pages
    (
        "DROP TABLE search",
        "ALTER TABLE pages ADD COLUMN is_cut INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX pages_to_cut ON pages (id) WHERE is_cut = 0",
        """CREATE TABLE passages (
          id INTEGER PRIMARY KEY, page INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
          headings TEXT NOT NULL
        )""",
        "CREATE INDEX passages_by_page ON passages (page)",
        """CREATE VIRTUAL TABLE passage_search USING fts5(
          title, path, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'
        )""",
    ),
)
VERSION = len(STEPS)


_INCREMENTAL = 2
"""What `PRAGMA auto_vacuum` says of a file that can give space back."""


class DamagedIndex(Exception):
    """The file is not a database, or one whose pages contradict each other. The text is the end of a sentence."""


class NewerIndex(DamagedIndex):
    """A later version of the gateway wrote the file; this one must not guess at its shape."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, made or upgraded as needed. Raises DamagedIndex, sqlite3.Error."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            # Takes effect on a file that is yet to be made. On any other it is a write, which a full disk refuses.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA journal_size_limit=16777216")
        connection.execute("PRAGMA cache_size=-8000")
        connection.execute("PRAGMA mmap_size=0")
        upgrade(connection)
    except DamagedIndex:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        if is_damage(error):
            raise DamagedIndex("was damaged") from error
        raise
    return connection


def upgrade(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Does the steps the file has not been through; version 0 is an empty file. Raises NewerIndex, sqlite3.Error."""
    if _version(connection) == len(steps):
        return
    with transaction(connection):
        version = _version(connection)  # another process may have been here meanwhile
        if version > len(steps):
            raise NewerIndex(f"was written by a newer gateway (schema {version}, this one knows {len(steps)})")
        for step in steps[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(steps)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_damage(error: sqlite3.Error) -> bool:
    """True for errors that only a new file can mend."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in text or "not a database" in text


def set_aside(path: Path) -> Path | None:
    """Moves an unusable file out of the way, once even if several processes find it; returns where it went.

    Raises sqlite3.Error when it cannot be told whether the file is unusable.
    """
    with (path.parent / (path.name + ".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kind = "damaged"
        try:
            open_database(path).close()
            if _sound(path):
                return None
        except NewerIndex:
            kind = "newer"
        except DamagedIndex:
            pass
        except sqlite3.DatabaseError as error:
            if not is_damage(error):  # locked, say, or no descriptors left: the file itself may be sound
                raise
        target = path.with_name(f"{path.name}.{kind}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
        if path.exists():
            path.rename(target)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        for old in sorted(path.parent.glob(f"{path.name}.damaged-*"), key=lambda file: file.name)[:-KEPT_ASIDE]:
            old.unlink(missing_ok=True)
        return target


def _sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    finally:
        connection.close()
