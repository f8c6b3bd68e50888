"""Recognises equal and nearly equal texts: a hash of the words, and a 64-bit simhash over runs of three words.

Method: Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (2002).
"""

import hashlib
import re

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\[[^\[\]]*\]\([^()\s]*\)")
NEAR_BITS = 3
"""Bits in which near duplicates may differ. From Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web
Crawling" (2007), who found 3 of 64 to suit web pages."""
_MAX_WORDS = 2_000
"""Beginning of a text that the simhash covers."""
_MIN_WORDS = 30
"""Shorter texts are similar by chance."""
_MIN_OWN_WORDS_SHARE = 1 / 4
"""Share of a text's words outside links below which it is a list of links."""
_DIGEST_BYTES = 8
_BIT_OF_BYTE = tuple(bytes(byte >> bit & 1 for byte in range(256)) for bit in range(8))
"""For each bit, a translation table from bytes to that bit: counting its ones takes two calls for all runs at once."""


def both(text: str) -> tuple[str, int]:
    """24 hexadecimal digits, equal for texts that differ only in blanks, case and punctuation; and 64 bits, few of
    which differ between similar texts, 0 for a text that is too short or a list of links.

    Two lists of links may share nearly all their words and still lead to different places. A bit is set where more than
    half of the hashes of runs of three words have it set.
    """
    words = _WORD.findall(text.lower())
    exact = hashlib.blake2b(" ".join(words).encode(), digest_size=12).hexdigest()
    linked = _WORD.findall(" ".join(_LINK.findall(text))) if "](" in text else ()
    own_words = len(words) - len(linked)
    words = words[:_MAX_WORDS]
    if len(words) < _MIN_WORDS or own_words < len(words) * _MIN_OWN_WORDS_SHARE:
        return exact, 0
    shingles = set(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
    digests = [hashlib.blake2b(shingle.encode(), digest_size=_DIGEST_BYTES).digest() for shingle in shingles]
    joined = b"".join(digests)
    counts = [
        joined[place::_DIGEST_BYTES].translate(bit).count(1) for place in range(_DIGEST_BYTES) for bit in _BIT_OF_BYTE
    ]
    return exact, sum(1 << at for at, count in enumerate(counts) if count > len(shingles) / 2)


def near(one: int, other: int) -> bool:
    """True when neither simhash is 0 and they differ in at most NEAR_BITS bits."""
    return one != 0 and other != 0 and (one ^ other).bit_count() <= NEAR_BITS
