"""A chat body between its forwarding and the answer: what a further attempt would need, and no more.

Decoded, a large body takes several times its bytes, and an upstream may take minutes. So of such a body only the JSON
of its members is kept once an attempt has begun; the request to the upstream is made of the same bytes. Knows no
upstream.
"""

import asyncio
import operator
from typing import Any

from gateway.domain import Json
from gateway.long_texts import LONG_CHARS
from gateway.resilience.slices import in_slices
from gateway.wire.json_drain import EncodedJson


class HeldBody:
    """The body of one request. `values` is how many JSON values it had, as far as they were counted: those of large
    bodies are, which are let go.

    The members of a body that is let go are replaced one after the other, so that there is never the JSON of all of
    them beside all of their values. Its object itself is not changed: callers may have it.
    """

    __slots__ = ("_is_owned", "_members", "_values", "is_let_go")

    def __init__(self, body: Json, values: int, *, is_owned: bool = False) -> None:
        """`is_owned`: nobody else has the lists and objects of the body, so that they may be emptied."""
        self._is_owned, self._values = is_owned, values
        self.is_let_go = values > 0
        """Whether nobody should keep what `take` returns."""
        self._members = dict(body) if self.is_let_go else body

    def take(self) -> Json:
        """The decoded body, for one attempt. Where it is let go, the caller has the only references to its values,
        but for those that `pack` has yet to replace."""
        if not self.is_let_go:
            return self._members
        return {
            name: member.decoded() if isinstance(member, EncodedJson) else member
            for name, member in self._members.items()
        }

    def close(self) -> None:
        """There is no further attempt: the answer has begun. What is let go is not kept any more."""
        if self.is_let_go:
            self._members = {}

    async def pack(self, sent: Json, *, is_read: bool) -> Json:
        """What is sent for the body: where that is let go, its own lists and objects encoded, and others get their turn
        meanwhile. `sent` was made of what `take` has returned, which nobody should have any more. `is_read`: something
        between here and the upstream reads what is sent, which stays as it is then."""
        if not self.is_let_go:
            return sent
        await asyncio.sleep(0)
        for name, own in self._members.items():
            is_passed = not is_read and _is_same(sent.get(name), own)
            packed = self._members[name] = await self._packed(own, is_owned=is_passed and self._is_owned)
            if is_passed:
                sent[name] = packed
        if is_read:
            return sent
        return {name: await self._packed(member, is_owned=False) for name, member in sent.items()}

    async def _packed(self, member: Any, *, is_owned: bool) -> Any:
        is_long_text = isinstance(member, str) and len(member) > LONG_CHARS
        if not is_long_text and not isinstance(member, dict | list):
            return member
        return await in_slices(EncodedJson.steps_of(member, is_owned=is_owned, values=self._values))


def _is_same(sent: Any, own: Any) -> bool:
    """Whether a member is sent as it is, perhaps in a list of its own."""
    if isinstance(sent, list) and isinstance(own, list) and len(sent) == len(own):
        return all(map(operator.is_, sent, own))
    return sent is own
