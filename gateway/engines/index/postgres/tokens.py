"""The words of passages and of queries as SQLite's FTS5 cuts and stems them, for PostgreSQL to keep.

A table in memory with the columns and the tokenizer of `passage_search` cuts them, so both stores have the same words
by construction. PostgreSQL's own parser is not used: it takes `a-b`, `/etc/hosts` and `v1.2` for one word each.
One thread uses it.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.engines.index.rows import SEARCH_COLUMNS
from gateway.engines.index.signals import WEIGHTS

LABELS = {"title": "A", "path": "B", "body": "D", "url": "C", "cjk": "D"}
"""The label (of PostgreSQL's four) that tells a column in a vector. CJK pairs are told apart by their prefix."""
_CJK = "cjk:"
_MOST_TOKEN_CHARS = 200
"""Beginning of a word that is kept. Chosen: PostgreSQL takes 2,046 bytes, and no word of any language is so long; at
half names of generated code are confused, at double only noise is told apart."""
_COLUMN_GAP = 2
"""Between the last place of a column and the first of the next: no phrase reaches from one to the other."""


@dataclass(frozen=True, slots=True)
class PassageWords:
    """`vector`: text of a tsvector. `frequencies`: word to the weights of the columns it stands in, added up for each
    occurrence (see `bm25`). `length`: all tokens."""

    vector: str
    frequencies: dict[str, float]
    length: int


class Tokenizer:
    """Cuts texts as the SQLite index does. Its memory is freed with it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute(f"CREATE VIRTUAL TABLE words USING fts5({SEARCH_COLUMNS}, content = '')")
        self._database.execute("CREATE VIRTUAL TABLE places USING fts5vocab(words, instance)")

    def passages(self, rows: Sequence[tuple[str, ...]]) -> list[PassageWords]:
        """The words of rows as `passage_rows.search_row` makes them."""
        return [_passage_words(places) for places in self._places(rows)]

    def phrases(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """The words of each text, in order: one, or several for a name such as `a_b`; none for punctuation alone."""
        rows = [("", "", text, "", "", "") for text in texts]
        return [tuple(word for _, word in places["body"]) for places in self._places(rows)]

    def _places(self, rows: Sequence[tuple[str, ...]]) -> list[dict[str, list[tuple[int, str]]]]:
        """For each row: column to the places in it and the words there, in order."""
        found: list[dict[str, list[tuple[int, str]]]] = [{column: [] for column in WEIGHTS} for _ in rows]
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO words (rowid, title, path, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
            [(number, *row) for number, row in enumerate(rows, 1)],
        )
        for word, row, column, place in self._database.execute('SELECT term, doc, col, "offset" FROM places'):
            found[row - 1][column].append((place, word[:_MOST_TOKEN_CHARS]))
        self._database.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self._database.execute("COMMIT")
        for columns in found:
            for places in columns.values():
                places.sort()
        return found


def storable(text: str) -> str:
    """The text without what PostgreSQL's texts cannot hold: U+0000 and lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def cjk_word(pair: str) -> str:
    """The word under which the tsvector holds a CJK pair or a stem of another language."""
    return _CJK + pair


def lexeme(word: str) -> str:
    """A word in the text of a tsvector or tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _passage_words(columns: dict[str, list[tuple[int, str]]]) -> PassageWords:
    frequencies: dict[str, float] = {}
    positions: dict[str, list[str]] = {}
    base = 1
    for column, label in LABELS.items():
        places = columns[column]
        for place, word in places:
            name = cjk_word(word) if column == "cjk" else word
            frequencies[name] = frequencies.get(name, 0.0) + WEIGHTS[column]
            positions.setdefault(name, []).append(f"{base + place}{label}")
        base += (places[-1][0] if places else 0) + _COLUMN_GAP
    vector = " ".join(f"{lexeme(word)}:{','.join(each)}" for word, each in positions.items())
    return PassageWords(vector, frequencies, sum(map(len, columns.values())))
