"""Recognises equal and nearly equal texts: a hash of the words, and a 64-bit simhash over runs of three words.

Knows no pages. Method: Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (2002).
"""

import hashlib
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\[[^\[\]]*\]\([^()\s]*\)")
NEAR_BITS = 3
"""Bits in which near duplicates may differ. From Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web
Crawling" (2007), who found 3 of 64 to suit web pages."""
_MAX_WORDS = 2_000
"""Beginning of a text that the simhash covers. Chosen: its time is linear in the words. At half, long pages that differ
late are near duplicates; at double it takes 2 ms."""
_MIN_WORDS = 30
"""Chosen: shorter texts are similar by chance, as they share their few runs of words with many others."""
_MIN_OWN_WORDS_SHARE = 1 / 4
"""Share of a text's words outside links below which it is a list of links. Chosen: articles have more than half."""
_DIGEST_BYTES = 8
_BIT_OF_BYTE = tuple(bytes(byte >> bit & 1 for byte in range(256)) for bit in range(8))
"""For each bit, a translation table from bytes to that bit: counting its ones takes two calls for all runs at once."""


def exact(text: str) -> str:
    """24 hexadecimal digits, equal for texts that differ only in blanks, case and punctuation."""
    return _exact(_WORD.findall(text.lower()))


def both(text: str) -> tuple[str, int]:
    """`exact` and `simhash`, for which the words are found once."""
    words = _WORD.findall(text.lower())
    return _exact(words), _simhash(text, words, _MAX_WORDS)


def simhash(text: str, max_words: int = _MAX_WORDS) -> int:
    """64 bits, few of which differ between similar texts; 0 for a text that is too short or a list of links.

    Two lists of links may share nearly all their words and still lead to different places. Equals, for each bit, the
    question whether more than half of the runs' hashes have it set.
    """
    return _simhash(text, _WORD.findall(text.lower()), max_words)


def _exact(words: Sequence[str]) -> str:
    return hashlib.blake2b(" ".join(words).encode(), digest_size=12).hexdigest()


def _simhash(text: str, words: Sequence[str], max_words: int) -> int:
    linked = _WORD.findall(" ".join(_LINK.findall(text))) if "](" in text else ()
    own_words = len(words) - len(linked)
    words = words[:max_words]
    if len(words) < _MIN_WORDS or own_words < len(words) * _MIN_OWN_WORDS_SHARE:
        return 0
    shingles = set(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
    digests = [hashlib.blake2b(shingle.encode(), digest_size=_DIGEST_BYTES).digest() for shingle in shingles]
    joined = b"".join(digests)
    counts = [
        joined[place::_DIGEST_BYTES].translate(bit).count(1) for place in range(_DIGEST_BYTES) for bit in _BIT_OF_BYTE
    ]
    return sum(1 << at for at, count in enumerate(counts) if count > len(shingles) / 2)


def near(one: int, other: int) -> bool:
    """True when neither simhash is 0 and they differ in at most NEAR_BITS bits."""
    return one != 0 and other != 0 and (one ^ other).bit_count() <= NEAR_BITS
