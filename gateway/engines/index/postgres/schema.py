"""The tables of the index in PostgreSQL, and upgrades from older versions.

`gateway_pages` and `gateway_passages` have what `pages` and `passages` have in SQLite (`engines.index.rows`). A
passage's `words` are those that FTS5 has (`tokens`), for finding it; `frequencies` and `length` are what BM25 counts.
`gateway_index` holds the number of STEPS that the database has been through; the missing ones run in one transaction,
of one gateway at a time. Needs PostgreSQL 14 or newer and no extension. Texts compare by bytes, as in SQLite.
`url_digest` is the SHA-256 of the address, which may be longer than an index takes.
"""

from gateway.engines.index.postgres.connections import Database, IndexUnavailable

UPGRADE_LOCK, UPKEEP_LOCK = 7_203_451_001, 7_203_451_002
"""Numbers of advisory locks: who upgrades, and who deletes old pages."""
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE gateway_pages (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text COLLATE "C" NOT NULL,
          url_digest bytea NOT NULL, owner text COLLATE "C" NOT NULL, host text COLLATE "C" NOT NULL,
          title text NOT NULL, published text COLLATE "C", fetched_at double precision NOT NULL, favicon text,
          hash text NOT NULL, content bytea NOT NULL, passages integer NOT NULL, tokens bigint NOT NULL
        )""",
        "ALTER TABLE gateway_pages ALTER content SET STORAGE EXTERNAL",  # it is compressed already
        "CREATE UNIQUE INDEX gateway_pages_by_url ON gateway_pages (url_digest, owner)",
        "CREATE INDEX gateway_pages_by_age ON gateway_pages (fetched_at)",
        "CREATE INDEX gateway_pages_sizes ON gateway_pages (passages, tokens)",
        """CREATE TABLE gateway_passages (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          page bigint NOT NULL REFERENCES gateway_pages ON DELETE CASCADE, owner text COLLATE "C" NOT NULL,
          first integer NOT NULL, last integer NOT NULL, headings text NOT NULL,
          words tsvector NOT NULL, frequencies jsonb NOT NULL, length integer NOT NULL
        )""",
        "CREATE INDEX gateway_passages_by_page ON gateway_passages (page)",
        # fastupdate = off: a list of pending words would be read by every search until it is merged
        "CREATE INDEX gateway_passages_by_word ON gateway_passages USING gin (words) WITH (fastupdate = off)",
    ),
)


def upgrade(connection: Database) -> None:
    """Runs the steps that are missing. Raises psycopg.Error, IndexUnavailable."""
    connection.execute(b"SET client_min_messages = 'warning'")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (UPGRADE_LOCK,))
        connection.execute(b"CREATE TABLE IF NOT EXISTS gateway_index (version integer NOT NULL)")
        row = connection.execute(b"SELECT version FROM gateway_index").fetchone()
        version = int(row[0]) if row else 0
        if version > len(STEPS):
            raise IndexUnavailable(f"was written by a newer gateway (schema {version}, this one knows {len(STEPS)})")
        for step in STEPS[version:]:
            for statement in step:
                connection.execute(statement.encode())
        if row is None:
            connection.execute("INSERT INTO gateway_index (version) VALUES (%s)", (len(STEPS),))
        elif version < len(STEPS):
            connection.execute("UPDATE gateway_index SET version = %s", (len(STEPS),))
