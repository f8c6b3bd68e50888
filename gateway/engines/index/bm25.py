"""BM25 as SQLite's FTS5 computes it, in the form that another database can compute: the same weights, the same scores.

score = sum over the terms of idf * f * (K1 + 1) / (f + K1 * (1 - B + B * length / mean length)), where f adds up the
weights of the columns in which the term occurs, once for each occurrence, and lengths are all of a passage's tokens.
Source: sqlite.org/fts5.html, "The bm25() function", and its source fts5_aux.c, read 2026-11-22. Knows no database.
"""

import math

WEIGHTS = {"title": 4.0, "path": 4.0, "body": 1.0, "url": 2.0, "cjk": 1.0, "owner": 0.0}
"""BM25 weights of the columns (title, headings, body, address, CJK pairs, owner). Measured (`bench.search_quality`): 2,
2, 1, 1 and 6, 3, 1, 3 for the first four change MRR@10 by at most .02 on either of two sets of questions. Headings as
the title: on 264 questions over three sets .656, .776 and .783 instead of .635, .771 and .775 with 2, how-to .578 and
.857 instead of .549 and .836, and of 37 messages one ranks lower; with 5 or 6 the same within .005."""
K1, B = 1.2, 0.75
"""FTS5's constants, the usual ones of BM25."""
_LEAST_IDF = 1e-6
"""FTS5's own weight of a term that half of all passages or more have."""


def idf(total: int, count: int) -> float:
    """The weight of a term that `count` of `total` passages have."""
    weight = math.log((total - count + 0.5) / (count + 0.5)) if count < total + 0.5 else 0.0
    return weight if weight > 0 else _LEAST_IDF


def norm_sql(length: str, mean: str) -> str:
    """SQL for what a passage's length adds to a term's frequency in the divisor; both are SQL expressions above 0."""
    return f"({K1} * ({1 - B} + {B} * {length} / {mean}))"


def term_sql(weight: str, frequency: str, norm: str) -> str:
    """SQL for one term's part of the score. f / (f + n) is written 1 - n / (f + n), in which f stands once."""
    return f"{weight} * {K1 + 1} * (1 - {norm} / ({frequency} + {norm}))"
