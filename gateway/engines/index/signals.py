"""BM25 as SQLite's FTS5 computes it, in the form that another database can compute: the same weights, the same scores.

score = sum over the terms of idf * f * (K1 + 1) / (f + K1 * (1 - B + B * length / mean length)), where f adds up the
weights of the columns in which the term occurs, once for each occurrence, and lengths are all of a passage's tokens.
Source: sqlite.org/fts5.html, "The bm25() function", and its source fts5_aux.c, read 2026-11-22.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from heapq import nlargest

from gateway.engines.index.candidates import Candidate, IndexReader, PassageCounts, RankedPage, StoredPages
from gateway.engines.index.query import QueryTerms
from gateway.engines.words.text import (
    INSTRUCTION_WORDS,
    MARK,
    STOP_WORDS,
    fold,
    foreign_stop_words,
    has_stem,
    stem,
    stem_of,
    terms,
    terms_among,
    words_of,
)

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


def bm25(weights: Sequence[float], frequencies: Sequence[float], length: float) -> float:
    """The score of a passage: the weight of each term, how often the passage has it (column weights added up), and the
    passage's length as a multiple of the mean."""
    norm = K1 * (1 - B + B * length)
    return sum(
        weight * count * (K1 + 1) / (count + norm) for weight, count in zip(weights, frequencies, strict=True) if count
    )


_RELEASE_NOTES = re.compile(
    r"\b(?:change ?logs?|changes|release ?notes?|releases?|what ?s ?new|news|history|migration|announcements?)\b"
)
_LISTING = re.compile(
    r"\b(?:gen ?index(?: [a-z]+)?|book ?index|mod ?index|py modindex|index|contents|toc|sitemap|glossary"
    r"|quick ?reference|cross ?ref(?:erence)?|all)$"
)
_SOURCE = re.compile(r"/_modules/|/_sources/|/src/|/source/|\.(?:c|h|cc|cpp|py|rs|go|js|java)\.html?$")
_NOT_WORDS = re.compile(r"[\W_]+")

_PATH_CHARS, _TITLE_CHARS = 400, 200
"""Beginnings of a path and a title that are read: longer ones do not name a kind."""

RELEASE_NOTES_SHARE = 0.8
LISTING_SHARE = 0.7
SOURCE_SHARE = 0.75
"""By how much such pages' scores are lowered. Chosen on 139 questions over 5,500 documentation pages of 13 sites
(`bench.search_quality`): at half, pages that truly answer are lost behind weak guides; near 1, general indexes and
listings of modules come first for one question in twenty.
"""

NAMED_SITE_SHARE = 1.3
_LEAST_NAME_CHARS = 3
_LEAST_NAME_SHARE = 0.4
"""By how much the pages of a site are raised that a word of the query names: the word is a label of the host or the
first folder of the path, or begins it (`postgres` names www.postgresql.org) and is at least so long. Chosen on 239
questions over four sets of documentation (`bench.search_quality`): MRR@10 .716 instead of .700, questions in other
words than the page's .404 instead of .370, and no kind is below; at 1.1 .704, at 2 .720, where a site's name counts
more than the question."""
_LABEL = re.compile(r"[^\W\d_]\w{0,60}")


def page_prior(query: str) -> Callable[[str, str], float]:
    """The factor for the score of a page with an address and a title, 0.5 to 1.3. `query` is the caller's text."""
    asked = _bare(query)
    wants_source, wants_listing = "source" in asked, _LISTING.search(asked) is not None
    wants_notes = _RELEASE_NOTES.search(asked) is not None
    words = {word for word in _LABEL.findall(query.lower()) if len(word) >= _LEAST_NAME_CHARS} - INSTRUCTION_WORDS

    def prior(url: str, title: str) -> float:
        host, _, path = url.partition("://")[2].lower().partition("/")
        named = NAMED_SITE_SHARE if words and _is_named(host, path, words) else 1.0
        path = path.partition("?")[0]
        leaf = _bare(path.rpartition("/")[2].removesuffix(".html").removesuffix(".htm")).strip()
        if not wants_source and _SOURCE.search("/" + path):
            return SOURCE_SHARE * named
        if not wants_notes and _RELEASE_NOTES.search(f"{_bare(path[:_PATH_CHARS])}. {_bare(title[:_TITLE_CHARS])}"):
            return RELEASE_NOTES_SHARE * named
        if leaf and leaf != "index" and not wants_listing and _LISTING.search(leaf):
            return LISTING_SHARE * named
        return named

    return prior


def _bare(text: str) -> str:
    """The words of a text, one blank between them."""
    return _NOT_WORDS.sub(" ", text.lower())


