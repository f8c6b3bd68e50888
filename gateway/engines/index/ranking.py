"""Ranking in the local index: passages by BM25, pages by their best passages, and an absolute score.

What a message has of its own is left out (`messages`); misspelt words are replaced (`spelling`), unless the query
finds a good page as it is written. Then:

1. `candidates`: the best passages of the caller's pages; in a large index by the words that tell passages apart.
2. `feedback`: where pages are single passages, words of the best ones are added and both rankings fused.
3. A page's rank is the score of its best passage and a share of the next two (`fusion.RankedPage`), lowered for
   listings, source listings and release notes (`page_priors`), raised where that passage holds all of a query that is
   no sentence (`coverage`), lowered for long pages where the query is a program's message (`messages`), raised for
   pages that define the name that is the query (`definitions`), lowered for lists of links (`link_lists`), and raised
   for a sentence by what the whole page holds of it (`page_words`).
4. `fusion`: where the query comes with passages near to it by their vectors, both rankings are joined before lists of
   links are lowered.
5. The score shown is absolute (`score`): how likely a page answers, from what it holds of the query.

Runs in a reader thread; what it reads, a store reads for it (`reader`), SQLite and PostgreSQL alike.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from gateway.engines.answer.passages import Passage, plain_text
from gateway.engines.answer.tokens import terms
from gateway.engines.index.candidates import (
    PassageCounts,
    affordable_terms,
    present_stems,
    ranked_passages,
    whole_names,
)
from gateway.engines.index.coverage import by_coverage, coverage, sentence_degree, word_weights
from gateway.engines.index.definitions import by_definition
from gateway.engines.index.feedback import MAX_PASSAGES, with_feedback
from gateway.engines.index.fusion import (
    COUNTED_PASSAGES,
    EXPANDED_SHARE,
    RankedPage,
    fused,
    near_pages,
    near_passages,
    near_share,
    waiting_pages,
)
from gateway.engines.index.link_lists import by_links
from gateway.engines.index.messages import by_length, is_message, lasting_text
from gateway.engines.index.page_priors import page_prior, subject
from gateway.engines.index.page_words import by_page_words
from gateway.engines.index.query import IndexHit, IndexQuery, QueryTerms, comparable, holds_all, query_terms
from gateway.engines.index.reader import Candidate, IndexReader
from gateway.engines.index.score import Evidence, absolute_score, in_order
from gateway.engines.index.spelling import corrected, respelt
from gateway.engines.index.stored_pages import StoredPages

_MAX_NAMED_PAGES = 100
"""Pages whose address and title are read. Chosen: results are at most 20, from the best pages whose rank is lowered by
at most a third; at half, many copies of one page under other owners could use them up."""

_JUDGED_PAGES = 3
_JUDGED_PASSAGES = 2
"""The best pages that speak for the whole answer, and how many of their best passages the score reads; of further pages
it reads one. Chosen: the answer to a right query is among them for four questions in five; more would let an unlucky
passage far down speak for the result."""
_SCORED_PAGES = 10
"""Pages that are scored, however few are wanted: a lower page may lift the score of the first, which must not depend on
the number of results. Chosen: as many as the ranking compares by their whole texts, so all are read anyway."""

_GOOD_SCORE = 0.6
"""Score from which what is found by a query as it is written is good, though a word of it looks misspelt. Chosen on 406
queries with one slip each over three sets of documentation: with .6 and without, MRR@10 is the same on five of six sets
of slips and .654 instead of .646 on one; with .4 .01 to .02 below."""


class _Asked(NamedTuple):
    """The query as results are judged by it: its text, the weights of its words, `Evidence.rarity` and whether it was
    given as a message."""

    text: str
    weights: dict[str, float]
    rarity: float
    is_message: bool


def run(reader: IndexReader, query: IndexQuery) -> list[IndexHit]:
    """The best `count` pages, best first; several owners' copies of one page count once. Raises sqlite3.Error."""
    pasted = query.text
    if not query.phrases:
        query = replace(query, text=lasting_text(query.text))
    counter = PassageCounts(reader)
    asked = present_stems(counter, query_terms(query.text))
    if not asked and not query.phrases:
        return []
    meant = respelt(reader, query, asked, counter)
    if not meant:
        return _hits(reader, query, asked, counter, pasted)
    if query.near or _best_possible(reader, asked, counter, list(meant)) >= _GOOD_SCORE:
        as_written = _hits(reader, query, asked, counter, pasted)
        if as_written and as_written[0].score >= _GOOD_SCORE:
            return as_written
    query = corrected(query, meant)
    hits = _hits(reader, query, present_stems(counter, query_terms(query.text)), counter, pasted)
    return [replace(hit, respelt=tuple(meant.items())) for hit in hits]


