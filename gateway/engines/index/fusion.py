"""Fuses the ranking by words with the ranking by vectors: a page's rank is the sum of what both give it.

Each ranking gives its best page one, words a page of half the rank half, vectors nothing, since cosines of one query
differ by little. So a page far above all others in one ranking stays first, which the sum of places does not see. Runs
in a reader thread; the reader decides which of the near passages the query's owners may see.
"""

from collections.abc import Container
from dataclasses import dataclass, field

from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.reader import Candidate, IndexReader

_RRF_K = 10
"""Among a page's passages a place is worth 1 / (K + place), as in reciprocal rank fusion (Cormack, Clarke and Büttcher,
SIGIR 2009). Chosen for pages, where 5 and 20 changed MRR@10 over documentation by at most .013."""

_NEAR_FLOOR = 0.5
"""Share of the nearest page's rank that counts nothing. Measured on 80 and 184 questions over two sets of documentation
(`bench.search_quality`), a half of the second for choosing: MRR@10 .824, .901 and, of the other half, .851; at .4 .822,
.892 and .850, at .6 .828, .892, .847; at .8 .823, .903, .845 with messages below what words alone find. By places, as
in reciprocal rank fusion, .809, .864 and .832."""

EXPANDED_SHARE = 1.0
"""What the ranking by vectors counts beside one by words that feedback has widened to words of the same subject.
Measured on Cranfield: nDCG@10 .439; with 1.5 .437, with 3 .421."""

_MOST_SHARE, _LEAST_SHARE = 3.0, 0.2
_UNSURE_COVERAGE, _SURE_COVERAGE = 0.8, 1.0
"""What it counts beside a ranking by words alone: 3 for a sentence of which the best page holds up to 80 % of the
weight, so that words decide between pages that are as near, and .2 at 100 %, where a name is found as it stands. Lists
of words and messages of programs have .2 as well: with .3 messages of the first set (see _NEAR_FLOOR) have .778, with
.2 and .1 .833, as by words alone. Chosen as above: with 2 MRR@10 .821, .883 and .855, with 6 .829, .900 and .845; with
_UNSURE_COVERAGE .7 or .9 it changes by at most .005."""

_NEXT_SHARE = 0.3
_NEXT_PASSAGES = 2
"""Share and number of the further passages in a page's rank, by words and by vectors. Measured as above, by words: the
best passage alone gives MRR@10 .70 and .67 (80 and 60 questions), these .74 and .78; a share of .5 is .01 below on
both. By vectors alone: .680, .784 and .813 without (sets as in _NEAR_FLOOR), .734, .802 and .811 with them."""

COUNTED_PASSAGES = 1 + _NEXT_PASSAGES
_LACKING_SHARE = 0.5
"""Share of the best passage's score that a page of one or two passages has for each that it lacks: at 0 longer pages
gain up to .6 of that score before it. Chosen on 192 questions and 67 further messages over 23 sites
(`bench.search_quality`): MRR@10 of the questions .772 instead of .770, how-to .836 instead of .824, of messages .839
instead of .836, and no kind is below; at .9 .764."""

_PRIOR_SHARE = 0.3
"""How much of what lowers listings, source and release notes counts here. Chosen: cosines of one query differ by
a tenth where BM25 scores differ by half; at 0 and at double MRR@10 changes by at most .01."""


@dataclass(slots=True)
class RankedPage:
    """`passages` best first. `cosine`: of its nearest passage, 0 when it was found by words alone."""

    row: int
    passages: list[Candidate] = field(default_factory=list)
    rank: float = 0.0
    cosine: float = 0.0

    def strength(self, size: int = COUNTED_PASSAGES) -> float:
        """The score of the best passage and a share of the next ones. `size`: the number of the page's passages; a page
        that has no next ones is taken to have such of half the score."""
        scores = [each.score for each in self.passages[:COUNTED_PASSAGES]]
        lacking = max(COUNTED_PASSAGES - size, 0)
        return scores[0] + _NEXT_SHARE * (sum(scores[1:]) + _LACKING_SHARE * lacking * scores[0])

    def near_strength(self, furthest: float) -> float:
        """As `strength`, of cosines: a passage that is not among the near ones counts as the furthest of these, but at
        least half of the best. Counted as nothing, pages of one near passage are behind long ones: MRR@10 by vectors
        alone .723, .772 and .793 instead of .734, .802 and .811 (sets as in _NEAR_FLOOR)."""
        best, *others = [each.score for each in self.passages[:COUNTED_PASSAGES]]
        lacking = _NEXT_PASSAGES - len(others)
        return best + _NEXT_SHARE * (sum(others) + lacking * max(furthest, _LACKING_SHARE * best))


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
    furthest = near[-1].score if near else 0.0
    for row, url, title in reader.names(list(pages)):
        page = pages[row]
        page.cosine = page.passages[0].score
        page.rank = page.near_strength(furthest) * (1 - _PRIOR_SHARE * (1 - page_prior(url, title, text)))
    return sorted(pages.values(), key=lambda page: -page.rank)


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
    return sorted(pages.values(), key=lambda page: -page.rank)
