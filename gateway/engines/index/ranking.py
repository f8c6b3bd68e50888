"""Ranking in the local index: passages by BM25, pages by their best passages, an absolute score.

1. BM25 finds the best passages of the caller's pages; in a large index only the words that tell pages apart are used.
2. A page's rank score is that of its best passage and a share of the next two, lowered for listings, source listings
   and release notes (`page_priors`).
3. A long query may be extended by words that the best passages share, and both rankings are fused.
4. The score shown is absolute: how much of the query's weight (by how rare its words are) one passage of the best pages
   holds, falling with the rank score.

Runs in a reader thread on one connection.
"""

import math
import sqlite3
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.query import (
    IndexHit,
    IndexQuery,
    QueryTerms,
    comparable,
    conditions,
    holds_all,
    match_expression,
    query_terms,
    quoted,
)
from gateway.engines.text.passages import Passage, plain_text
from gateway.engines.text.tokens import STOP_WORDS, WORD, fold, terms

WEIGHTS = "4.0, 2.0, 1.0, 2.0, 1.0, 0.0"
"""BM25 weights of title, headings, body, address, CJK pairs, owner."""

_CANDIDATES = 300
"""Passages that are ranked. Chosen: a page of a manual has up to 100 passages with a common word, and ten pages are
wanted; at half, long pages push others out, at double the look-up of their pages costs as much as the search."""

_NEXT_SHARE = 0.3
_NEXT_PASSAGES = 2
"""A page's rank score is its best passage plus this share of the next two. Measured (`bench.search_quality`): MRR@10 over
80 + 60 questions .70 and .67 with the best alone, .74 and .78 so; with a share of .5 both fall by .01."""

_FEEDBACK_PAGES = 5
_ABSTRACT_PASSAGES = 1
_RRF_K = 20
_FEEDBACK_PASSAGES = 3
_FEEDBACK_TERMS = 16
_FEEDBACK_LEAST_WORDS = 3
_FEEDBACK_MOST_PASSAGES = 40_000
"""Feedback: twelve words of the three best passages, fused by reciprocal rank. It pays for queries that are themselves
abstracts (Cranfield nDCG@10 .38 to .40) and drifts for short questions, so it needs nine words; it costs a second search, so
only an index of moderate size can afford it."""

_ROW_BUDGET = 12_000
_COUNTED_CLOSER = 6
"""Rows that BM25 may rank in a large index, and words counted within the caller's pages. Measured (`bench.index`, 100,000
pages): 12,000 rows take about 30 ms of CPU; at double the 95th percentile misses 60 ms."""

_FITS = 0.37
_FITS_SCORE = 0.3
"""The share of a query's weight that one passage must hold to fit, and the score that it is given there. Calibrated on 80
questions and 20 off-topic queries: at .37 18 of 20 are below and one of the 80."""


@dataclass(slots=True)
class _RankedPage:
    """`passages` are (row, BM25), best first."""

    row: int
    passages: list[tuple[int, float]]
    rank: float = 0.0


def run(connection: sqlite3.Connection, query: IndexQuery) -> list[IndexHit]:
    """The best `count` pages, best first; several owners' copies of one page count once. Raises sqlite3.Error."""
    asked = query_terms(query.text)
    if not asked and not query.phrases:
        return []
    total = _bounded_count(connection, "SELECT 1 FROM passages", (), _FEEDBACK_MOST_PASSAGES + 1)
    is_small = total <= _FEEDBACK_MOST_PASSAGES
    used, first_row = asked, 0
    if asked.words and not query.phrases and not is_small:
        used, first_row = _affordable(connection, query, asked)
    rows = _ranked_passages(connection, query, used, first_row)
    if query.feedback and len(asked.words) >= _FEEDBACK_LEAST_WORDS and is_small and not query.phrases and _are_abstracts(connection, rows):
        extra = _expansion(connection, [row for row, _, _ in rows[:_FEEDBACK_PASSAGES]], asked.words, total)
        rows = _fed_back(rows, _ranked_passages(connection, query, QueryTerms(extra, ()), 0)) if extra else rows
    pages = _by_page(connection, rows, query)
    return _hits(connection, pages, query, _word_weights(connection, asked, total))


def _bounded_count(connection: sqlite3.Connection, rows: str, values: Sequence[str], limit: int) -> int:
    """How many rows there are, not counted past `limit`."""
    sql = f"SELECT count(*) FROM ({rows} LIMIT ?)"  # noqa: S608 - constants only
    return int(connection.execute(sql, (*values, limit)).fetchone()[0])


