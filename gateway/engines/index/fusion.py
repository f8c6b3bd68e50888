"""Fuses the ranking by words with the ranking by vectors: a page's rank is the sum of what its places are worth.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a place is worth 1 / (K + place). Runs in a reader
thread; the reader decides which of the near passages the query's owners may see.
"""

from dataclasses import dataclass, field

from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.reader import Candidate, IndexReader

_RRF_K = 10
"""Chosen on both kinds of sets: 5 and 20 change MRR@10 over documentation by at most .013, and nDCG@10 of Cranfield by
.006."""

EXPANDED_SHARE = 1.0
"""What the ranking by vectors counts beside one by words that feedback has widened to words of the same subject.
Measured on Cranfield: nDCG@10 .439; with 1.5 .437, with 3 .421."""

_MOST_SHARE, _LEAST_SHARE = 12.0, 0.3
_UNSURE_COVERAGE, _SURE_COVERAGE = 0.6, 1.0
"""What it counts beside a ranking by words alone: 12 for a sentence of which the best page holds up to 60 % of the
weight, so that words decide between pages that are as near, and .3 at 100 %, where a name is found as it stands. Lists
of words and messages of programs have .3 as well: over 774 pages of 18 sites MRR@10 of 40 messages is .85 instead of
.72 (by words .89), of questions in other words .50 instead of .48 (.37), of 236 in all .66 instead of .63; of the 80
questions over 3,399 pages .808 instead of .802; .15 and .6 differ by .002.
Chosen on two thirds of 80 and 82 questions over two sets of documentation (`bench.search_quality`): MRR@10 .787 and
.755, with 3 instead .786 and .717, with 8 .785 and .754; a share of 1 for every query is .05 below on the first, since
the model does not know names. Over parts of the pages of three sets, 34 questions in other words: .69, with 8 .66, with
16 .70, and 26 other questions .75, .77 and .75. With .3 from 90 % on, MRR@10 is .831 instead of .846 for the 80
questions over 165 of their pages, and the same on two other sets (vectors of 256 tokens)."""

_NEXT_SHARE = 0.3
_NEXT_PASSAGES = 2
"""Share and number of the further passages in a page's rank, by words and by vectors. Measured as above, by words: the
best passage alone gives MRR@10 .70 and .67 (80 and 60 questions), these .74 and .78; a share of .5 is .01 below on
both. By vectors: with them questions without a shared word gain .03 and .08 where words are unsure."""

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
    for row, url, title in reader.names(list(pages)):
        page = pages[row]
        page.cosine = page.passages[0].score
        page.rank = page.strength() * (1 - _PRIOR_SHARE * (1 - page_prior(url, title, text)))
    return sorted(pages.values(), key=lambda page: -page.rank)


def near_share(coverage: float, sentence_degree: float) -> float:
    """What the ranking by vectors counts beside that by words, whose best page holds so much of the query (0 to 1), for
    a query that is a sentence so far (0 to 1)."""
    unsure = (_SURE_COVERAGE - coverage) / (_SURE_COVERAGE - _UNSURE_COVERAGE)
    return _LEAST_SHARE + (_MOST_SHARE - _LEAST_SHARE) * min(max(unsure, 0.0), 1.0) * sentence_degree


def fused(by_words: list[RankedPage], by_vectors: list[RankedPage], share_of_vectors: float) -> list[RankedPage]:
    """The pages of both rankings, best first, each with its passages of both.

    Among a page's passages both rankings count the same: those that the excerpts are made of. Measured on 84 questions
    (`bench.search_quality`): the passage that answers is in the first three excerpts for .75, with the share .71.
    """
    pages: dict[int, RankedPage] = {}
    worth: dict[int, float] = {}
    for ranking, share in ((by_words, 1.0), (by_vectors, share_of_vectors)):
        passages = sorted((each for page in ranking for each in page.passages), key=lambda each: -each.score)
        for place, each in enumerate(passages):
            worth[each.row] = worth.get(each.row, 0.0) + 1 / (_RRF_K + place + 1)
        for place, page in enumerate(ranking):
            both = pages.setdefault(page.row, RankedPage(page.row))
            both.rank += share / (_RRF_K + place + 1)
            both.cosine = max(both.cosine, page.cosine)
            known = {each.row for each in both.passages}
            both.passages += [each for each in page.passages if each.row not in known]
    for page in pages.values():
        page.passages.sort(key=lambda each: -worth[each.row])
    return sorted(pages.values(), key=lambda page: -page.rank)
