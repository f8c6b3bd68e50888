"""A query of the local index, and its form in FTS5's query language.

FTS5's syntax never sees a caller's text: each word is quoted.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources

import gateway.engines.embedding
from gateway.engines.words.sections import Passage
from gateway.engines.words.text import (
    CJK,
    STOP_WORDS,
    WORD,
    bigrams,
    fold,
    foreign_stop_words,
    name_parts,
    query_stems,
    words_of,
)

_MOST_WORDS = 32
"""Words of a query that are looked up."""

_ORDINARY_CHARS = 5
"""Letters from which a word that no English text has is taken for one of another language, unless its form is that of a
name (`getItem`, `x86`)."""
_NAME = re.compile(r"\w+(?:['’]\w+)?")
_ELIDED = re.compile(r"^(?:[a-z]|qu|dell?|nell?|all?|sull?|un)'(?=\w{3})")
"""An article or pronoun of French or Italian before the word that is meant (`l'eau`, `qu'elle`, `dell'acqua`)."""


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """`owners` are those whose pages may be found. Dates bound the publication date, or the fetch date without one.

    `phrases` must all occur as they stand. Pages fetched before `not_before` (Unix time) have expired.
    `passages` is how many of each page are wanted.
    `near` are passages whose vectors are near the query's, with cosines, nearest first, of whatever owner.
    """

    text: str
    owners: tuple[str, ...]
    count: int = 10
    phrases: tuple[str, ...] = ()
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    start: date | None = None
    end: date | None = None
    not_before: float = 0.0
    passages: int = 1
    near: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A found page. `score` is absolute, 0 to 1; below 0.3 the page most likely does not answer the query.

    `passages` are the best of the page, best first, as slices of `content`. `respelt`: misspelt words of the query and
    the words that were looked up instead, the same for all pages of an answer. `others`: further addresses with
    the same title and text.
    """

    url: str
    title: str
    content: str
    score: float
    published: str | None
    favicon: str | None
    passages: tuple[Passage, ...] = ()
    respelt: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What is looked up: `words` (a name with underscores is one, looked up as a phrase), and `pairs`: CJK pairs, and
    stems of words in other languages than English (`words.text.query_stems`).

    `needed`: words of which a passage must have all of one group; none where any word does.
    """

    words: tuple[str, ...]
    pairs: tuple[str, ...]
    needed: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.pairs)


def owner_token(owner: str) -> str:
    """An owner as one word of the index that no stemmer changes."""
    return f"o{owner.encode().hex()}7"


def query_terms(text: str) -> QueryTerms:
    """The words of a query, each once, in order: without stop words, unless there are no others.

    A name in camel case is looked up whole and in its parts, as the index has both .
    """
    words: dict[str, None] = {}
    for name in _NAME.findall(text):
        folded = fold(name.replace("’", "'"))
        if CJK.search(folded) or not name.strip("_"):
            continue
        words.setdefault((_ELIDED.sub("", folded) or folded).strip("_"))
        words.update(dict.fromkeys(map(fold, name_parts(name))))
    foreign_stops = foreign_stop_words(list(words))
    stops = STOP_WORDS | foreign_stops
    kept = ([word for word in words if word not in stops] or list(words))[:_MOST_WORDS]
    pairs = tuple(dict.fromkeys(bigrams(fold(text))))[:_MOST_WORDS]
    return QueryTerms(tuple(kept), pairs + query_stems(kept, kept if foreign_stops else _unknown(list(words))))


def is_english(text: str) -> bool:
    """Whether a query is in English as far as its words tell: none is in other letters, there are no stop words of
    another language, and it is not made of ordinary words alone that no English text has."""
    written = WORD.findall(text)
    words = WORD.findall(fold(text))
    if not all(map(str.isascii, words)) or foreign_stop_words(words):
        return False
    if not STOP_WORDS.isdisjoint(words) or any(map(is_known, words[:_MOST_WORDS])):
        return True
    return not all(len(word) >= _ORDINARY_CHARS and (word.islower() or word.istitle()) for word in written)


def _unknown(words: list[str]) -> list[str]:
    """The words that are no English ones, of a query without English stop words: it may be in another language."""
    if not STOP_WORDS.isdisjoint(words):
        return []
    return [word for word in words[:_MOST_WORDS] if word.isalpha() and not is_known(word)]


def match_expression(query: IndexQuery, terms: QueryTerms, *, with_owners: bool = True) -> str:
    """The MATCH text: passages of the query's owners (of all, without owners) with any of the terms, or with any of its
    phrases."""
    groups = terms.needed or [(word,) for word in terms.words]
    either = [" AND ".join(map(quoted, group)) for group in groups]  # of all columns: a column filter costs too much
    if terms.pairs:
        either.append("cjk : (" + " OR ".join(map(quoted, terms.pairs)) + ")")
    if query.phrases:
        either = [f"({_phrase(phrase)})" for phrase in query.phrases]
    asked = " OR ".join(either)
    if asked and not with_owners:
        return asked
    owners = " OR ".join(quoted(owner_token(owner)) for owner in query.owners)
    return f"owner : ({owners})" + (f" AND ({asked})" if asked else "")


def _phrase(phrase: str) -> str:
    """Passages that may hold the phrase: the words stemmed, CJK as its pairs. `holds_all` decides."""
    pairs = bigrams(fold(phrase))
    if not pairs:
        return f"{{title path body}} : {quoted(phrase)}"
    rest = [word for word in WORD.findall(fold(phrase)) if not CJK.search(word)]
    return " AND ".join([f"cjk : ({' AND '.join(map(quoted, pairs))})", *map(quoted, rest)])


def comparable(text: str) -> str:
    """The words of a text, folded, one blank between them: what phrases are compared in."""
    return " ".join(words_of(text))


def holds_all(text: str, phrases: list[str]) -> bool:
    """Whether every phrase is in the text (both `comparable`) in whole words; CJK needs no blank around it."""
    padded = f" {text} "
    return all(
        ("" if CJK.match(phrase[:1]) else " ") + phrase + ("" if CJK.match(phrase[-1:]) else " ") in padded
        for phrase in phrases
    )


def quoted(word: str) -> str:
    """A word or phrase as an FTS5 string."""
    return '"' + word.replace('"', '""').replace("\x00", "") + '"'


def conditions(query: IndexQuery, day: str) -> tuple[str, list[str]]:
    """SQL conditions on `pages` (each with ` AND ` before it), with `?` for each of their values, and the values.

    `day` is the store's SQL for the day a page is dated: published or else fetched, YYYY-MM-DD in UTC.
    """
    clauses: list[str] = []
    values: list[str] = []
    if query.include_domains:
        clauses.append("(" + " OR ".join(["host = ? OR host LIKE ? ESCAPE '!'"] * len(query.include_domains)) + ")")
        values += _suffixes(query.include_domains)
    for pair in zip(*[iter(_suffixes(query.exclude_domains))] * 2, strict=True):
        clauses.append("NOT (host = ? OR host LIKE ? ESCAPE '!')")
        values += pair
    if query.start is not None:
        clauses.append(f"{day} >= ?")
        values.append(query.start.isoformat())
    if query.end is not None:
        clauses.append(f"{day} <= ?")
        values.append(query.end.isoformat())
    return "".join(f" AND {clause}" for clause in clauses), values


def _suffixes(domains: tuple[str, ...]) -> list[str]:
    out: list[str] = []
    for domain in domains:
        escaped = domain.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        out += [domain, f"%.{escaped}"]
    return out


_ENDINGS = ("ing", "ers", "ed", "es", "er", "ly", "s", "d")
"""Endings of words whose base alone may be in the vocabulary (`staffing`, `rebooted`)."""
_LEAST_BASE_CHARS = 4
"""Shortest base, its silent e included (`gluing`)."""


@cache
def _lines() -> bytes:
    """The vocabulary, one entry a line, the first and the last one included in newlines."""
    return b"\n" + resources.files(gateway.engines.embedding).joinpath("vocabulary.txt").read_bytes() + b"\n"


def is_known(word: str) -> bool:
    """Whether a word in lower case, or what it is an inflection of, is in the vocabulary. 10 µs for each form."""
    lines = _lines()
    return any(b"\n%b\n" % form.encode() in lines for form in _forms(word))


def _forms(word: str) -> list[str]:
    forms = [word]
    for ending in _ENDINGS:
        base = word.removesuffix(ending)
        if len(word) > len(base) >= _LEAST_BASE_CHARS - 1:
            forms += [base, f"{base}e", base[:-1] if base[-1] == base[-2] else base]
    return [form for form in dict.fromkeys(forms) if len(form) >= _LEAST_BASE_CHARS]