def _is_named(host: str, path: str, words: Set[str]) -> bool:
    """Whether one of the words names the page's site."""
    folder, slash, _ = path[:_PATH_CHARS].partition("/")
    labels = _LABEL.findall(f"{host.rpartition('.')[0]} {folder if slash else ''}")
    return any(
        label.startswith(word) and len(word) >= len(label) * _LEAST_NAME_SHARE for word in words for label in labels
    )


_CLOCK = r"\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_STAMP = (
    rf"\b\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?|"  # 2025-02-11 09:12:44
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    rf" {{1,2}}\d{{1,2}} {_CLOCK}(?: \d{{4}})?"  # Tue Mar 04 11:20:31 2025
)
_MARK = re.compile(rf"\w[\])]?:\s|[a-z](?:Error|Exception|Warning)\b|{_STAMP}|==\d{{1,10}}==|\w\[\d{{3,10}}\]")
"""What makes a query a message: a label before a text (`FATAL: …`, `app.py:7: error: …`), an exception's name, a time,
or the number of a process (`==4021==`, `worker[311]`)."""

_OWN_PARTS = re.compile(
    rf"{_STAMP}|\b0x[0-9A-Fa-f]{{1,16}}\b|\b\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}(?::\d{{1,5}})?\b"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"  # an e-mail address
    r"|\[\d{1,10}\]|==\d{1,10}==|\b(?:pid|tid|uid|gid) ?[=:]? ?\d{1,20}\b"
)
_OWN_NUMBER = re.compile(
    r"(?<![\w.(])(?<!rrno )(?<!rror )(?<!ode )(?<!ignal )(?<!tatus )\d{1,2}(?:[.,]\d{1,9}){0,4}(?![\w.]{0,20}\w)"
)
"""Parts of a message that are of one run: times, addresses, processes; and numbers that are, of one or two digits or
with a point, unless a word before them or a parenthesis says that they are a code. Chosen on 93 messages over 23 sites
of documentation (`bench.search_quality`): MRR@10 .836 instead of .802, plain FTS5 bm25 .658; without the parts alone
.820; without paths and addresses of pages as well .81, since these name the program; without all numbers .817."""

_LEAST_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{2,64}")
"""A message that would keep fewer words than this, such as one of numbers alone, is searched for unchanged."""


def is_message(text: str) -> bool:
    """Whether a query has the form of a program's message."""
    return _MARK.search(text) is not None


def lasting_text(text: str) -> str:
    """A message without the parts that are of one run alone; any other query as it is."""
    if not is_message(text):
        return text
    lasting = _OWN_NUMBER.sub(" ", _OWN_PARTS.sub(" ", text))
    return lasting if len(_WORD.findall(lasting)) >= _LEAST_WORDS else text


_COVERAGE_SHARE = 1.0
_SENTENCE_SHARE = 0.5
"""By how much a passage gains that holds the whole query, as a share of its score, when no word of the query is a stop
word; and the share of stop words from which it gains nothing. Chosen on 239 questions over four sets of documentation
(`bench.search_quality`): MRR@10 .700 instead of .689, over messages of errors .883 instead of .853, on no kind below;
with a gain for questions as well, messages have .907 but questions .748 instead of .761. A share of 2 is .003 below.
Gains by pairs of words that stand together, instead or besides, are below on most sets."""

_RUN_SHARE = 0.5
_LEAST_RUN = 4
"""By how much more a passage gains in which words of the query stand together as they were asked, as a share of their
weight, and how many at least: what a program says is pasted, and who documents it quotes it. Chosen on two thirds of 80
and 106 questions over two sets of documentation (`bench.search_quality`): MRR@10 of the second set .656 instead of
.629, of its 12 messages .872 instead of .712 (three rank higher, none lower), of the first set the same; of the other
thirds as well. With a share of 1 messages of the first set are second, as a quotation is not always the answer; with
three words lists of names gain by chance. Pairs of words were not found to help (see above)."""
_MOST_RUN_WORDS = 32
"""Words of a query that are looked for together, as many as are looked up at all (`query`)."""

_COVERAGE_PAGES = 20
"""Pages whose best passages are read for it. Measured as above: with 10 .695; with 40 as with 20, at twice the work,
which is .15 ms for each."""


def word_weights(counter: PassageCounts, asked: QueryTerms, total: int) -> dict[str, float]:
    """Stem -> weight of a word of the query: the logarithm of how rare it is among the `total` passages. A word whose
    foreign stem is looked up has that stem alone."""
    weights: dict[str, float] = {}
    words = [word for word in asked.words if stem_of(word) not in asked.pairs]
    for word, count in counter.of((*words, *asked.pairs)).items():
        for term in [word] if word.endswith(MARK) else terms(word):
            weights[term] = max(weights.get(term, 0.0), math.log((max(total, count) + 1) / (count + 0.5)))
    return weights


