"""Ranking in the local index: passages by BM25, pages by their best passages, and an absolute score.

1. `candidates`: the best passages of the caller's pages; in a large index by the words that tell passages apart.
2. `feedback`: where pages are single passages, words of the best ones are added and both rankings fused.
3. A page's rank is the score of its best passage and a share of the next two, lowered for listings, source listings and
   release notes (`page_priors`), raised where that passage holds all of a query that is no sentence (`coverage`),
   lowered for long pages where the query is a program's message (`messages`).
4. `fusion`: where the query comes with passages near to it by their vectors, both rankings are joined.
5. The score shown is absolute (0 to 1): how much of the query's weight one passage of the best pages holds, where rare
   words weigh more, with vectors also how near one is; lower results fall with the root of their rank.

Runs in a reader thread; what it reads, a store reads for it (`reader`), SQLite and PostgreSQL alike.
"""

import math
from dataclasses import replace

from gateway.engines.index.candidates import PassageCounts, affordable_terms, ranked_passages
from gateway.engines.index.coverage import by_coverage, coverage, word_weights
from gateway.engines.index.feedback import MAX_PASSAGES, with_feedback
from gateway.engines.index.fusion import EXPANDED_SHARE, RankedPage, fused, near_pages, near_passages, near_share
from gateway.engines.index.messages import by_length
from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.query import IndexHit, IndexQuery, comparable, holds_all, query_terms
from gateway.engines.index.reader import Candidate, IndexReader
from gateway.engines.text.passages import plain_text

_MAX_NAMED_PAGES = 100
"""Pages whose address and title are read. Chosen: results are at most 20, from the best pages whose rank is lowered by
at most a third; at half, many copies of one page under other owners could use them up."""

_FITTING_COVERAGE = 0.42
FITTING_SCORE = 0.3
"""Share of a query's weight that one passage must hold to fit, and the score given there. Calibrated on 257 questions
and 50 queries about other things over five sets of documentation: .94 of the latter are below .42, and of the 199
questions with a right page among the first three one; at .37 .88 and the same one, at .5 .97 and five."""

_FITTING_SUM, _CERTAIN_SUM = 0.8, 1.6
"""With vectors: the sum of that share and of the cosine from which a page fits, and that of score 1. Calibrated on 162
questions and 20 queries about other things, over two sets of pages: 19 and 18 of the 20 are below, and no question; at
.7 it is 18 and 17."""

_JUDGED_PAGES = 3
_JUDGED_PASSAGES = 2
"""The best pages and their best passages that the absolute score reads. Chosen: the answer to a right query is
among them for four questions in five; more would let an unlucky passage far down speak for the result."""


def run(reader: IndexReader, query: IndexQuery) -> list[IndexHit]:
    """The best `count` pages, best first; several owners' copies of one page count once. Raises sqlite3.Error."""
    asked = query_terms(query.text)
    if not asked and not query.phrases:
        return []
    total = reader.passage_total(MAX_PASSAGES + 1)
    counter = PassageCounts(reader)
    used, after_row = asked, 0
    if asked.words and not query.phrases and total > MAX_PASSAGES:
        used, after_row = affordable_terms(reader, query, asked, counter)
    first = ranked_passages(reader, query, used, after_row)
    candidates = with_feedback(reader, query, asked.words, first, total)
    pages = _by_page(reader, candidates, query.text)
    weights = word_weights(counter, asked, total)
    by_words = 0.0
    near = near_passages(reader, query)
    if near:
        by_words = _best_coverage(reader, pages, query, weights)
    if candidates is first:  # after feedback, words that were not asked for count as well
        pages = by_length(reader, by_coverage(reader, pages, query.text, weights), query.text)
    if near:
        share = near_share(by_words) if candidates is first else EXPANDED_SHARE
        pages = fused(pages, near_pages(reader, near, query.text), share)
    found = _named(reader, pages, query)
    top = _fit(found, weights, by_words)
    best = max((page.rank for _, page in found), default=0.0)
    return [
        replace(hit, score=round(top * math.sqrt(max(page.rank, 0.0) / best) if best > 0 else top, 4))
        for hit, page in found
    ]


