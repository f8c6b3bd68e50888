"""The score of a result, 0 to 1: how likely its page answers the query, whatever else is in the index.

A rank says which page is better, not whether it is good. So the score is a logistic function of what can be seen of one
page and the query: how much of the query's weight one passage holds, how much of it the headings hold, how rare the
words are, with vectors how near a passage is. Two common words somewhere in a long page make a middling score, the same
two in a heading a high one. Pure arithmetic; `ranking` collects the evidence.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

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
