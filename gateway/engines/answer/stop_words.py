"""Words of a query that say nothing of its subject, in the languages that most pages are written in.

English ones are stop words everywhere (`tokens`). Those of other languages are so in a query of that language only:
German `die` and French `pour` are English words of a subject. Pure.
"""

from collections.abc import Sequence, Set

_LEAST_CHARS = 3
_LONG_WORDS, _MIXED_WORDS = 2, 3
"""A query is in a language when it has two of its telling words of three letters or more, or one such and two shorter
ones. Chosen: short ones alone are codes and names in English queries (`de`, `en`, `la`); with one more of each, short
questions are not recognised."""

_TELLING = {
    "de": "der das und ist ich nicht ein eine einen einem einer eines wie wird werden kann mit von zum zur auf bei fur "
    "im dem den sich sie mein meine aus nach uber unter wenn warum welche welcher welches haben sind wurde oder aber "
    "auch noch nur vom gibt muss soll ohne durch wir wo wer zu es um",
    "fr": "une des pas que qui quoi pourquoi quand dans avec mes ses cette ces elle nous vous ils aux sont etre faire "
    "peut quel quelle le la les un du de et je ne ma sa ce il au en se ou",
    "es": "una unos como para cuando donde porque este esta puedo hacer las los por que el lo al es mi su se y de la",
    "it": "gli che della delle dei nel sono perche quando dove posso questo questa una di il lo un si la le",
    "pt": "uma nao sao quando onde fazer este esta para que um os do da em na de",
    "nl": "het een van niet hoe wat waar wie zijn voor naar uit bij aan dat wordt worden mijn de en ik op te er",
}
"""Folded (`tokens.fold`). None of three letters and more is a usual English word."""
_FURTHER = {
    "de": "die man hat war am an du ihr was so in des",
    "fr": "comment pour sans est par sur son mon on plus a l d",
    "es": "con sin sus del son mas no en a",
    "it": "come per con non fare piu del al senza mio e",
    "pt": "com por as dos das mais sem meu no o e a",
    "nl": "die is kan met om",
}
"""Those that are English words or names as well: stop words once a query is known to be in the language."""
_LANGUAGES = tuple(
    (frozenset(words.split()), frozenset(_FURTHER[language].split())) for language, words in _TELLING.items()
)


def foreign_stop_words(words: Sequence[str]) -> frozenset[str]:
    """The stop words of the languages, other than English, that a query of these folded words may be in."""
    present = set(words)
    found: frozenset[str] = frozenset()
    for telling, further in _LANGUAGES:
        own = present & telling
        long = sum(len(word) >= _LEAST_CHARS for word in own)
        if long >= _LONG_WORDS or (long and len(own) >= _MIXED_WORDS):
            found |= telling | further
    return found


def likeliest_stop_words(words: Set[str]) -> frozenset[str]:
    """The stop words of the language, other than English, of which a text with these folded words has most."""
    return max((telling | further for telling, further in _LANGUAGES), key=lambda each: len(each & words))