def _by_page(reader: IndexReader, candidates: list[Candidate], text: str) -> list[RankedPage]:
    """The pages of the candidates, best first."""
    pages: dict[int, RankedPage] = {}
    for each in candidates:
        pages.setdefault(each.page, RankedPage(each.page, [])).passages.append(each)
    for page in pages.values():
        page.rank = page.strength()
    ranked = sorted(pages.values(), key=lambda page: -page.rank)
    best = {page.row: page for page in ranked[:_MAX_NAMED_PAGES]}
    for row, url, title in reader.names(list(best)):
        best[row].rank *= page_prior(url, title, text)
    return sorted(best.values(), key=lambda page: -page.rank)


def absolute_score(coverage: float, cosine: float = 0.0) -> float:
    """Coverage, with vectors the sum of it and of the cosine, as a score: 0.3 where a passage begins to fit, 1 where it
    certainly does, linear between. Without vectors `cosine` is 0."""
    fit, fitting, certain = coverage, _FITTING_COVERAGE, 1.0
    if cosine > 0:
        fit, fitting, certain = coverage + cosine, _FITTING_SUM, _CERTAIN_SUM
    if fit < fitting:
        return fit / fitting * FITTING_SCORE
    return min(1.0, FITTING_SCORE + (fit - fitting) / (certain - fitting) * (1 - FITTING_SCORE))


def _named(reader: IndexReader, ranked: list[RankedPage], query: IndexQuery) -> list[tuple[IndexHit, RankedPage]]:
    """The best pages that may be shown, as many as are wanted, without their scores."""
    phrases = [comparable(phrase) for phrase in query.phrases]
    found: list[tuple[IndexHit, RankedPage]] = []
    urls: set[str] = set()
    for page in ranked:
        hit = _read_page(reader, page, query)
        if hit is None or hit.url in urls:
            continue
        if phrases and not holds_all(comparable(f"{hit.title} {hit.content}"), phrases):
            continue
        urls.add(hit.url)
        found.append((hit, page))
        if len(found) == query.count:
            break
    return found


def _fit(found: list[tuple[IndexHit, RankedPage]], weights: dict[str, float], by_words: float) -> float:
    """The absolute score of the best page. `by_words`: the coverage of the best pages by words, where vectors may have
    put nearer ones with other words before them."""
    coverages = [_coverage_of(hit, weights) for hit, _ in found[:_JUDGED_PAGES]]
    cosines = [page.cosine for _, page in found[:_JUDGED_PAGES]]
    return absolute_score(max((by_words, *coverages)), max(cosines, default=0.0))


def _best_coverage(reader: IndexReader, pages: list[RankedPage], query: IndexQuery, weights: dict[str, float]) -> float:
    """How much of the query's weight one passage of the best pages holds."""
    hits = [_read_page(reader, page, query) for page in pages[:_JUDGED_PAGES]]
    return max((_coverage_of(hit, weights) for hit in hits if hit is not None), default=0.0)


def _read_page(reader: IndexReader, page: RankedPage, query: IndexQuery) -> IndexHit | None:
    """The page with its best passages; None for one that has expired or is damaged."""
    stored = reader.page(page.row, query.not_before)
    if stored is None:
        return None
    passages = tuple(reader.passages([each.row for each in page.passages[: query.passages]]))
    return IndexHit(stored.url, stored.title, stored.content, 0.0, stored.published, stored.favicon, passages)


def _coverage_of(hit: IndexHit, weights: dict[str, float]) -> float:
    """The best coverage of one of the page's passages, with the title, the address and the headings above it."""
    texts = [
        f"{hit.title} {' '.join(each.headings)} {plain_text(hit.content[each.start : each.end])} {hit.url}"
        for each in hit.passages[:_JUDGED_PASSAGES]
    ]
    return max((coverage(text, weights) for text in texts), default=0.0)
