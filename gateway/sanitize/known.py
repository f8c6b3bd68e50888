"""What has been found clean a while ago: cached searches, repeated pages and the turns of a chat come again and again.

Only keyed digests are kept, never a text; the key lives as long as the process. Bounded: the longest unused goes first.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b

_MOST = 20_000


class KnownClean:
    """`kinds` are kept apart: a text may be clean in one way and not in another."""

    __slots__ = ("_digests", "_hashes", "_most")

    def __init__(self, kinds: Iterable[str], most: int = _MOST) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._hashes = {kind: blake2b(digest_size=16, key=os.urandom(16)) for kind in kinds}
        self._most = most

    def digest(self, data: bytes, kind: str) -> bytes:
        hashed = self._hashes[kind].copy()
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
