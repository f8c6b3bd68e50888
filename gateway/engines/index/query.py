"""Ranking in the local index: BM25 over quoted words, a feedback pass where it pays, fused by reciprocal rank.

Runs in a reader thread on one connection. FTS5's query syntax never sees a caller's text: each word is quoted.
"""

import math
import sqlite3
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

from gateway.engines.text.tokens import CJK, STOP_WORDS, WORD, bigrams, fold

WEIGHTS = "4.0, 2.0, 1.0, 2.0, 1.0, 0.0"
_CANDIDATES = 100
_RRF_K = 20
_FEEDBACK_PAGES = 3
_FEEDBACK_TERMS = 12
_FEEDBACK_MAX_PAGES = 20_000
_MAX_TERMS = 32
_ROW_BUDGET = 12_000
_LOOKED_CLOSER_AT = 6


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """`owners` are those whose pages may be found. Dates bound the publication date, or the fetch date without one.

    `phrases` must all occur as they stand. Pages fetched before `not_before` (Unix time) have had their time.
    """

    text: str
    owners: tuple[str, ...]
    count: int = 10
    phrases: tuple[str, ...] = ()
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    start: date | None = None
    end: date | None = None
    feedback: bool = True
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A found page; `score` is 0 to 1, the best has 1."""

    url: str
    title: str
    content: str
    score: float
    published: str | None
    favicon: str | None


def owner_token(owner: str) -> str:
    """An owner as one word of the index that no stemmer changes."""
    return f"o{owner.encode().hex()}7"


def query_words(text: str) -> tuple[list[str], list[str]]:
    """(words without stop words, CJK bigrams), each once, in order."""
    words: dict[str, None] = {}
    for word in WORD.findall(fold(text)):
        if not CJK.search(word):
            words.setdefault(word.replace("’", "'"))
    kept = [word for word in words if word not in STOP_WORDS] or list(words)
    return kept[:_MAX_TERMS], list(dict.fromkeys(bigrams(text)))[:_MAX_TERMS]


def run(connection: sqlite3.Connection, query: IndexQuery) -> list[IndexHit]:
    """The best `count` pages; several owners' copies of one page count once."""
    words, pairs = query_words(query.text)
    if not words and not pairs and not query.phrases:
        return []
    total = _bounded_count(connection, "SELECT 1 FROM pages", (), _FEEDBACK_MAX_PAGES + 1)
    small = total <= _FEEDBACK_MAX_PAGES
    recent_from = 0
    if words and not query.phrases and not small:
        words, recent_from = _affordable(connection, query, words)
    ranking = _ranked(connection, query, (words, pairs), recent_from)
    # The feedback pass costs a second query: only an index of moderate size can afford it.
    if query.feedback and words and ranking and not query.phrases and small:
        more = _expansion(connection, [rowid for rowid, _ in ranking[:_FEEDBACK_PAGES]], words, total)
        if more:
            ranking = _fed_back(ranking, _ranked(connection, query, (more, []), 0))
    return _hits(connection, ranking, query)


def _bounded_count(connection: sqlite3.Connection, rows: str, values: tuple[str, ...], limit: int) -> int:
    """How many rows there are, without counting past `limit`."""
    sql = f"SELECT count(*) FROM ({rows} LIMIT ?)"  # noqa: S608 - constants only
    return int(connection.execute(sql, (*values, limit)).fetchone()[0])


def _pages_with(connection: sqlite3.Connection, match: str) -> int:
    """How many pages match, not counted past the row budget."""
    return _bounded_count(connection, "SELECT 1 FROM search WHERE search MATCH ?", (match,), _ROW_BUDGET + 1)


def _affordable(connection: sqlite3.Connection, query: IndexQuery, words: list[str]) -> tuple[list[str], int]:
    """In a large index: the words that tell pages apart, rarest first, as far as ranking them all stays cheap.

    Words that nearly every page has add little to a ranking and cost the most. When all are such, the newest pages
    that have them must do: the second value is the row to begin at. A word that is common in all may be rare among
    the pages that may be found, so those are counted where it matters, for a few words.
    """
    counts = {word: _pages_with(connection, _quoted(word)) for word in words}
    for word in [word for word in words if counts[word] > _ROW_BUDGET][:_LOOKED_CLOSER_AT]:
        counts[word] = _pages_with(connection, _match(query, [word], []))
    rarest = sorted(words, key=lambda word: counts[word])
    if counts[rarest[0]] > _ROW_BUDGET:
        common = rarest[:_LOOKED_CLOSER_AT]
        sql = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = connection.execute(sql, (_match(query, common, []), _ROW_BUDGET)).fetchone()
        return common, int(row[0]) if row else 0
    total = 0
    kept: list[str] = []
    for word in rarest:
        total += counts[word]
        if kept and total > _ROW_BUDGET:
            break
        kept.append(word)
    return kept, 0


def _ranked(
    connection: sqlite3.Connection, query: IndexQuery, terms: tuple[list[str], list[str]], recent_from: int
) -> list[tuple[int, float]]:
    """(rowid, positive score) of the candidates, best first. `terms` are words and CJK pairs."""
    words, pairs = terms
    conditions, values = _conditions(query)
    if recent_from:
        conditions += " AND search.rowid > ?"
        values.append(recent_from)
    source = (
        "search JOIN pages ON pages.id = search.rowid" if "host" in conditions or "coalesce" in conditions else "search"
    )
    sql = (
        f"SELECT search.rowid, -bm25(search, {WEIGHTS}) AS s FROM {source}"  # noqa: S608 - constants only
        f" WHERE search MATCH ?{conditions} ORDER BY s DESC LIMIT {_CANDIDATES}"
    )
    match = _match(query, words, pairs)
    return [(int(rowid), float(score)) for rowid, score in connection.execute(sql, [match, *values])]


