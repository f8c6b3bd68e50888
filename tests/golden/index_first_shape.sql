-- The first shape in full, as files in the field have it: kept here so that an edit of STEPS cannot change it unseen.
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
PRAGMA user_version = 1;
