"""The search index's file: its tables, upgrades from older versions, and the recovery of a damaged file.

One SQLite database in WAL mode. `pages` has one row per page and owner, its content compressed with zlib; `passages`
has a row for each passage of a page: where it begins and ends and its headings, one a line; `passage_search` is the
FTS5 table over the passages' words, with the same rowid; `vectors` has a row for each passage with `is_embedded` 1
(see `unembedded`), and loses it with the passage. Pages with `is_cut` 0 come from an older version and are not
found until the writer has cut them (see `store`). `PRAGMA user_version` is the number of STEPS the file has been
through; the missing ones run in order in one transaction, so that a crash leaves either the old schema or the new one.
A damaged file, or one that a newer gateway wrote, is moved aside and an empty one takes its place."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.shared_state.sqlite_state import own_file

MAX_DAMAGED_FILES = 3
"""Damaged files that are kept for the operator."""
_BUSY_TIMEOUT_S = 10
"""Wait for another process's write."""
SEARCH_COLUMNS = "title, path, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'"
"""Columns and tokenizer of `passage_search`; what is cut otherwise needs a new step."""
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
    # 2: a word's frequency is counted with a query of `search`, which applies the stemmer
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
        f"CREATE VIRTUAL TABLE passage_search USING fts5({SEARCH_COLUMNS})",
    ),
    # 4: passages have vectors, made after them; AUTOINCREMENT: a number is used once, so readers can ask for newer ones
    (
        "ALTER TABLE passages ADD COLUMN is_embedded INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX passages_to_embed ON passages (id) WHERE is_embedded = 0",
        """CREATE TABLE vectors (
          id INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL UNIQUE, vector BLOB NOT NULL
        )""",
        """CREATE TRIGGER vectors_go_with_passages AFTER DELETE ON passages
          BEGIN DELETE FROM vectors WHERE passage = old.id; END""",
        "CREATE TABLE vector_model (version TEXT NOT NULL)",
    ),
)
VERSION = len(STEPS)
_INCREMENTAL = 2
"""Value of `PRAGMA auto_vacuum` for a file whose free pages can be returned to the disk."""
_LOG_BYTES = 16_777_216
_CACHE_KIB = 8_000
"""Size to which the write-ahead log is cut after a checkpoint, and page cache of one connection, of which there are
three."""


class DamagedIndex(Exception):
    """The file is not a database, or an inconsistent one. The message continues "the index …"."""


class NewerIndex(DamagedIndex):
    """A later version of the gateway wrote the file, with a schema that this one does not know."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, which is created or upgraded if needed. Raises DamagedIndex,
    sqlite3.Error."""
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            # Only a new file takes the setting. On an old one it would be a write, which a full disk refuses.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        connection.execute("PRAGMA mmap_size=0")
        upgrade(connection)
        _merge_by_itself(connection)
        _index_owners(connection)
    except DamagedIndex:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        if is_damage(error):
            raise DamagedIndex("was damaged") from error
        raise
    return connection


def _merge_by_itself(connection: sqlite3.Connection) -> None:
    """FTS5 merges its segments by its own defaults, which version 0.3 switched off in its files. This is no step: 0.3
    still opens the file. A full disk keeps the setting."""
    if connection.execute("SELECT v FROM passage_search_config WHERE k = 'automerge'").fetchone() == (0,):
        with suppress(sqlite3.OperationalError), transaction(connection):
            for name, value in (("automerge", 4), ("crisismerge", 16)):
                connection.execute("INSERT INTO passage_search (passage_search, rank) VALUES (?, ?)", (name, value))


def _index_owners(connection: sqlite3.Connection) -> None:
    """A search asks whether there are pages of others. This is no step either, for 0.4; without it that is slower."""
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'pages_by_owner'").fetchone() is None:
        with suppress(sqlite3.OperationalError), transaction(connection):
            connection.execute("CREATE INDEX IF NOT EXISTS pages_by_owner ON pages (owner)")


def upgrade(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Runs the steps that the file has not been through; version 0 is an empty file.

    Raises NewerIndex, sqlite3.Error.
    """
    if _version(connection) == len(steps):
        return
    with transaction(connection):
        version = _version(connection)  # another process may have upgraded it meanwhile
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
    """A write transaction: committed at the end of the block, rolled back when the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_damage(error: sqlite3.Error) -> bool:
    """True for errors that only a new file cures."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in text or "not a database" in text


def set_aside(path: Path) -> Path | None:
    """Renames an unusable file and returns its new path; None when the file is usable.

    A lock file makes several processes that find it damaged rename it once. Raises sqlite3.Error when it is unknown
    whether the file is damaged, for instance because it is locked.
    """
    with os.fdopen(own_file(path.parent / (path.name + ".lock")), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kind = "damaged"
        try:
            open_database(path).close()
            if _is_intact(path):
                return None
        except NewerIndex:
            kind = "newer"
        except DamagedIndex:
            pass
        except sqlite3.DatabaseError as error:
            if not is_damage(error):  # for instance locked, or no file descriptors left: the file itself may be intact
                raise
        target = path.with_name(f"{path.name}.{kind}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
        if path.exists():
            path.rename(target)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        for old in sorted(path.parent.glob(f"{path.name}.damaged-*"), key=lambda file: file.name)[:-MAX_DAMAGED_FILES]:
            old.unlink(missing_ok=True)
        return target


def _is_intact(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    finally:
        connection.close()
