"""Fuses the ranking by words with the ranking by vectors: a page's rank is the sum of what its places are worth.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a place is worth 1 / (K + place). Runs in a reader
thread on one connection, which decides which of the near passages the query's owners may see.
"""

import sqlite3
from dataclasses import dataclass, field

from gateway.engines.index.candidates import Candidate
from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.query import IndexQuery, conditions

_RRF_K = 10
_NEAR_SHARE = 1.0
_PRIOR_SHARE = 0.3
_NEXT_SHARE = 0.0


@dataclass(slots=True)
class RankedPage:
    """`passages` best first. `cosine`: of its nearest passage, 0 when it was found by words alone."""

    row: int
    passages: list[Candidate] = field(default_factory=list)
    rank: float = 0.0
    cosine: float = 0.0


def near_passages(connection: sqlite3.Connection, query: IndexQuery) -> list[Candidate]:
    """The near passages that the query's owners may see and its conditions allow, nearest first."""
    if not query.near or query.phrases:
        return []
    clauses, values = conditions(query)
    marks, owners = ",".join("?" * len(query.near)), ",".join("?" * len(query.owners))
    sql = (
        "SELECT passages.id, passages.page FROM passages JOIN pages ON pages.id = passages.page"  # noqa: S608
        f" WHERE passages.id IN ({marks}) AND pages.owner IN ({owners}){clauses}"
    )
    rows = connection.execute(sql, [*(row for row, _ in query.near), *query.owners, *values])
    page_of = {int(row): int(page) for row, page in rows}
    return [Candidate(row, page_of[row], cosine) for row, cosine in query.near if row in page_of]


def near_pages(connection: sqlite3.Connection, near: list[Candidate], text: str) -> list[RankedPage]:
    """The pages of the near passages, nearest first."""
    pages: dict[int, RankedPage] = {}
    for each in near:
        pages.setdefault(each.page, RankedPage(each.page)).passages.append(each)
    marks = ",".join("?" * len(pages))
    names = connection.execute(f"SELECT id, url, title FROM pages WHERE id IN ({marks})", list(pages))  # noqa: S608
    for row, url, title in names:
        page = pages[row]
        page.cosine = page.passages[0].score
        page.rank = page.cosine * (1 - _PRIOR_SHARE * (1 - page_prior(url, title, text)))
        page.rank += _NEXT_SHARE * sum(each.score for each in page.passages[1:3])
    return sorted(pages.values(), key=lambda page: -page.rank)


def fused(by_words: list[RankedPage], by_vectors: list[RankedPage]) -> list[RankedPage]:
    """The pages of both rankings, best first, each with its passages of both."""
    pages: dict[int, RankedPage] = {}
    worth: dict[int, float] = {}
    for ranking, share in ((by_words, 1.0), (by_vectors, _NEAR_SHARE)):
        passages = sorted((each for page in ranking for each in page.passages), key=lambda each: -each.score)
        for place, each in enumerate(passages):
            worth[each.row] = worth.get(each.row, 0.0) + share / (_RRF_K + place + 1)
        for place, page in enumerate(ranking):
            both = pages.setdefault(page.row, RankedPage(page.row))
            both.rank += share / (_RRF_K + place + 1)
            both.cosine = max(both.cosine, page.cosine)
            both.passages += [each for each in page.passages if all(each.row != other.row for other in both.passages)]
    for page in pages.values():
        page.passages.sort(key=lambda each: -worth[each.row])
    return sorted(pages.values(), key=lambda page: -page.rank)