def coverage(words: Sequence[str], weights: dict[str, float]) -> float:
    """The share of the weights, 0 to 1, whose words are among the words of a text (`words_of`); 1 without weights."""
    whole = sum(weights.values())
    stems = [term for term in weights if term.endswith(MARK)]
    present = terms_among(words, weights.keys() - stems if stems else weights)
    if stems:
        present |= {each for each in stems if has_stem(words, each)}
    return sum(weight for term, weight in weights.items() if term in present) / whole if whole > 0 else 1.0


def by_coverage(reader: IndexReader, pages: list[RankedPage], text: str, weights: dict[str, float]) -> list[RankedPage]:
    """The pages, best first, where those gain whose best passages hold most of the query `text`."""
    share = _COVERAGE_SHARE * (1 - sentence_degree(text))
    first = {page.passages[0].row: page for page in pages[:_COVERAGE_PAGES]}
    if not share or len(weights) < 2 or not first:
        return pages
    words = words_of(text)[:_MOST_RUN_WORDS]
    whole = sum(weights.values()) or 1.0
    of_words = [weights.get(stem_of(word), weights.get(stem(word), 0.0)) / whole for word in words]
    for row, title, headings, body in reader.passage_words(list(first)):
        held = words_of(f"{title} {headings} {body}")
        first[row].rank *= 1 + share * coverage(held, weights)
        first[row].rank *= 1 + share * _RUN_SHARE * heaviest_run(words, of_words, " ".join(held))
    return sorted(pages[:_COVERAGE_PAGES], key=RankedPage.order) + pages[_COVERAGE_PAGES:]


def heaviest_run(words: Sequence[str], weights: Sequence[float], text: str) -> float:
    """The share of a query's weight, 0 to 1, whose words stand together in a `comparable` text in their order: of the
    heaviest run of at least _LEAST_RUN words; 0 where there is none."""
    padded = f" {text} "
    heaviest, end = 0.0, 0
    for start in range(len(words) - _LEAST_RUN + 1):
        end = max(start, end)  # what stands together from one word on does so from the next one on
        while end < len(words) and f" {' '.join(words[start : end + 1])} " in padded:
            end += 1
        if end - start >= _LEAST_RUN:
            heaviest = max(heaviest, sum(weights[start:end]))
    return min(heaviest, 1.0)


def sentence_degree(text: str) -> float:
    """How far a query is a sentence: 0 without stop words, 1 from a share of _SENTENCE_SHARE of them on."""
    words = words_of(text)
    stop_words = STOP_WORDS | foreign_stop_words(words)
    stops = sum(word in stop_words for word in words)
    return min(stops / (_SENTENCE_SHARE * len(words)), 1.0) if words else 1.0


_DEFINITIONS_SHARE = 1.0
"""By how much a page gains. Chosen on 124 names (settings, functions, classes, directives, fields) over seven sites,
the right page told by the anchor of the definition (`bench.search_quality`): MRR@10 .927 instead of .766, plain FTS5
bm25 .722; with .25 .857, with .5 .894. 128 headings of one or two words, as queries: .669 instead of .631."""
_DEFINITIONS_PAGES, _PASSAGES = 20, 5
"""The best pages that are compared, as in `coverage`, and how many of their best passages are read."""

_NAME = re.compile(r"([^\W\d][\w.:-]{2,80}+)(?:\(\)|=)?")
_LIST_ITEM = re.compile(r"(?:[-+]|\d{1,9}[.)])\s")
_HEADING_REST_CHARS = 12
"""What may follow a name in its heading, as "directive" does."""
_TERM_CHARS = 200
_DESCRIPTION_CHARS = 400
"""Longest line that may be a term, as in `passages`, and beginning of its description in which a sentence ends."""
_SENTENCE_END = re.compile(r"[.:!?](?:\s|\Z)")
_MOST_PLACES = 20
"""Occurrences of a name that are checked in one passage: real pages have fewer."""
_BLANKS = re.compile(r"[ \t_]+")


def by_definition(reader: IndexReader, pages: list[RankedPage], text: str) -> list[RankedPage]:
    """The pages, best first, where for a name those gain that define it; the passage that does comes first."""
    found = _NAME.fullmatch(text.strip())
    if found is None:
        return pages
    name = _plain(found[1].rstrip(".:-"))
    best = pages[:_DEFINITIONS_PAGES]
    page_of = {each.row: page for page in best for each in page.passages[:_PASSAGES]}
    defining: dict[int, int] = {}
    for row, title, headings, body in reader.passage_words(list(page_of)):
        if _holds(_plain(title), name) or defines(name, headings, body):
            defining.setdefault(page_of[row].row, row)
    for page in best:
        if first := defining.get(page.row):
            page.rank *= 1 + _DEFINITIONS_SHARE
            page.passages = sorted(page.passages, key=partial(_is_other, first))
    return sorted(best, key=RankedPage.order) + pages[_DEFINITIONS_PAGES:]


