"""Tells the same and nearly the same text: a hash of the words, and a 64-bit simhash over runs of three of them."""

import hashlib
import re

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\[[^\[\]]*\]\([^()\s]*\)")
NEAR_BITS = 3
# The bits of each byte spread over lanes of 16 bits, so that 64 counters are 8 additions.
_LANES = tuple(sum(((byte >> bit) & 1) << (16 * bit) for bit in range(8)) for byte in range(256))


def exact(text: str) -> str:
    """Equal for texts that differ only in blanks, case and punctuation."""
    return hashlib.blake2b(" ".join(_WORD.findall(text.lower())).encode(), digest_size=12).hexdigest()


def simhash(text: str, max_words: int = 2000) -> int:
    """Near texts differ in few bits; 0 for texts too short to judge by, and for pages that are lists of links: two of
    those may share nearly every entry and still lead to different places."""
    words = _WORD.findall(text.lower())[:max_words]
    own_words = len(_WORD.findall(_LINK.sub(" ", text))) if "](" in text else len(words)
    if len(words) < 30 or own_words < len(words) / 4:
        return 0
    shingles = {" ".join(words[at : at + 3]) for at in range(len(words) - 2)}
    sums = [0] * 8
    for shingle in shingles:
        for place, byte in enumerate(hashlib.blake2b(shingle.encode(), digest_size=8).digest()):
            sums[place] += _LANES[byte]
    half = len(shingles) / 2
    bits = (lane >> 16 * bit & 0xFFFF for lane in sums for bit in range(8))
    return sum(1 << at for at, count in enumerate(bits) if count > half)


def near(one: int, other: int) -> bool:
    """Both long enough to judge, and all but the same."""
    return one != 0 and other != 0 and (one ^ other).bit_count() <= NEAR_BITS