def _passages_with(connection: sqlite3.Connection, match: str) -> int:
    """How many passages match, not counted past the row budget."""
    sql = "SELECT 1 FROM passage_search WHERE passage_search MATCH ?"
    return _bounded_count(connection, sql, (match,), _ROW_BUDGET + 1)


def _affordable(connection: sqlite3.Connection, query: IndexQuery, asked: QueryTerms) -> tuple[QueryTerms, int]:
    """In a large index: the words that tell passages apart, rarest first, as far as ranking them all stays cheap.

    Words that nearly every passage has add little to a ranking and cost the most. When all are such, the newest passages
    that have them are ranked: the second value is the row to begin after. A word that is common in all may be rare
    among the pages that may be found, so a few such words are counted there.
    """
    counts = {word: _passages_with(connection, quoted(word)) for word in asked.words}
    for word in [word for word in asked.words if counts[word] > _ROW_BUDGET][:_COUNTED_CLOSER]:
        counts[word] = _passages_with(connection, match_expression(query, QueryTerms((word,), ())))
    rarest = sorted(asked.words, key=lambda word: counts[word])
    if counts[rarest[0]] > _ROW_BUDGET:
        common = QueryTerms(tuple(rarest[:_COUNTED_CLOSER]), asked.pairs)
        sql = "SELECT rowid FROM passage_search WHERE passage_search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = connection.execute(sql, (match_expression(query, common), _ROW_BUDGET)).fetchone()
        return common, int(row[0]) if row else 0
    spent = 0
    kept: list[str] = []
    for word in rarest:
        spent += counts[word]
        if kept and spent > _ROW_BUDGET:
            break
        kept.append(word)
    return QueryTerms(tuple(kept), asked.pairs), 0


def _ranked_passages(
    connection: sqlite3.Connection, query: IndexQuery, used: QueryTerms, first_row: int
) -> list[tuple[int, int, float]]:
    """(row, row of its page, positive BM25) of the candidates, best first."""
    clauses, values = conditions(query)
    if first_row:
        clauses = f" AND passage_search.rowid > ?{clauses}"
        values = [first_row, *values]
    pages = " JOIN pages ON pages.id = passages.page" if "host" in clauses or "coalesce" in clauses else ""
    sql = (
        f"SELECT passage_search.rowid, passages.page, -bm25(passage_search, {WEIGHTS}) AS s"  # noqa: S608 - constants only
        f" FROM passage_search JOIN passages ON passages.id = passage_search.rowid{pages}"
        f" WHERE passage_search MATCH ?{clauses} ORDER BY s DESC LIMIT {_CANDIDATES}"
    )
    found = connection.execute(sql, [match_expression(query, used), *values])
    return [(int(row), int(page), float(score)) for row, page, score in found]


def _are_abstracts(connection: sqlite3.Connection, rows: list[tuple[int, int, float]]) -> bool:
    """Whether the best passages are (nearly) whole pages."""
    pages = list(dict.fromkeys(page for _, page, _ in rows))[:_FEEDBACK_PAGES]
    sql = "SELECT count(*) FROM (SELECT 1 FROM passages WHERE page = ? LIMIT 3)"
    return len(pages) == _FEEDBACK_PAGES and all(connection.execute(sql, (page,)).fetchone()[0] <= _ABSTRACT_PASSAGES for page in pages)


def _expansion(connection: sqlite3.Connection, rows: list[int], words: tuple[str, ...], total: int) -> tuple[str, ...]:
    """Words that the best passages share and others of the `total` seldom have."""
    counts: Counter[str] = Counter()
    for row in rows:
        title, body = connection.execute("SELECT title, body FROM passage_search WHERE rowid = ?", (row,)).fetchone()
        bag = Counter(WORD.findall(fold(f"{title} {body}")))
        size = max(sum(bag.values()), 1)
        for word, count in bag.items():
            if len(word) > 2 and word not in STOP_WORDS and not word.isdecimal():
                counts[word] += count * 1000 // size
    candidates = [word for word, _ in counts.most_common(30) if word not in words]
    scored = [
        (counts[word] * math.log(1 + total / (_passages_with(connection, quoted(word)) + 1)), word)
        for word in candidates
    ]
    return tuple(word for _, word in sorted(scored, reverse=True)[:_FEEDBACK_TERMS])


