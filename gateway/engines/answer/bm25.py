"""BM25: how well texts answer a query, judged by their words among the other texts of the same set.

Pure. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from gateway.engines.answer.tokens import terms

_K1 = 1.2
_B = 0.75
"""BM25's saturation and length normalisation: the usual defaults (Lucene, SQLite FTS5), not tuned here."""
_HEADING_WEIGHT = 0.5
"""Share of a term's weight that a heading adds. Chosen: at 0 a text below the heading that names the subject loses to
a passing mention; at 1 a heading alone counts as much as an answer."""


def rarity(bags: list[Counter[str]], wanted: Iterable[str]) -> dict[str, float]:
    """The weight of each wanted term: the fewer of the bags (the words of one text each) hold it, the more."""
    weights = {}
    for term in wanted:
        matches = sum(1 for bag in bags if term in bag)
        weights[term] = math.log(1 + (len(bags) - matches + 0.5) / (matches + 0.5))
    return weights


def scores(bags: list[Counter[str]], weights: Mapping[str, float]) -> list[float]:
    """The BM25 score of each bag for the weighted terms; 0 for one that holds none."""
    sizes = [sum(bag.values()) for bag in bags]
    mean = max(sum(sizes) / len(sizes), 1.0) if sizes else 1.0
    return [
        sum(
            weight * bag[term] * (_K1 + 1) / (bag[term] + _K1 * (1 - _B + _B * size / mean))
            for term, weight in weights.items()
            if term in bag
        )
        for bag, size in zip(bags, sizes, strict=True)
    ]


def bm25(texts: list[str], query: str, headings: list[str] | None = None) -> list[float]:
    """One BM25 score per text. A query term in the text's heading adds `_HEADING_WEIGHT` of the term's weight."""
    bags = [Counter(terms(text)) for text in texts]
    weights = rarity(bags, set(terms(query)))
    found = scores(bags, weights)
    if headings is None:
        return found
    named = [weights.keys() & set(terms(heading)) for heading in headings]
    return [
        score + _HEADING_WEIGHT * sum(weights[term] for term in words)
        for score, words in zip(found, named, strict=True)
    ]