def defines(name: str, headings: str, body: str) -> bool:
    """Whether a passage defines the name: in its last heading, or as a term."""
    path = _plain(headings)
    at = path.rfind(name)
    if at >= 0 and len(path) - at - len(name) <= _HEADING_REST_CHARS and _holds(path[max(at - 1, 0) :], name):
        return True
    folded = _plain(body)
    at = -1
    for _ in range(_MOST_PLACES):
        at = folded.find(name, at + 1)
        if at < 0:
            return False
        start, end = folded.rfind("\n", 0, at) + 1, folded.find("\n", at)
        if end < 0:
            return False
        if _is_term(folded[start:end], name) and _is_described(folded[end : end + _DESCRIPTION_CHARS]):
            return True
    return False


def _is_other(row: int, each: Candidate) -> bool:
    return each.row != row


def _plain(text: str) -> str:
    """The text as names are compared in: folded, and without underscores, which the index's texts do not have."""
    return _BLANKS.sub(" ", fold(text))


def _is_term(line: str, name: str) -> bool:
    line = line.strip()
    return len(line) <= _TERM_CHARS and line[-1:] not in ".:;,!?" and not _LIST_ITEM.match(line) and _holds(line, name)


def _is_described(text: str) -> bool:
    """Whether a blank line and a sentence follow."""
    blank, _, below = text[1:].partition("\n")
    sentence = below.lstrip().partition("\n")[0]
    return not blank.strip() and _SENTENCE_END.search(sentence) is not None and not _LIST_ITEM.match(sentence)


def _holds(line: str, name: str) -> bool:
    """Whether the name is in the line as a whole word."""
    before, found, after = line.partition(name)
    return bool(found) and not (before[-1:].isalnum() or after[:1].isalnum())


_PAGE_WORDS_SHARE = 1.5
"""Largest gain of a page, for a query of which half the words are stop words. Chosen on 192 questions over 23 sites of
documentation (`bench.search_quality`): how-to questions have an MRR@10 of .821 with 1 instead of .776, other questions
.764 instead of .763, other kinds as before but for two messages; .5 gives .800, 1.5 .843. On 264 questions over three
sets 1.5 instead of 1 gives .637, .776 and .776 instead of .635, .771 and .775, no kind below; with 2, messages are."""
_PAGE_WORDS_PAGES = 10
"""The best pages that are compared, all read for the answer anyway. With 20 the result is the same."""

_MEAN_CHARS = 20_000
"""Length of a page that neither gains nor loses by it, as pages of manuals have."""
_MOST_CHARS, _MOST_TERMS, _LEAST_TERM_CHARS = 100_000, 8, 3
"""Beginning of a page that is counted, the heaviest words of the query, and their least length, since stems are counted
wherever they stand."""


def by_page_words(
    stored: StoredPages, pages: list[RankedPage], text: str, weights: Mapping[str, float]
) -> list[RankedPage]:
    """The pages, best first. For a sentence, the rank of the best _PAGE_WORDS_PAGES is raised by the BM25 score of
    their texts for the words of `weights`."""
    share = _PAGE_WORDS_SHARE * sentence_degree(text)
    best = pages[:_PAGE_WORDS_PAGES]
    terms = nlargest(_MOST_TERMS, (term for term in weights if len(term) >= _LEAST_TERM_CHARS), key=weights.__getitem__)
    if not share or len(best) < 2 or len(terms) < 2 or is_message(text):
        return pages
    held = [_held(stored, page.row, {term: weights[term] for term in terms}) for page in best]
    most = max(held)
    for page, each in zip(best, held, strict=True):
        page.rank *= 1 + share * each / most if most else 1
    return sorted(best, key=RankedPage.order) + pages[_PAGE_WORDS_PAGES:]


def _held(stored: StoredPages, row: int, weights: Mapping[str, float]) -> float:
    """The BM25 score of a page's text for the weighted stems; 0 for a page that is gone."""
    page = stored.read(row)
    if page is None:
        return 0.0
    text = page.content[:_MOST_CHARS].lower()
    norm = K1 * (1 - B + B * len(text) / _MEAN_CHARS)
    counts = ((weight, text.count(term.removesuffix(MARK))) for term, weight in weights.items())
    return sum(weight * (K1 + 1) * count / (count + norm) for weight, count in counts)
