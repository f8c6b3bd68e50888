"""Misspelt words of a query: a word that no page has is replaced by a word of the index that is one slip away.

A slip is a letter left out, added, changed or swapped with the next, never the first letter. The index is asked for
every such word, which applies its stemmer, so `cachign` finds `cached` as `caching` would. A word that is in use
(`query.is_known`) is meant as it stands, also where no page has it. Runs in a reader thread.
"""

import re
import string
from dataclasses import replace

from gateway.engines.index.candidates import IndexReader, PassageCounts
from gateway.engines.index.query import IndexQuery, QueryTerms, is_known
from gateway.engines.words.text import WORD, fold, foreign_stop_words, stem_of

_LEAST_CHARS, _MOST_CHARS = 5, 16
"""Length of a word that is corrected: shorter ones have neighbours in every index, longer ones are names of code, and
of the longest one 900 words are looked up. Measured (`bench.search_quality`, 47 questions with one slip each over 1,403
pages): MRR@10 .705 instead of .599, and 7 instead of 22 questions are called off-topic; with 4 or 6 as the least length
it is the same. Other questions and off-topic queries are judged as before, but for 2 of 100."""

_MOST_UNKNOWN = 2
"""Unknown words up to which a query is corrected: one with more is in another language or about another subject."""

_LEAST_FOUND, _FREQUENT = 2, 200
"""Passages that a word must be in to be proposed, and up to how many are counted: of several words that are one slip
away the most frequent one is meant."""

_PLAIN_WORD = re.compile(rf"(?<![\w'’./:-])[A-Za-z][a-z]{{{_LEAST_CHARS - 1},{_MOST_CHARS - 1}}}(?![\w'’/-]|[.:]\w)")


def respelt(reader: IndexReader, query: IndexQuery, asked: QueryTerms, counter: PassageCounts) -> dict[str, str]:
    """The misspelt words of a query with the terms `asked`, as they are written, and the words that are meant.

    Only words of passages that the query's owners may see are proposed. Names (`getItem`, `a.b`, `--option`) and
    queries in other languages than English are left alone.
    """
    if query.phrases or foreign_stop_words(WORD.findall(fold(query.text))):
        return {}
    words = [word for word in dict.fromkeys(_PLAIN_WORD.findall(query.text)) if word.lower() in asked.words]
    known = counter.of([word.lower() for word in words])
    missing = [word for word in words if not known[word.lower()]]
    unknown = [word for word in missing if stem_of(word.lower()) not in asked.pairs]
    if len(unknown) > _MOST_UNKNOWN:
        return {}
    slipped = [word for word in unknown if not is_known(word.lower())]
    meant = {word: _nearest(reader, query, counter, word.lower()) for word in slipped}
    return {word: other for word, other in meant.items() if other}


def corrected(query: IndexQuery, words: dict[str, str]) -> IndexQuery:
    """The query with the words replaced."""
    return replace(query, text=_PLAIN_WORD.sub(lambda found: words.get(found[0], found[0]), query.text))


def _nearest(reader: IndexReader, query: IndexQuery, counter: PassageCounts, word: str) -> str:
    """The most frequent word that is one slip away; empty when there is none."""
    found = [other for other, count in counter.of(slips(word)).items() if count >= _LEAST_FOUND]
    seen = {other: reader.count_visible(query, QueryTerms((other,), ()), _FREQUENT) for other in found}
    # Words in use are preferred, as the index's stemmer finds some that are none ("thieds" as "this").
    best = max(seen, key=lambda other: (seen[other], is_known(other)), default="")
    return best if best and seen[best] >= _LEAST_FOUND else ""


def slips(word: str) -> list[str]:
    """All words that are one slip away, about 54 for each letter of the word; first those of the likeliest slips.

    Of words as frequent the first one is meant: a letter is more often swapped or left out than added or changed.
    Measured on 239 words with one slip each over 3,399 pages: 206 are found again, 199 with letters that were left out
    last, 189 as well without the preference for words in use.
    """
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1)]
    shorter = [word[:at] + word[at + 1 :] for at in range(1, len(word))]
    longer = [word[:at] + letter + word[at:] for at in range(1, len(word) + 1) for letter in string.ascii_lowercase]
    changed = [word[:at] + letter + word[at + 1 :] for at in range(1, len(word)) for letter in string.ascii_lowercase]
    return [other for other in dict.fromkeys(swapped + longer + shorter + changed) if other != word]
