"""A chat body between its forwarding and the answer: what a further attempt would need, and no more.

Decoded, a body of many small values takes several times its bytes, and an upstream may take minutes. So of such a body
only the JSON of its members is kept once an attempt has begun; the request to the upstream is made of the same bytes.
Knows no upstream.
"""

from collections.abc import Callable
from typing import Any

import orjson

from gateway.domain import Json
from gateway.wire.json_drain import encode_and_empty

MANY_VALUES = 20_000
"""Bodies of more values are let go. Chosen: their JSON is made in 2 ms where it has no long texts, and their objects
take 1 to 5 MB more than it; at half more bodies are encoded twice for less, at double twice as much is held for each
request that waits."""


class HeldBody:
    """The body of one request. `values` is how many JSON values it had, as far as they were counted.

    The members of a body that is let go are replaced one after the other, so that there is never the JSON of all of
    them beside all of their values. Its object itself is not changed: callers may have it.
    """

    __slots__ = ("_encode", "_members", "is_let_go")

    def __init__(self, body: Json, values: int, *, is_owned: bool = False) -> None:
        """`is_owned`: nobody else has the lists and objects of the body, so that they may be emptied."""
        self._encode: Callable[[Any], bytes] = encode_and_empty if is_owned else orjson.dumps
        self.is_let_go = values > MANY_VALUES
        """Whether nobody should keep what `take` returns."""
        self._members = dict(body) if self.is_let_go else body

    def take(self) -> Json:
        """The decoded body, for one attempt. Where it is let go, the caller has the only references to its values,
        but for those that `pack` has yet to replace."""
        if not self.is_let_go:
            return self._members
        return {name: _unpacked(member) for name, member in self._members.items()}

    def pack(self, sent: Json, *, is_read: bool) -> Json:
        """What is sent for the body: where that is let go, its own lists and objects encoded. `sent` was made of what
        `take` has returned, which nobody should have any more. `is_read`: something between here and the upstream reads
        what is sent, which stays as it is then."""
        if not self.is_let_go:
            return sent
        for name, own in self._members.items():
            is_same = sent.get(name) is own
            packed = self._members[name] = _packed(own, self._encode if is_same and not is_read else orjson.dumps)
            if is_same and not is_read:
                sent[name] = packed
        return sent


def _packed(member: Any, encode: Callable[[Any], bytes]) -> Any:
    return orjson.Fragment(encode(member)) if isinstance(member, dict | list) else member


def _unpacked(member: Any) -> Any:
    return orjson.loads(orjson.dumps(member)) if isinstance(member, orjson.Fragment) else member
