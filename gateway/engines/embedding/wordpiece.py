"""Texts as numbers of word pieces: the tokenizer of BERT, uncased, which the embedding model was trained with.

Source of the method: Devlin et al., "BERT" (2019), and Wu et al., "Google's Neural Machine Translation System" (2016),
section 4.1. `vocabulary.txt` is the vocabulary of bert-base-uncased (Apache License 2.0, see `vocabulary.LICENSE`;
SHA-256 07eced37…, as published by Google Research). Pure; knows no model.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from string import punctuation

_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"
_MAX_WORD_CHARS = 100
"""Longest word that is cut into pieces; a longer one is unknown. From BERT's tokenizer."""
_CHARS_PER_TOKEN = 32
"""Beginning of a text that is read, for each token that it may have. Chosen: five times what English and code have, so
only runs of blanks and marks that stand for nothing are cut off; at half, tables drawn with blanks lose words; at
double, a hostile text costs twice as much."""
_REMEMBERED_WORDS = 16_384
_REMEMBERED_CHARS = 4_096
"""Words and characters whose pieces are kept. Chosen: the words of a manual; at half, common ones are cut again; at
double, it is memory for words that do not come back."""
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def load_vocabulary() -> dict[str, int]:
    """Piece -> number, as the model knows them."""
    text = resources.files(__package__).joinpath("vocabulary.txt").read_text("utf-8")
    return {piece: number for number, piece in enumerate(text.splitlines())}


class WordPiece:
    """The tokenizer. May be used by several threads."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._pieces = lru_cache(_REMEMBERED_WORDS)(self._cut_word)
        self._spaced = lru_cache(_REMEMBERED_CHARS)(_spaced)

    def encode(self, text: str, max_tokens: int) -> tuple[list[int], bool]:
        """The numbers of a text, with those of its beginning and end, at most `max_tokens`; and whether it was cut."""
        head = text[: max_tokens * _CHARS_PER_TOKEN]
        tokens = [self._vocabulary[_FIRST]]
        for word in self._words(head):
            tokens += self._pieces(word)
            if len(tokens) >= max_tokens:
                break
        is_cut = len(tokens) >= max_tokens or len(head) < len(text)
        return [*tokens[: max_tokens - 1], self._vocabulary[_LAST]], is_cut

    def _words(self, text: str) -> list[str]:
        """Words and marks in lower case, without accents and control characters; each mark is a word of its own."""
        if not text.isascii():
            text = unicodedata.normalize("NFD", text)
        table = {ord(char): self._spaced(char) for char in set(text)}
        return text.translate(table).lower().split()

    def _cut_word(self, word: str) -> tuple[int, ...]:
        """The longest pieces of the word from its beginning on; unknown as a whole when a rest has none."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._vocabulary[_UNKNOWN],)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(prefix + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return (self._vocabulary[_UNKNOWN],)
        return tuple(pieces)


def _spaced(char: str) -> str:
    """What stands for a character: itself, a blank, nothing, or itself between blanks."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category.startswith("Z"):
        return " "
    if category in ("Mn", "Cc", "Cf", "Co", "Cs") or char == "\ufffd":
        return ""
    if char in punctuation or category.startswith("P") or any(low <= ord(char) <= high for low, high in _CJK):
        return f" {char} "
    return char
