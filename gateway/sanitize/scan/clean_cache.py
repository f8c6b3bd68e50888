"""Texts that were found clean a while ago: pages and the turns of a chat come again and again.

Only keyed digests are kept, never a text; the key lives as long as the process. Bounded: the longest unused goes first.
"""

import os
from collections import OrderedDict
from hashlib import blake2b

_MOST = 20_000


class KnownClean:
    __slots__ = ("_digests", "_hash", "_most")

    def __init__(self, most: int = _MOST) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._hash = blake2b(digest_size=16, key=os.urandom(16))
        self._most = most

    def digest(self, data: bytes) -> bytes:
        hashed = self._hash.copy()
        hashed.update(data)
        return hashed.digest()

    def knows(self, digest: bytes) -> bool:
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True

    def learn(self, digest: bytes) -> None:
        self._digests[digest] = None
        if len(self._digests) > self._most:
            self._digests.popitem(last=False)
