"""Tells whether a word is a known English word or name. Spelling correction leaves a known word as it is, even if no
indexed page contains it.

The word list is the vocabulary of the embedding model's tokenizer (`engines.embedding.wordpiece`), which the gateway
ships: the 22,000 most frequent words and names of English texts. `is_known` searches the file's bytes, because a set of
the words would take 2 MB.
"""

from functools import cache
from importlib import resources

import gateway.engines.embedding

_ENDINGS = ("ing", "ers", "ed", "es", "er", "ly", "s", "d")
"""Endings of words whose base alone may be in the vocabulary (`staffing`, `rebooted`)."""
_LEAST_BASE_CHARS = 4
"""Shortest base, its silent e included (`gluing`). Chosen: of shorter ones the vocabulary has every group of letters,
so any slip would be a word."""


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
