"""Ranking in the local index: passages by BM25, pages by their best passages, and an absolute score.

What a program's message has of its own (times, numbers of processes) is left out; misspelt words are replaced
(`spelling`). Then:

1. `candidates`: the best passages of the caller's pages; in a large index by the words that tell passages apart.
2. A page's rank is the score of its best passage and a share of the next two (`RankedPage.strength`), changed by the
   `signals`: lowered for listings, source listings and release notes (`page_prior`), raised where the passage holds all
   of a query that is no sentence (`by_coverage`), for pages that define the name that is the query (`by_definition`),
   and for a sentence by what the whole page holds of it (`by_page_words`).
3. `fused`: where the query comes with passages near to it by their vectors, both rankings are joined.
4. `absolute_score`: how likely a page answers, from what it holds of the query.

Runs in a reader thread; what it reads, a store reads for it (`candidates.IndexReader`), SQLite and PostgreSQL alike.
"""

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import NamedTuple

from gateway.engines.index.candidates import (
    COUNTED_PASSAGES,
    Candidate,
    IndexReader,
    PassageCounts,
    RankedPage,
    StoredPages,
    affordable_terms,
    present_stems,
    ranked_passages,
)
from gateway.engines.index.query import IndexHit, IndexQuery, QueryTerms, comparable, holds_all, query_terms
from gateway.engines.index.signals import (
    by_coverage,
    by_definition,
    by_page_words,
    coverage,
    is_message,
    lasting_text,
    page_prior,
    sentence_degree,
    word_weights,
)
from gateway.engines.index.spelling import corrected, respelt
from gateway.engines.words.sections import Passage, plain_text
from gateway.engines.words.text import words_of

_RRF_K = 10
"""Among a page's passages a place is worth 1 / (K + place), as in reciprocal rank fusion (Cormack, Clarke and Büttcher,
SIGIR 2009). Chosen for pages, where 5 and 20 changed MRR@10 over documentation by at most .013."""

_NEAR_FLOOR = 0.5
"""Share of the nearest page's rank that counts nothing. Measured on 80 and 184 questions over two sets of documentation
(`bench.search_quality`), a half of the second for choosing: MRR@10 .824, .901 and, of the other half, .851; at .4 .822,
.892 and .850, at .6 .828, .892, .847; at .8 .823, .903, .845 with messages below what words alone find. By places, as
in reciprocal rank fusion, .809, .864 and .832."""

_MOST_SHARE, _LEAST_SHARE = 3.0, 0.2
_UNSURE_COVERAGE, _SURE_COVERAGE = 0.8, 1.0
"""What it counts beside a ranking by words alone: 3 for a sentence of which the best page holds up to 80 % of the
weight, so that words decide between pages that are as near, and .2 at 100 %, where a name is found as it stands. Lists
of words and messages of programs have .2 as well: with .3 messages of the first set (see _NEAR_FLOOR) have .778, with
.2 and .1 .833, as by words alone. Chosen as above: with 2 MRR@10 .821, .883 and .855, with 6 .829, .900 and .845; with
_UNSURE_COVERAGE .7 or .9 it changes by at most .005."""

_PRIOR_SHARE = 0.3
"""How much of what lowers listings, source and release notes counts here."""


def near_passages(reader: IndexReader, query: IndexQuery) -> list[Candidate]:
    """The near passages that the query's owners may see and its conditions allow, nearest first."""
    if not query.near or query.phrases:
        return []
    page_of = reader.visible_near(query)
    return [Candidate(row, page_of[row], cosine) for row, cosine in query.near if row in page_of]


def near_pages(reader: IndexReader, near: list[Candidate], text: str) -> list[RankedPage]:
    """The pages of the near passages, nearest first."""
    pages: dict[int, RankedPage] = {}
    for each in near:
        pages.setdefault(each.page, RankedPage(each.page)).passages.append(each)
    furthest, prior = near[-1].score if near else 0.0, page_prior(text)
    for row, url, title in reader.names(list(pages)):
        page = pages[row]
        page.cosine = page.passages[0].score
        page.rank = page.near_strength(furthest) * (1 - _PRIOR_SHARE * (1 - prior(url, title)))
    return sorted(pages.values(), key=RankedPage.order)