def _hits(
    reader: IndexReader, query: IndexQuery, asked: QueryTerms, counter: PassageCounts, pasted: str
) -> list[IndexHit]:
    """The best pages for the terms `asked` of the query's text, which the caller gave as `pasted`."""
    asked = whole_names(reader, query, asked)
    total = reader.passage_total(MAX_PASSAGES + 1)
    used, after_row = asked, 0
    if asked.words and not query.phrases and total > MAX_PASSAGES:
        used, after_row = affordable_terms(reader, query, asked, counter)
    first = ranked_passages(reader, query, used, after_row)
    candidates = with_feedback(reader, query, asked.words, first, total)
    pages = _by_page(reader, candidates, query.text)
    weights = word_weights(counter, asked, total)
    stored = StoredPages(reader, query.not_before)
    near = near_passages(reader, query)
    by_words = _best_coverage(reader, stored, pages, query, weights) if near else 0.0
    if candidates is first:  # after feedback, words that were not asked for count as well
        pages = by_length(reader, by_coverage(reader, pages, query.text, weights), pasted)
        pages = by_definition(reader, pages, query.text)
    best_by_words = {page.row for page in pages[:_JUDGED_PAGES]}  # of whole pages, passages need not hold much
    if not near:
        pages = by_links(stored, pages, query.text)
    if candidates is first:
        pages = by_page_words(stored, pages, pasted, weights)
    if near:
        degree = 0.0 if is_message(pasted) else sentence_degree(pasted)
        share = near_share(by_words, degree) if candidates is first else EXPANDED_SHARE
        waiting = waiting_pages(reader, pages)
        pages = by_links(stored, fused(pages, near_pages(reader, near, query.text), share, waiting), query.text)
    found = _named(reader, stored, pages, query)
    speaks = [place < _JUDGED_PAGES or page.row in best_by_words for place, (_, page) in enumerate(found)]
    asked_for = _Asked(query.text, weights, sum(weights.values()) / math.log(max(total, 1) + 1), is_message(pasted))
    fits = [_fit(hit, page, place, asked_for) for place, (hit, page) in enumerate(found)]
    scores = in_order(fits, speaks)
    hits = [replace(hit, score=round(each, 4)) for (hit, _), each in zip(found, scores, strict=True)]
    return hits[: query.count]


def _best_possible(reader: IndexReader, asked: QueryTerms, counter: PassageCounts, missing: list[str]) -> float:
    """The score of a page, found by words, whose title has all words of the query but those that no page has: a bound
    that spares a search for most misspelt queries, since such a word weighs most."""
    total = reader.passage_total(MAX_PASSAGES + 1)
    weights = word_weights(counter, asked, total)
    whole = sum(weights.values())
    held = 1 - sum(weights.get(term, 0.0) for word in missing for term in terms(word)) / whole if whole else 0.0
    return absolute_score(Evidence(held, held, whole / math.log(max(total, 1) + 1)))


def _by_page(reader: IndexReader, candidates: list[Candidate], text: str) -> list[RankedPage]:
    """The pages of the candidates, best first."""
    pages: dict[int, RankedPage] = {}
    for each in candidates:
        pages.setdefault(each.page, RankedPage(each.page, [])).passages.append(each)
    sizes = reader.passage_counts([page.row for page in pages.values() if len(page.passages) < COUNTED_PASSAGES])
    for page in pages.values():
        page.rank = page.strength(sizes.get(page.row, COUNTED_PASSAGES))
    ranked = sorted(pages.values(), key=lambda page: -page.rank)
    best = {page.row: page for page in ranked[:_MAX_NAMED_PAGES]}
    for row, url, title in reader.names(list(best)):
        best[row].rank *= page_prior(url, title, text)
    return sorted(best.values(), key=lambda page: -page.rank)


def _named(
    reader: IndexReader, stored: StoredPages, ranked: list[RankedPage], query: IndexQuery
) -> list[tuple[IndexHit, RankedPage]]:
    """The best pages that may be shown, without their scores: as many as are wanted, and at least _SCORED_PAGES."""
    phrases = [comparable(phrase) for phrase in query.phrases]
    found: list[tuple[IndexHit, RankedPage]] = []
    urls: set[str] = set()
    for page in ranked:
        hit = _read_page(reader, stored, page, query)
        if hit is None or hit.url in urls:
            continue
        if phrases and not holds_all(comparable(f"{hit.title} {hit.content}"), phrases):
            continue
        urls.add(hit.url)
        found.append((hit, page))
        if len(found) == max(query.count, _SCORED_PAGES):
            break
    return found


def _fit(hit: IndexHit, page: RankedPage, place: int, asked: _Asked) -> float:
    """The absolute score of one page by its best passages."""
    title = subject(hit.url, hit.title, asked.text)
    judged = hit.passages[: _JUDGED_PASSAGES if place < _JUDGED_PAGES else 1]
    return max(
        (
            absolute_score(
                Evidence(
                    _coverage_of(hit, each, asked.weights),
                    coverage(f"{title} {' '.join(each.headings)}", asked.weights),
                    asked.rarity,
                    page.cosine,
                    asked.is_message,
                )
            )
            for each in judged
        ),
        default=0.0,
    )


def _best_coverage(
    reader: IndexReader, stored: StoredPages, pages: list[RankedPage], query: IndexQuery, weights: dict[str, float]
) -> float:
    """How much of the query's weight one passage of the best pages holds."""
    hits = [_read_page(reader, stored, page, query) for page in pages[:_JUDGED_PAGES]]
    return max(
        (_coverage_of(hit, each, weights) for hit in hits if hit for each in hit.passages[:_JUDGED_PASSAGES]),
        default=0.0,
    )


def _read_page(reader: IndexReader, stored: StoredPages, page: RankedPage, query: IndexQuery) -> IndexHit | None:
    """The page with its best passages; None for one that has expired or is damaged."""
    row = stored.read(page.row)
    if row is None:
        return None
    passages = tuple(reader.passages([each.row for each in page.passages[: query.passages]]))
    return IndexHit(row.url, row.title, row.content, 0.0, row.published, row.favicon, passages)


def _coverage_of(hit: IndexHit, each: Passage, weights: dict[str, float]) -> float:
    """The coverage of one of the page's passages, with the title, the address and the headings above it."""
    text = plain_text(hit.content[each.start : each.end])
    return coverage(f"{hit.title} {' '.join(each.headings)} {text} {hit.url}", weights)