def _match(query: IndexQuery, words: list[str], pairs: list[str]) -> str:
    owners = " OR ".join(_quoted(owner_token(owner)) for owner in query.owners)
    parts = [f"owner : ({owners})"]
    either: list[str] = []
    if words:
        either += map(_quoted, words)  # of all columns: a column filter costs more than it could keep out
    if pairs:
        either.append("cjk : (" + " OR ".join(map(_quoted, pairs)) + ")")
    if query.phrases:
        parts += [_phrase(phrase) for phrase in query.phrases]
    elif either:
        parts.append("(" + " OR ".join(either) + ")")
    return " AND ".join(parts)


def _phrase(phrase: str) -> str:
    """Pages that may hold the phrase: the words stemmed, CJK as its pairs; `_hits` looks closer."""
    pairs = bigrams(fold(phrase))
    if not pairs:
        return f"{{title headings body}} : {_quoted(phrase)}"
    rest = [word for word in WORD.findall(fold(phrase)) if not CJK.search(word)]
    return " AND ".join([f"cjk : ({' AND '.join(map(_quoted, pairs))})", *map(_quoted, rest)])


def _plain(text: str) -> str:
    return " ".join(WORD.findall(fold(text)))


def _holds(plain: str, phrases: list[str]) -> bool:
    """True when every phrase stands there in whole words; CJK needs no blank around it."""
    padded = f" {plain} "
    return all(
        ("" if CJK.match(phrase[:1]) else " ") + phrase + ("" if CJK.match(phrase[-1:]) else " ") in padded
        for phrase in phrases
    )


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""').replace("\x00", "") + '"'


def _conditions(query: IndexQuery) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    if query.include_domains:
        clauses.append("(" + " OR ".join(["host = ? OR host LIKE ? ESCAPE '!'"] * len(query.include_domains)) + ")")
        values += _suffixes(query.include_domains)
    for pair in zip(*[iter(_suffixes(query.exclude_domains))] * 2, strict=True):
        clauses.append("NOT (host = ? OR host LIKE ? ESCAPE '!')")
        values += pair
    day = "coalesce(published, date(fetched_at, 'unixepoch'))"
    if query.start is not None:
        clauses.append(f"{day} >= ?")
        values.append(query.start.isoformat())
    if query.end is not None:
        clauses.append(f"{day} <= ?")
        values.append(query.end.isoformat())
    return "".join(f" AND {clause}" for clause in clauses), values


def _suffixes(domains: tuple[str, ...]) -> list[str]:
    out: list[str] = []
    for domain in domains:
        escaped = domain.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        out += [domain, f"%.{escaped}"]
    return out


def _expansion(connection: sqlite3.Connection, rowids: list[int], words: list[str], total: int) -> list[str]:
    """Words that the best pages share and others of the `total` seldom have."""
    counts: Counter[str] = Counter()
    for rowid in rowids:
        row = connection.execute("SELECT title, body FROM search WHERE rowid = ?", (rowid,)).fetchone()
        bag = Counter(WORD.findall(fold(f"{row[0]} {row[1][:8000]}")))
        size = max(sum(bag.values()), 1)
        for word, count in bag.items():
            if len(word) > 2 and word not in STOP_WORDS and not word.isdecimal():
                counts[word] += count * 1000 // size
    candidates = [word for word, _ in counts.most_common(30) if word not in words]
    scored = [
        (counts[word] * math.log(1 + total / (_pages_with(connection, _quoted(word)) + 1)), word) for word in candidates
    ]
    return [word for _, word in sorted(scored, reverse=True)[:_FEEDBACK_TERMS]]


def _fed_back(first: list[tuple[int, float]], more: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The first ranking fused with what it becomes once the added words' scores are counted in (BM25 is a sum)."""
    scores = dict(first)
    for rowid, score in more:
        scores[rowid] = scores.get(rowid, 0.0) + score
    return _fused(first, sorted(scores.items(), key=lambda item: -item[1])[:_CANDIDATES])


def _fused(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for ranking in (one, other):
        for rank, (rowid, _) in enumerate(ranking):
            scores[rowid] = scores.get(rowid, 0.0) + 1 / (_RRF_K + rank + 1)
    return sorted(scores.items(), key=lambda item: -item[1])


def _hits(connection: sqlite3.Connection, ranking: list[tuple[int, float]], query: IndexQuery) -> list[IndexHit]:
    phrases = [_plain(phrase) for phrase in query.phrases]
    hits: list[IndexHit] = []
    seen: set[str] = set()
    top = ranking[0][1] if ranking else 1.0
    for rowid, score in ranking:
        row = connection.execute(
            "SELECT url, title, content, published, favicon FROM pages WHERE id = ? AND fetched_at >= ?",
            (rowid, query.not_before),
        ).fetchone()
        if row is None or row[0] in seen:
            continue
        try:
            text = zlib.decompress(row[2]).decode()
        except (zlib.error, UnicodeDecodeError):
            continue  # one damaged page hides no other
        if phrases and not _holds(_plain(f"{row[1]} {text}"), phrases):
            continue
        seen.add(row[0])
        share = score / top if top > 0 else 1.0
        hits.append(IndexHit(row[0], row[1], text, round(max(share, 0.0), 4), row[3], row[4]))
        if len(hits) == query.count:
            break
    return hits
