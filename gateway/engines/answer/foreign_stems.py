"""Stems words of languages other than English. The search index holds the stems beside the words themselves.

One rule serves many languages: `stem_of` removes the usual endings of nouns, adjectives and verbs until none fits.
A stem is no word, but most forms of a word share one (`Einstellung`, `einstellen`; `выпуск`, `выпуска`). Letters tell
Cyrillic and Greek words; stop words tell German, French, Spanish, Italian, Portuguese and Dutch texts. Pure.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from gateway.engines.answer.stop_words import likeliest_stop_words
from gateway.engines.answer.tokens import STOP_WORDS, WORD, fold

MARK = "\ue000"
"""Ends each stem: a character that no word of a text has, so that a stem is never taken for a word. A letter for
SQLite's tokenizer, as all of the private use area is."""
_LEAST_STEM_CHARS, _LEAST_LATIN_CHARS = 4, 5
"""Shortest stem that is left, and that of a word in Latin letters, since the endings of its language are not told from
those of the others. Chosen: with one letter less unlike words meet, with one more short words keep their ending."""
_LEAST_WORD_CHARS, _MOST_WORD_CHARS = 4, 40
"""Shortest and longest word that has a stem. Chosen: German compounds have up to 35 letters; a long word may be cut
letter by letter."""
_ENDINGS = {
    "cyrillic": "ениями ениях ением ения ение ению ений остями остях ости остью ость иями иях ием иям ями ами ях ах ям "
    "ам его ого ему ому ыми ими ией ей ой ий ый ев ов их ых ем ом им ым ая яя ою ею ую юю ое ее ые ие ия ию ии ья ью "
    "ье ьи ать ять ить еть уть ует ает яет ит ят ет ут ют ал ял ил ла ло ли а е и й о у ы ь ю я і ї є",
    "greek": "ματος ματων ματα εων εις ους ου ος ον οι ων ης ες ας α η ι ο ω υ ς",
    "latin": "ungen ung keiten keit heiten heit en er em es os as ar ir e n s o a i",
}
_BY_LETTERS = {
    script: sorted({fold(ending) for ending in endings.split()}, key=len, reverse=True)
    for script, endings in _ENDINGS.items()
}
_CYRILLIC = re.compile(r"[\u0400-\u052f]")
_GREEK = re.compile(r"[\u0370-\u03ff]")
_OTHER_LETTERS = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_TOLD_CHARS = 600
"""How many characters of a text `text_stems` reads to tell its language. Chosen: about ninety words. At half, it does
not recognise a passage that begins with a table or code; double costs more time for every English passage."""
_LEAST_STOPS = 3
"""How many different stop words of a language a text must have. Chosen: with two, English texts with names count as
French; with four, short passages are not recognised."""
_TIMES_ENGLISH = 2
"""A foreign text must have more than so many times as many of them as English stop words. Chosen: at half, English
texts with foreign names and abbreviations (`des`, `mit`, `de la`) count as foreign; at double, foreign texts with
English terms are not recognised."""


def stem_of(word: str) -> str:
    """The stem of a folded word (`tokens.fold`), followed by MARK; empty for a short or very long word."""
    if not _LEAST_WORD_CHARS <= len(word) <= _MOST_WORD_CHARS:
        return ""
    script = "cyrillic" if _CYRILLIC.match(word) else "greek" if _GREEK.match(word) else "latin"
    least = _LEAST_LATIN_CHARS if script == "latin" else _LEAST_STEM_CHARS
    while True:
        for ending in _BY_LETTERS[script]:
            if word.endswith(ending) and len(word) - len(ending) >= least:
                word = word[: -len(ending)]
                break
        else:
            return word + MARK


def text_stems(folded: str) -> list[str]:
    """The stems of a text's words. The text is folded (`tokens.fold`).

    A text that `is_foreign` has stems of all its words; any other text has stems of its Cyrillic and Greek words.
    """
    is_whole = is_foreign(WORD.findall(folded[:_TOLD_CHARS]))
    if not is_whole and (folded.isascii() or not _OTHER_LETTERS.search(folded)):
        return []
    return _stems(word for word in WORD.findall(folded) if is_whole or _OTHER_LETTERS.match(word))


def is_foreign(words: Sequence[str]) -> bool:
    """Whether a text with these folded words has the stop words of a language other than English."""
    present = set(words)
    foreign = len(present & likeliest_stop_words(present))
    return foreign >= _LEAST_STOPS and foreign > _TIMES_ENGLISH * len(present & STOP_WORDS)


def query_stems(words: Iterable[str], latin: Collection[str]) -> tuple[str, ...]:
    """The stems of a query's Cyrillic and Greek words and of its words in `latin`, each stem once. `latin`: words in
    Latin letters that may be of a language other than English."""
    wanted = [word for word in words if word.isalpha() and (word in latin or _OTHER_LETTERS.match(word))]
    return tuple(dict.fromkeys(_stems(wanted)))


def has_stem(words: Iterable[str], stem: str) -> bool:
    """Whether one of the folded words has the stem."""
    return any(word.startswith(stem[:-1]) and stem_of(word) == stem for word in words)


def _stems(words: Iterable[str]) -> list[str]:
    return [stem for word in words if (stem := stem_of(word))]
