"""Recognises equal and nearly equal texts: a hash of the words, and a 64-bit simhash over runs of three words.

Knows no pages. Method: Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (2002).
"""

import hashlib
import re

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\[[^\[\]]*\]\([^()\s]*\)")
NEAR_BITS = 3
"""Bits in which near duplicates may differ. From Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web
Crawling" (2007), who found 3 of 64 to suit web pages."""
_MAX_WORDS = 2_000
"""Beginning of a text that the simhash covers. Chosen: its time is linear in the words; must stay below 2**16 for the
lanes."""
_MIN_WORDS = 30
"""Chosen: shorter texts are similar by chance, as they share their few runs of words with many others."""
_MIN_OWN_WORDS_SHARE = 1 / 4
"""Share of a text's words outside links below which it is a list of links. Chosen: articles have more than half."""
# Each byte's bits, spread over eight 16-bit lanes of one integer: adding these integers counts eight bits at once.
_LANES = tuple(sum(((byte >> bit) & 1) << (16 * bit) for bit in range(8)) for byte in range(256))


def exact(text: str) -> str:
    """24 hexadecimal digits, equal for texts that differ only in blanks, case and punctuation."""
    return hashlib.blake2b(" ".join(_WORD.findall(text.lower())).encode(), digest_size=12).hexdigest()


def simhash(text: str, max_words: int = _MAX_WORDS) -> int:
    """64 bits, few of which differ between similar texts; 0 for a text that is too short or a list of links.

    Two lists of links may share nearly all their words and still lead to different places. Equals, for each bit, the
    question whether more than half of the runs' hashes have it set.
    """
    words = _WORD.findall(text.lower())[:max_words]
    own_words = len(_WORD.findall(_LINK.sub(" ", text))) if "](" in text else len(words)
    if len(words) < _MIN_WORDS or own_words < len(words) * _MIN_OWN_WORDS_SHARE:
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
    """True when neither simhash is 0 and they differ in at most NEAR_BITS bits."""
    return one != 0 and other != 0 and (one ^ other).bit_count() <= NEAR_BITS
