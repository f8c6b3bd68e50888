"""Ranks the pages of the local index for a query: BM25, and in a small index a feedback pass, fused by rank.

Runs in a reader thread on one connection. FTS5 never parses a caller's text as query syntax: each word is quoted.
Sources: SQLite's FTS5 documentation; Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion" (2009).
Quality is measured with `python -m bench.cranfield`, speed in a large index with `python -m bench.index`.
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
"""BM25 weights of the columns title, headings, body, url, cjk, owner. Chosen: a title names its subject. At half, long
bodies win over pages whose title is the query; at double, a title with one query word wins over a page with them
all."""
_CANDIDATES = 100
"""Pages ranked for one search. Chosen: a search returns at most 20; owners' copies of one
page and pages without the exact phrase are dropped from the candidates, so half could return too few; double reads more
rows for nothing else."""
_RRF_K = 20
"""Chosen below the paper's 60, as only two short rankings are fused: half lets the first rank of either decide
alone, double hardly tells the ranks apart."""
_FEEDBACK_PAGES = 3
_FEEDBACK_TERMS = 12
"""Pages whose words are added to the query, and how many words. Chosen: more pages or words add subjects that were not
asked for and make the second query dearer; fewer change no ranking."""
_FEEDBACK_TEXT_CHARS = 8_000
_FEEDBACK_CANDIDATES = 30
"""Beginning of each such page that is read, and the frequent words of which the rarest are picked. Chosen: each
candidate costs one count in the index."""
_FEEDBACK_MAX_PAGES = 20_000
"""Largest index with a feedback pass, and largest whose queries are not limited to `_ROW_BUDGET`. Chosen with
bench.index: the second query costs as much as the first."""
_MAX_TERMS = 32
"""Words, and CJK pairs, of a query that count. Chosen: questions have fewer; each word costs a walk over its pages."""
_ROW_BUDGET = 12_000
"""Rows ranked in a large index. Chosen with bench.index, which wants 150 ms at the 95th percentile over 100,000 pages:
double takes about twice as long, half drops more of the common words."""
_RECOUNTED_WORDS = 6
"""Common words that are counted again among the owner's pages; each count walks up to `_ROW_BUDGET` rows."""


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """One search. It finds pages of `owners` alone, fetched at `not_before` (Unix time) or later.

    Each of `phrases` must occur word for word. `start` and `end` bound the publication date, or the fetch date of a
    page without one; both days are included. `feedback` allows the feedback pass.
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
    """A found page. `score` is 0 to 1, 1 for the best page; `published` is an ISO date."""

    url: str
    title: str
    content: str
    score: float
    published: str | None
    favicon: str | None


def owner_token(owner: str) -> str:
    """An owner as one word of the index that the stemmer does not change."""
    return f"o{owner.encode().hex()}7"


def query_words(text: str) -> tuple[list[str], list[str]]:
    """(words, CJK bigrams) of a query, each once and in order. Stop words count only when there are no others."""
    words: dict[str, None] = {}
    for word in WORD.findall(fold(text)):
        if not CJK.search(word):
            words.setdefault(word.replace("’", "'"))
    chosen = [word for word in words if word not in STOP_WORDS] or list(words)
    return chosen[:_MAX_TERMS], list(dict.fromkeys(bigrams(text)))[:_MAX_TERMS]


def run(connection: sqlite3.Connection, query: IndexQuery) -> list[IndexHit]:
    """The best `query.count` pages, best first; several owners' copies of one page count once. Raises sqlite3.Error."""
    words, pairs = query_words(query.text)
    if not words and not pairs and not query.phrases:
        return []
    total = _bounded_count(connection, "SELECT 1 FROM pages", (), _FEEDBACK_MAX_PAGES + 1)
    small = total <= _FEEDBACK_MAX_PAGES
    recent_from = 0
    if words and not query.phrases and not small:
        words, recent_from = _limit_cost(connection, query, words)
    ranking = _ranked(connection, query, (words, pairs), recent_from)
    if query.feedback and words and ranking and not query.phrases and small:
        more = _expansion(connection, [rowid for rowid, _ in ranking[:_FEEDBACK_PAGES]], words, total)
        if more:
            ranking = _add_feedback(ranking, _ranked(connection, query, (more, []), 0))
    return _hits(connection, ranking, query)


def _bounded_count(connection: sqlite3.Connection, rows: str, values: tuple[str, ...], limit: int) -> int:
    """How many rows there are, without counting past `limit`."""
    sql = f"SELECT count(*) FROM ({rows} LIMIT ?)"  # noqa: S608 - constants only
    return int(connection.execute(sql, (*values, limit)).fetchone()[0])


def _pages_with(connection: sqlite3.Connection, match: str) -> int:
    """How many pages match, not counted past the row budget."""
    return _bounded_count(connection, "SELECT 1 FROM search WHERE search MATCH ?", (match,), _ROW_BUDGET + 1)


