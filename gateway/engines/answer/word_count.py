"""How many words a text has, in scripts that part words by blanks and in those that do not. Pure."""

import re

_WORD = re.compile(r"\w+")
_UNPARTED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of Thai, Lao, Burmese, Khmer, kana and Chinese characters."""
_CHARS_A_WORD = 2
"""Letters of such a run that count as a word: the usual length of Chinese and Japanese words."""


def unparted_words(text: str) -> int:
    """Words of runs in scripts without blanks, beyond the one as which each run counts."""
    if text.isascii():
        return 0
    return sum(len(run) // _CHARS_A_WORD - 1 for run in _UNPARTED.findall(text) if len(run) > _CHARS_A_WORD)


def count_words(text: str, most: int) -> int:
    """Words of a text, counted no further than `most`."""
    count = 0
    for count, _ in enumerate(_WORD.finditer(text), 1):
        if count >= most:
            return count
    return min(most, count + unparted_words(text))