def _fed_back(first: list[tuple[int, int, float]], more: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """The first ranking fused with what it becomes once the added words' scores are counted in (BM25 is a sum)."""
    page_of = {row: page for row, page, _ in (*first, *more)}
    scores = {row: score for row, _, score in first}
    for row, _, score in more:
        scores[row] = scores.get(row, 0.0) + score
    summed = sorted(scores, key=lambda row: -scores[row])[:_CANDIDATES]
    fused: dict[int, float] = {}
    for ranking in ([row for row, _, _ in first], summed):
        for place, row in enumerate(ranking):
            fused[row] = fused.get(row, 0.0) + 1 / (_RRF_K + place + 1)
    return [(row, page_of[row], score) for row, score in sorted(fused.items(), key=lambda pair: -pair[1])]


def _by_page(
    connection: sqlite3.Connection, rows: list[tuple[int, int, float]], query: IndexQuery
) -> list[_RankedPage]:
    """The pages of the passages, best first."""
    pages: dict[int, _RankedPage] = {}
    for row, page, score in rows:
        pages.setdefault(page, _RankedPage(page, [])).passages.append((row, score))
    marks = ",".join("?" * len(pages))
    names = connection.execute(f"SELECT id, url, title FROM pages WHERE id IN ({marks})", list(pages))  # noqa: S608
    for row, url, title in names:
        best = [score for _, score in pages[row].passages]
        summed = best[0] + _NEXT_SHARE * sum(best[1 : 1 + _NEXT_PASSAGES])
        pages[row].rank = summed * page_prior(url, title, query.text)
    return sorted(pages.values(), key=lambda each: -each.rank)


def _word_weights(connection: sqlite3.Connection, asked: QueryTerms, total: int) -> dict[str, float]:
    """Stem -> how much a word of the query tells: the logarithm of how rare it is."""
    weights: dict[str, float] = {}
    for word in (*asked.words, *asked.pairs):
        count = _passages_with(connection, quoted(word))
        for stem in terms(word):
            weights[stem] = max(weights.get(stem, 0.0), math.log((max(total, count) + 1) / (count + 0.5)))
    return weights


def _coverage(text: str, weights: dict[str, float]) -> float:
    """The share of the query's weight whose words are in the text."""
    whole = sum(weights.values())
    present = set(terms(text))
    return sum(weight for stem, weight in weights.items() if stem in present) / whole if whole > 0 else 1.0


def absolute_score(coverage: float) -> float:
    """Coverage (0 to 1) as a score: 0.3 where a passage begins to fit, 1 where it holds every word."""
    if coverage < _FITS:
        return coverage / _FITS * _FITS_SCORE
    return _FITS_SCORE + (coverage - _FITS) / (1 - _FITS) * (1 - _FITS_SCORE)


def _hits(
    connection: sqlite3.Connection, ranked: list[_RankedPage], query: IndexQuery, weights: dict[str, float]
) -> list[IndexHit]:
    phrases = [comparable(phrase) for phrase in query.phrases]
    found: list[tuple[IndexHit, float]] = []
    seen: set[str] = set()
    coverage = 0.0
    for page in ranked:
        row = connection.execute(
            "SELECT url, title, content, published, favicon FROM pages WHERE id = ? AND fetched_at >= ?",
            (page.row, query.not_before),
        ).fetchone()
        if row is None or row[0] in seen:
            continue
        try:
            text = zlib.decompress(row[2]).decode()
        except (zlib.error, UnicodeDecodeError):
            continue  # one damaged page hides no other
        if phrases and not holds_all(comparable(f"{row[1]} {text}"), phrases):
            continue
        seen.add(row[0])
        passages = _passages_of(connection, page, query.passages)
        if len(found) < 3:
            for each in passages[:2]:
                context = f"{row[1]} {' '.join(each.headings)} {plain_text(text[each.start : each.end])} {row[0]}"
                coverage = max(coverage, _coverage(context, weights))
        found.append((IndexHit(row[0], row[1], text, 0.0, row[3], row[4], passages), page.rank))
        if len(found) == query.count:
            break
    top = absolute_score(coverage)
    best = max((rank for _, rank in found), default=0.0)
    return [_scored(hit, top * math.sqrt(max(rank, 0.0) / best) if best > 0 else top) for hit, rank in found]


def _scored(hit: IndexHit, score: float) -> IndexHit:
    return IndexHit(hit.url, hit.title, hit.content, round(score, 4), hit.published, hit.favicon, hit.passages)


def _passages_of(connection: sqlite3.Connection, page: _RankedPage, count: int) -> tuple[Passage, ...]:
    """The best `count` passages of a page, best first."""
    passages = []
    for row, _ in page.passages[:count]:
        start, end, headings = connection.execute(
            "SELECT first, last, headings FROM passages WHERE id = ?", (row,)
        ).fetchone()
        passages.append(Passage(start, end, tuple(headings.split("\n")) if headings else ()))
    return tuple(passages)
