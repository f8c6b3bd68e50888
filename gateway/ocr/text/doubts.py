"""Settles characters that a recogniser confuses: `0` and `O`, `1`, `l`, `I` and `|`.

The characters around decide, and the recogniser's second choice there:

    settle("|0,50", ("1", "", "", "", ""))    # ("10,50", []): both say 1
    settle("ERR0R", ("", "", "", "D", ""))    # ("ERROR", [Doubt("ERROR", "ERR0R")]): the letters alone say O
    settle("v1beta1 0x0f A4", ...)            # unchanged: such words may hold both

Only a word whose other characters are all digits, or all letters, says what a character of it must be.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# What each character may be instead: a digit in a number, a letter in a word.
DIGIT_OF = {"O": "0", "o": "0", "Q": "0", "D": "0", "l": "1", "I": "1", "|": "1", "!": "1"}
LETTERS_OF = {"0": "Oo"}
LOOK_ALIKES = frozenset(DIGIT_OF) | frozenset(LETTERS_OF) | {"1"}
SIGNS = frozenset("|!")  # no part of a number or a word: they may be a rule or an exclamation
# An amount, a time or a date: a number with a part after a point, a comma or a colon.
PARTED = re.compile(r"[-+(]?[€$£]?\d{1,16}(?:[.,:/-]\d{1,16}){1,8}(?:%|€|-|\))?[.,;]?")
HEXADECIMAL = re.compile(r"0[xob]|[0-9a-fA-FOol|]{0,64}\Z")
MIN_LETTERS = 3  # other letters of a word that surely is one
WORD = re.compile(r"\S+")


class Doubt(NamedTuple):
    """A word as it is given, and what else it may be."""

    text: str
    other: str


def settle(text: str, seconds: Sequence[str]) -> tuple[str, list[Doubt]]:
    """The text, of the same length, with its confused characters settled, and the words of which that is not certain.

    `seconds`: for each character the recogniser's second choice, "" where none is known.
    """
    if LOOK_ALIKES.isdisjoint(text):
        return text, []
    settled, doubts = list(text), list[Doubt]()
    for match in WORD.finditer(text):
        word = match[0]
        if LOOK_ALIKES.isdisjoint(word):
            continue
        known = list(seconds[match.start() : match.end()]) or [""] * len(word)
        new, is_certain = _settled(word, known)
        settled[match.start() : match.end()] = new
        if new != word and not is_certain:
            doubts.append(Doubt(new, word))
    return "".join(settled), doubts


def _settled(word: str, seconds: list[str]) -> tuple[str, bool]:
    """The word, and whether the recogniser's second choices agree with every change."""
    others = [character for character in word if character not in LOOK_ALIKES]
    letters, digits = sum(map(str.isalpha, others)), sum(map(str.isdigit, others))
    digits += sum(character in "01" for character in word) if not letters else 0
    if digits and not letters:
        return _as_number(word, seconds)
    if letters >= MIN_LETTERS and not digits and not HEXADECIMAL.match(word):
        return _as_word(word, seconds)
    return word, True


def _as_number(word: str, seconds: list[str]) -> tuple[str, bool]:
    new = "".join(DIGIT_OF.get(character, character) for character in word)
    changed = [place for place, character in enumerate(word) if character in DIGIT_OF]
    if not changed:
        return word, True
    last = len(word) - 1
    for place in changed:
        agrees = seconds[place] == new[place]
        is_inside = 0 < place < last and new[place - 1].isdigit() and new[place + 1].isdigit()
        is_inside &= agrees or word[place] not in SIGNS
        is_first_bar = place == 0 and word[place] == "|"
        if not (agrees or is_inside or is_first_bar) or (word[place] in SIGNS and place == last):
            return word, True
        if not is_inside and not PARTED.fullmatch(new):
            return word, True
    return new, all(seconds[place] == new[place] for place in changed)


def _as_word(word: str, seconds: list[str]) -> tuple[str, bool]:
    new, is_certain = list(word), True
    for place, character in enumerate(word):
        letters = LETTERS_OF.get(character)
        before, after = word[place - 1 : place], word[place + 1 : place + 2]
        is_inside = before.isalpha() and after.isalpha()
        if letters is None or not (is_inside or (character == "0" and not before.isalnum() and after.isalpha())):
            continue
        agrees = seconds[place] in letters and seconds[place] != ""
        by_case = letters[0] if (after.isupper() or (before or after).isupper() or not before) else letters[-1]
        new[place] = seconds[place] if agrees else by_case
        is_certain &= agrees
    return "".join(new), is_certain
