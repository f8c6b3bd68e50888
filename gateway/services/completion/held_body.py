"""A chat body between its forwarding and the answer: what a further attempt would need, and no more.

Decoded, a body of many small values takes up to 34 times its bytes, and an upstream may take minutes. So of such a body
only its JSON is kept once an attempt has begun. Knows no upstream.
"""

import orjson

from gateway.domain import Json

MANY_VALUES = 20_000
"""Bodies of more values are let go. Chosen: their JSON is made in 2 ms where it has no long texts, and their objects
take 1 to 5 MB more than it; at half more bodies are encoded twice for less, at double twice as much is held for each
request that waits."""


class HeldBody:
    """The body of one request. `values` is how many JSON values it had, as far as they were counted."""

    __slots__ = ("_decoded", "_json")

    def __init__(self, body: Json, values: int) -> None:
        self._decoded: Json | None = body
        self._json = orjson.dumps(body) if values > MANY_VALUES else b""

    @property
    def is_let_go(self) -> bool:
        """Whether nobody should keep what `take` returns."""
        return self._json != b""

    def take(self) -> Json:
        """The decoded body, for one attempt. Where it is let go, the caller has the only reference."""
        if self._decoded is None:
            decoded: Json = orjson.loads(self._json)
            return decoded
        body = self._decoded
        if self._json:
            self._decoded = None
        return body
