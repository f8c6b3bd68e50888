"""Remembers which texts and messages were scanned without a finding: pages and the turns of a chat come many times.

Stores keyed digests, never a text; the key lives as long as the process. Knows no detector.
"""

import os
from collections import OrderedDict
from hashlib import blake2b

_MAX_DIGESTS = 20_000
"""A few MB of memory. Half would forget the turns of some thousand chats between two requests of each; double
would hold twice the memory for texts that come again ever less often."""


class KnownClean:
    """A set of digests of clean texts. When it is full, the digest that was not used for longest is dropped."""

    __slots__ = ("_digests", "_hash", "_max_digests")

    def __init__(self, max_digests: int = _MAX_DIGESTS) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._hash = blake2b(digest_size=16, key=os.urandom(16))
        self._max_digests = max_digests

    def digest(self, data: bytes) -> bytes:
        """16 bytes that stand for a text in the other two methods (keyed BLAKE2b, RFC 7693)."""
        hashed = self._hash.copy()
        hashed.update(data)
        return hashed.digest()

    def knows(self, digest: bytes) -> bool:
        """Whether the text was learnt to be clean, and is not yet dropped."""
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True

    def learn(self, digest: bytes) -> None:
        """Remember a text in which every detector found nothing."""
        self._digests[digest] = None
        if len(self._digests) > self._max_digests:
            self._digests.popitem(last=False)