def near_share(coverage: float, sentence_degree: float) -> float:
    """What the ranking by vectors counts beside that by words, whose best page holds so much of the query (0 to 1), for
    a query that is a sentence so far (0 to 1)."""
    unsure = (_SURE_COVERAGE - coverage) / (_SURE_COVERAGE - _UNSURE_COVERAGE)
    return _LEAST_SHARE + (_MOST_SHARE - _LEAST_SHARE) * min(max(unsure, 0.0), 1.0) * sentence_degree


def waiting_pages(reader: IndexReader, by_words: list[RankedPage]) -> set[int]:
    """The rows of those pages whose best passage waits for its vector."""
    page_of = {page.passages[0].row: page.row for page in by_words if page.passages}
    return {page_of[row] for row in reader.without_vector(list(page_of))}


def fused(
    by_words: list[RankedPage], by_vectors: list[RankedPage], share_of_vectors: float, waiting: Container[int] = ()
) -> list[RankedPage]:
    """The pages of both rankings, best first, each with its passages of both. Of `waiting` pages, of which vectors say
    nothing yet, the ranking by words says what vectors would: a crawl's first minutes would else show what has them.

    Among a page's passages both rankings count the same: those that the excerpts are made of. Measured on 84 questions
    (`bench.search_quality`): the passage that answers is in the first three excerpts for .75, with the share .71.
    """
    pages: dict[int, RankedPage] = {}
    worth: dict[int, float] = {}
    assumed: dict[int, float] = {}
    for ranking, share, floor in ((by_words, 1.0, 0.0), (by_vectors, share_of_vectors, _NEAR_FLOOR)):
        passages = sorted((each for page in ranking for each in page.passages), key=lambda each: -each.score)
        for place, each in enumerate(passages):
            worth[each.row] = worth.get(each.row, 0.0) + 1 / (_RRF_K + place + 1)
        best = max((page.rank for page in ranking), default=0.0) or 1.0
        for page in ranking:
            both = pages.setdefault(page.row, RankedPage(page.row))
            gained = share * max(page.rank / best - floor, 0.0) / (1 - floor)
            both.rank += max(gained, assumed.pop(page.row, 0.0))
            if ranking is by_words and page.row in waiting:
                assumed[page.row] = share_of_vectors * gained
            both.cosine = max(both.cosine, page.cosine)
            known = {each.row for each in both.passages}
            both.passages += [each for each in page.passages if each.row not in known]
    for row, gain in assumed.items():
        pages[row].rank += gain
    for page in pages.values():
        page.passages.sort(key=lambda each: -worth[each.row])
    return sorted(pages.values(), key=RankedPage.order)


FITTING_SCORE = 0.3
"""Score from which a page fits. Below it the answer says that nothing found fits."""

_FITTING = 0.14
"""Probability that is shown as FITTING_SCORE. Chosen on 337 questions and 266 queries about other things, over six sets
of documentation, each judged by what was fitted to the other five: .91 of the latter are below it, and 7 of the 258
questions with a right page among the first three, most of them misspelt or not in English; at .10 .80 and 3, at .18 .95
and 15. With vectors, 244 questions and 192 others over four sets: .94 and 2 of 216."""


class Evidence(NamedTuple):
    """`coverage` and `headed`: shares of the query's weight that a passage, and the title and headings above it, hold.
    `rarity`: the query's weight as a number of words of the greatest weight. `cosine`: of the page's nearest passage, 0
    where vectors did not find it. `of_message`: the query has the form of a program's message (`messages`)."""

    coverage: float
    headed: float
    rarity: float
    cosine: float = 0.0
    of_message: bool = False


_WORDS = (-7.0, 5.4, 3.2, 1.9)
_VECTORS = (-6.1, 2.7, 2.2, 0.8)
_COSINE = 6.5
"""Constant and weights of the evidence, by words alone and with vectors. Fitted to the first results of the questions
above. By words, judged as above: of the results of probability .2 to .4 .40 are right, of .4 to .6 .55, of .6 to .8
.74, above .90; coverage alone tells right from wrong first results with an area under the curve of .70, with headings
and rarity .78. Nearness of the words to each other and their frequency add nothing."""