def _limit_cost(connection: sqlite3.Connection, query: IndexQuery, words: list[str]) -> tuple[list[str], int]:
    """(the rarest words whose pages together stay within `_ROW_BUDGET`, the row to begin at).

    Words that nearly every page has add little to a ranking and cost the most. When every word is so common, the
    newest pages with one of them are ranked alone: those after the returned row, which is else 0. A word that is
    common in the index may be rare among the owners' pages, so a few such words are counted again there.
    """
    counts = {word: _pages_with(connection, _quoted(word)) for word in words}
    for word in [word for word in words if counts[word] > _ROW_BUDGET][:_RECOUNTED_WORDS]:
        counts[word] = _pages_with(connection, _match(query, [word], []))
    rarest = sorted(words, key=lambda word: counts[word])
    if counts[rarest[0]] > _ROW_BUDGET:
        common = rarest[:_RECOUNTED_WORDS]
        sql = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = connection.execute(sql, (_match(query, common, []), _ROW_BUDGET)).fetchone()
        return common, int(row[0]) if row else 0
    total = 0
    chosen: list[str] = []
    for word in rarest:
        total += counts[word]
        if chosen and total > _ROW_BUDGET:
            break
        chosen.append(word)
    return chosen, 0


def _ranked(
    connection: sqlite3.Connection, query: IndexQuery, terms: tuple[list[str], list[str]], recent_from: int
) -> list[tuple[int, float]]:
    """(rowid, positive score) of the candidates, best first. `terms` are (words, CJK bigrams)."""
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
    clauses = [f"owner : ({owners})"]
    alternatives: list[str] = []
    if words:
        alternatives += map(_quoted, words)  # in all columns: a column filter costs more than the rows it would exclude
    if pairs:
        alternatives.append("cjk : (" + " OR ".join(map(_quoted, pairs)) + ")")
    if query.phrases:
        clauses += [_phrase(phrase) for phrase in query.phrases]
    elif alternatives:
        clauses.append("(" + " OR ".join(alternatives) + ")")
    return " AND ".join(clauses)


def _phrase(phrase: str) -> str:
    """An FTS5 expression for pages that may contain the phrase (stemmed words, CJK bigrams); `_hits` checks the
    text."""
    pairs = bigrams(fold(phrase))
    if not pairs:
        return f"{{title headings body}} : {_quoted(phrase)}"
    rest = [word for word in WORD.findall(fold(phrase)) if not CJK.search(word)]
    return " AND ".join([f"cjk : ({' AND '.join(map(_quoted, pairs))})", *map(_quoted, rest)])


def _fold_words(text: str) -> str:
    return " ".join(WORD.findall(fold(text)))


def _contains_phrases(plain: str, phrases: list[str]) -> bool:
    """True when the text contains every phrase in whole words; CJK needs no blank around it."""
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
    patterns: list[str] = []
    for domain in domains:
        escaped = domain.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        patterns += [domain, f"%.{escaped}"]
    return patterns


def _expansion(connection: sqlite3.Connection, rowids: list[int], words: list[str], total: int) -> list[str]:
    """The words to add to a query: frequent in the pages `rowids`, rare among the `total` pages of the index."""
    counts: Counter[str] = Counter()
    for rowid in rowids:
        row = connection.execute("SELECT title, body FROM search WHERE rowid = ?", (rowid,)).fetchone()
        bag = Counter(WORD.findall(fold(f"{row[0]} {row[1][:_FEEDBACK_TEXT_CHARS]}")))
        size = max(sum(bag.values()), 1)
        for word, count in bag.items():
            if len(word) > 2 and word not in STOP_WORDS and not word.isdecimal():
                counts[word] += count * 1000 // size
    candidates = [word for word, _ in counts.most_common(_FEEDBACK_CANDIDATES) if word not in words]
    scored = [
        (counts[word] * math.log(1 + total / (_pages_with(connection, _quoted(word)) + 1)), word) for word in candidates
    ]
    return [word for _, word in sorted(scored, reverse=True)[:_FEEDBACK_TERMS]]


def _add_feedback(first: list[tuple[int, float]], more: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The first ranking, fused with the ranking for all words: its scores plus those of the added words.

    The sum equals one query for all words, as BM25 adds up over words."""
    scores = dict(first)
    for rowid, score in more:
        scores[rowid] = scores.get(rowid, 0.0) + score
    return _fuse(first, sorted(scores.items(), key=lambda item: -item[1])[:_CANDIDATES])


def _fuse(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for ranking in (one, other):
        for rank, (rowid, _) in enumerate(ranking):
            scores[rowid] = scores.get(rowid, 0.0) + 1 / (_RRF_K + rank + 1)
    return sorted(scores.items(), key=lambda item: -item[1])


def _hits(connection: sqlite3.Connection, ranking: list[tuple[int, float]], query: IndexQuery) -> list[IndexHit]:
    phrases = [_fold_words(phrase) for phrase in query.phrases]
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
            continue  # a damaged page is left out, the others are found
        if phrases and not _contains_phrases(_fold_words(f"{row[1]} {text}"), phrases):
            continue
        seen.add(row[0])
        share = score / top if top > 0 else 1.0
        hits.append(IndexHit(row[0], row[1], text, round(max(share, 0.0), 4), row[3], row[4]))
        if len(hits) == query.count:
            break
    return hits
