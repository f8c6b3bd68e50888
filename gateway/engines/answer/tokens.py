"""Words of a text for ranking: tokens, stop words, a light English stemmer, CJK bigrams.

Pure; used in the server and in the parsing processes. The search index stems with SQLite's own Porter stemmer instead.
"""

import re
import unicodedata
from collections.abc import Collection

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_STOP = (
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing down during each few for from further had has have having he her here hers him his "
    "how i if in into is it its itself just me more most my no nor not now of off on once only or other our ours out "
    "over own same she should so some such than that the their theirs them then there these they this those through to "
    "too under until up very was we were what when where which while who whom why will with would you your yours"
)
_INSTRUCTION = (
    "find get give show list only page pages about look looking looks extract crawl fetch return include including "
    "related relevant contain contains containing information info content contents section sections please want need "
    "everything anything something site website web documentation docs doc url urls link links all any text "
    "mention mentions mentioning describe describes describing explain explains explaining concerning"
)
STOP_WORDS = frozenset(_STOP.split())
"""English words that say nothing of a text's subject."""
INSTRUCTION_WORDS = STOP_WORDS | frozenset(_INSTRUCTION.split())
"""Stop words, and words that say what to do with pages instead of which pages."""
_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")
"""Endings that `stem` removes, longest first where one ends with another."""
_MIN_WORD_CHARS = 4
_MIN_STEM_CHARS = 3
"""Shortest word that is stemmed and shortest stem that remains. Chosen: with one character less, unlike short words get
one stem; with one more, short words keep their plural and so differ from the singular."""
_CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_PHRASES = {0xFDFA: " ", 0xFDFB: " "}
"""Letters that stand for a whole phrase of 18 and 8 letters. They name no subject, and a page of nothing else would
cost fifteen times as much as any other."""
_VOICING = "\u3099\u309a"
"""The marks that make other letters of kana (ha, ba, pa)."""
_VOWEL_BEFORE = re.compile(r"[aeiouy]")


def fold(text: str) -> str:
    """The text in lower case and without accents. Voiced kana and Hangul syllables stay letters of their own, and
    half-width kana are written as wide ones."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.lower().translate(_PHRASES))
    bare = "".join(char for char in decomposed if not unicodedata.combining(char) or char in _VOICING)
    return unicodedata.normalize("NFC", bare)


def terms(text: str, stop: frozenset[str] = STOP_WORDS) -> list[str]:
    """Stems of the text's words without those in `stop`, CJK runs as bigrams; all words when there are no others."""
    folded = fold(text)
    words = [word.replace("’", "'").removesuffix("'s") for word in WORD.findall(folded)]
    stems: list[str] = []
    for word in [word for word in words if word not in stop] or words:
        if CJK.search(word):
            stems += bigrams(word)
        else:
            stems.append(stem(word))
    return stems


def terms_among(text: str, wanted: Collection[str]) -> set[str]:
    """Those of `wanted` that are terms of the text: `set(terms(text))` cut to `wanted`, at a third of its cost.

    Only words that may have such a stem are stemmed: a stem without its last letter begins its word (see `stem`).
    """
    if any(CJK.search(each) for each in wanted):
        return set(terms(text)).intersection(wanted)
    words = {word.replace("’", "'").removesuffix("'s") for word in WORD.findall(fold(text))}
    beginnings = tuple(each[:-1] for each in wanted)
    kept = [word for word in words - STOP_WORDS or words if word.startswith(beginnings)]
    return {stem(word) for word in kept if not CJK.search(word)}.intersection(wanted)


def name_parts(name: str) -> list[str]:
    """The parts of a name in camel case (`getElementById`: get, Element, By, Id); none for any other word."""
    if name.islower() or name.isupper() or name[1:].islower() or not name.isascii():
        return []
    parts = [part for part in _CAMEL_JOINT.split(name) if part]
    return parts if len(parts) > 1 else []


def joined_name_parts(text: str) -> str:
    """The parts of every name in camel case in a text, each name once: indexed beside the text itself."""
    names = dict.fromkeys(_ASCII_WORD.findall(text))
    return " ".join(part for name in names for part in name_parts(name))


def bigrams(text: str) -> list[str]:
    """Every two neighbouring CJK characters of the text; a single one by itself."""
    pairs: list[str] = []
    for run in CJK.findall(text):
        pairs += [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs


def stem(word: str) -> str:
    """The word without common English endings, so that `crawling` equals `crawled` and `caches` equals `cache`."""
    if len(word) < _MIN_WORD_CHARS or not word.isascii():
        return word
    for ending in _ENDINGS:
        length = len(ending)
        if word.endswith(ending) and len(word) - length >= _MIN_STEM_CHARS and _VOWEL_BEFORE.search(word[:-length]):
            if ending == "s" and word.endswith("ss"):
                return word
            base = word[:-length]
            if ending == "ies":
                return base + "i"
            if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls":
                return base[:-1]
            return base.rstrip("e")
    return word[:-1] + "i" if word.endswith("y") and len(word) > 4 else word.rstrip("e")