_SUBJECT = (-6.3, 10.6, 1.9, 1.0)
"""As _WORDS, for whether the page is about the query's subject at all, above 0. How likely a page answers grows with
the rarity of what it holds; whether it is about the subject is told by coverage nearly alone, so a question in common
words, of which one passage holds most, fits. Fitted to 186 questions with a right page among the first three and 268
queries about other things over three sets of documentation: none of 241 questions is taken for one about other things,
by _WORDS 7, while 221 and 222 of the others are recognised; judged by what was fitted to the other two sets, at .88
recognised, 7 and 12. Not for messages, whose many words no page holds together: of 90, 7 and 3 would be lost."""


def absolute_score(evidence: Evidence) -> float:
    """The score: FITTING_SCORE at the probability _FITTING, linear below and above. By words alone a query that is no
    message has at least FITTING_SCORE where a page is about its subject, and less where it is not."""
    constant, *weights = _VECTORS if evidence.cosine > 0 else _WORDS
    sum_ = _weighed(evidence, constant, weights) + _COSINE * evidence.cosine
    probability = 1 / (1 + math.exp(-sum_))
    if probability < _FITTING:
        score = probability / _FITTING * FITTING_SCORE
    else:
        score = FITTING_SCORE + (probability - _FITTING) / (1 - _FITTING) * (1 - FITTING_SCORE)
    if evidence.of_message or evidence.cosine > 0:
        return score
    constant, *weights = _SUBJECT
    excess = _weighed(evidence, constant, weights)
    return max(score, FITTING_SCORE) if excess >= 0 else min(score, FITTING_SCORE * max(1 + excess / -constant, 0.0))


def _weighed(evidence: Evidence, constant: float, weights: Sequence[float]) -> float:
    seen = (evidence.coverage, evidence.headed, math.log1p(evidence.rarity))
    return constant + sum(w * part for w, part in zip(weights, seen, strict=True))


def in_order(scores: Sequence[float], speaks: Sequence[bool]) -> list[float]:
    """The scores of results in their order, none above the one before it. A result that speaks for the answer lifts
    those before it, since an answer is as good as its best page; one that does not is not above them."""
    least, shown = 0.0, list(scores)
    for place in reversed(range(len(shown))):
        least = max(least, shown[place]) if speaks[place] else least
        shown[place] = max(shown[place], least)
    for place in range(1, len(shown)):
        shown[place] = min(shown[place], shown[place - 1])
    return shown


_MAX_OTHERS = 5
"""Further addresses of one page that a result names."""
_MAX_NAMED_PAGES = 100
"""Pages whose address and title are read."""

_JUDGED_PAGES = 3
"""The best pages that speak for the whole answer: it is among them for four questions in five."""
_SCORED_PAGES = 10
"""Pages that are scored, however few are wanted: a lower page may lift the score of the first, which must not depend on
the number of results."""


class _Asked(NamedTuple):
    """The query as results are judged by it: the weights of its words, `Evidence.rarity` and whether it was given as a
    message."""

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
    if meant:
        query = corrected(query, meant)
        asked = present_stems(counter, query_terms(query.text))
    return [replace(hit, respelt=tuple(meant.items())) for hit in _hits(reader, query, asked, counter, pasted)]


def _hits(
    reader: IndexReader, query: IndexQuery, asked: QueryTerms, counter: PassageCounts, pasted: str
) -> list[IndexHit]:
    """The best pages for the terms `asked` of the query's text, which the caller gave as `pasted`."""
    total = reader.passage_total(reader.large + 1)
    used, after_row = asked, 0
    if asked.words and not query.phrases and total > reader.large:
        used, after_row = affordable_terms(reader, query, asked, counter)
    pages = _by_page(reader, ranked_passages(reader, query, used, after_row), query.text)
    weights = word_weights(counter, asked, total)
    stored = StoredPages(reader, query.not_before)
    near = near_passages(reader, query)
    by_words = _best_coverage(reader, stored, pages, query, weights) if near else 0.0
    pages = by_coverage(reader, pages, query.text, weights)
    pages = by_definition(reader, pages, query.text)
    best_by_words = {page.row for page in pages[:_JUDGED_PAGES]}  # of whole pages, passages need not hold much
    pages = by_page_words(stored, pages, pasted, weights)
    if near:
        degree = 0.0 if is_message(pasted) else sentence_degree(pasted)
        waiting = waiting_pages(reader, pages)
        pages = fused(pages, near_pages(reader, near, query.text), near_share(by_words, degree), waiting)
    found = _named(reader, stored, pages, query)
    speaks = [place < _JUDGED_PAGES or page.row in best_by_words for place, (_, page) in enumerate(found)]
    asked_for = _Asked(weights, sum(weights.values()) / math.log(max(total, 1) + 1), is_message(pasted))
    fits = [_fit(hit, page, asked_for) for hit, page in found]
    scores = in_order(fits, speaks)
    hits = [replace(hit, score=round(each, 4)) for (hit, _), each in zip(found, scores, strict=True)]
    return hits[: query.count]


def _by_page(reader: IndexReader, candidates: list[Candidate], text: str) -> list[RankedPage]:
    """The pages of the candidates, best first."""
    pages: dict[int, RankedPage] = {}
    for each in candidates:
        pages.setdefault(each.page, RankedPage(each.page, [])).passages.append(each)
    sizes = reader.passage_counts([page.row for page in pages.values() if len(page.passages) < COUNTED_PASSAGES])
    for page in pages.values():
        page.rank = page.strength(sizes.get(page.row, COUNTED_PASSAGES))
    ranked = sorted(pages.values(), key=RankedPage.order)
    best, prior = {page.row: page for page in ranked[:_MAX_NAMED_PAGES]}, page_prior(text)
    for row, url, title in reader.names(list(best)):
        best[row].rank *= prior(url, title)
    return sorted(best.values(), key=RankedPage.order)


def _named(
    reader: IndexReader, stored: StoredPages, ranked: list[RankedPage], query: IndexQuery
) -> list[tuple[IndexHit, RankedPage]]:
    """The best pages that may be shown, without their scores: as many as are wanted, and at least _SCORED_PAGES."""
    phrases = [comparable(phrase) for phrase in query.phrases]
    found: list[tuple[IndexHit, RankedPage]] = []
    urls: set[str] = set()
    places: dict[int, int] = {}  # of texts among those found
    for page in ranked:
        hit = _read_page(reader, stored, page, query)
        if hit is None or hit.url in urls:
            continue
        text = hash((hit.title, hit.content))
        if (twin := places.get(text)) is not None:  # the same page at another address
            first, ranked_first = found[twin]
            if len(first.others) < _MAX_OTHERS:
                found[twin] = replace(first, others=(*first.others, hit.url)), ranked_first
            urls.add(hit.url)
            continue
        if len(found) == max(query.count, _SCORED_PAGES):
            break
        if phrases and not holds_all(comparable(f"{hit.title} {hit.content}"), phrases):
            continue
        urls.add(hit.url)
        places[text] = len(found)
        found.append((hit, page))
    return found


def _fit(hit: IndexHit, page: RankedPage, asked: _Asked) -> float:
    """The absolute score of one page by its best passage."""
    if not hit.passages:
        return 0.0
    best = hit.passages[0]
    headed = coverage(words_of(f"{hit.title} {' '.join(best.headings)}"), asked.weights)
    held = _coverage_of(hit, best, asked.weights)
    return absolute_score(Evidence(held, headed, asked.rarity, page.cosine, asked.is_message))


def _best_coverage(
    reader: IndexReader, stored: StoredPages, pages: list[RankedPage], query: IndexQuery, weights: dict[str, float]
) -> float:
    """How much of the query's weight one passage of the best pages holds."""
    hits = [_read_page(reader, stored, page, query) for page in pages[:_JUDGED_PAGES]]
    return max((_coverage_of(hit, each, weights) for hit in hits if hit for each in hit.passages[:1]), default=0.0)


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
    return coverage(words_of(f"{hit.title} {' '.join(each.headings)} {text} {hit.url}"), weights)
