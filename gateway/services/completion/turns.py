"""Remembers what upstreams must get back of their messages, for clients that hand back documented fields alone.

In memory, bounded in entries, bytes and age; where clients carry the state themselves (`wire.chat.kept`), nothing is
lost with it. Entries belong to the API key.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import orjson

from gateway.access.sealing import Sealer, SealRefused
from gateway.domain import SEALED, Json, RequestStats, StateNames
from gateway.errors import EngineMissing, InvalidRequest
from gateway.resilience.bounded_cache import SharedCache
from gateway.wire.chat.call_ids import CallIds, with_own_ids
from gateway.wire.chat.kept import STATE, Carrier, StateSoFar, given_back, is_changed, prints_of
from gateway.wire.untrusted_json import table_in, tables_in

_MAX_ENTRIES = 20_000
_MAX_BYTES = 32 * 1024 * 1024
_BYTES_PER_KEY = 8 * 1024 * 1024
_TTL_S = 3600.0
_AMBIGUOUS = b""
"""Replaces the state of calls that are alike but have different states."""
_PURPOSE, _MAX_CARRIED_BYTES = "thinking", 512 * 1024
_PLAIN = frozenset(("role", "content"))
VALUES = "values"
"""The member of a state with what its placeholders stand for (`domain.StateNames`)."""


class TurnMemory:
    """States by key and call. `clock` is monotonic."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._states: SharedCache[bytes, bytes] = SharedCache(
            _MAX_ENTRIES, _MAX_BYTES, budget=_BYTES_PER_KEY, ttl_s=_TTL_S, clock=clock
        )

    def has(self, owner: str) -> bool:
        """Whether an answer for this key had anything to keep."""
        return self._states.has(owner)

    def find(self, owner: str, before: Json | None, message: Json) -> Json | None:
        """The state of an assistant's message, by the first of its calls that is known."""
        if not self.has(owner):  # a history costs no fingerprints
            return None
        for after, alone in prints_of(before, message):
            value = self._states.get((owner, after)) or self._states.get((owner, alone))
            if value:
                state: Json = orjson.loads(value)
                return state
        return None

    def put(self, owner: str, before: Json | None, made: StateSoFar, names: StateNames | None = None) -> None:
        """Remember the state of an answer for each of its calls."""
        state = made.value
        if state is None:
            return
        value = orjson.dumps(state if names is None else names.noted(state))
        for after, alone in made.prints(before):
            self._put((owner, after), value)
            known = self._states.get((owner, alone))
            self._put((owner, alone), value if known is None or known == value else _AMBIGUOUS)

    def _put(self, key: tuple[str, bytes], value: bytes) -> None:
        self._states.put(key, value, weight=len(value) + len(key[1]))


class SealedStates(Carrier):
    """Seals states for one API key. `sealer` raises EngineMissing where nothing can be sealed: then nothing is."""

    def __init__(self, sealer: Callable[[], Sealer], owner: str, stats: RequestStats) -> None:
        self._sealer, self._owner, self._stats = sealer, owner, stats

    def sealed(self) -> str | None:
        """See Carrier. A state that is too long to be carried is not."""
        state = self._stats.made.value if self._stats.made is not None else None
        if state is not None and self._stats.names is not None:
            state = self._stats.names.noted(state)
        if state is None or len(data := orjson.dumps(state)) > _MAX_CARRIED_BYTES:
            return None
        try:
            return self._sealer().seal(data, purpose=_PURPOSE, owner=self._owner)
        except EngineMissing:
            return None

    def opened(self, token: Any) -> Json | None:
        """See Carrier. What another service has sealed says nothing here."""
        return _opened(self._sealer, self._owner, token)


def _opened(sealer: Callable[[], Sealer], owner: str, token: Any) -> Json | None:
    if not isinstance(token, str) or not token.startswith(SEALED):
        return None
    try:
        state = orjson.loads(sealer().open(token, purpose=_PURPOSE, owner=owner))
    except (EngineMissing, SealRefused):
        return None
    return state if isinstance(state, dict) and isinstance(state.get("by"), str) else None


def carried_names(sealer: Callable[[], Sealer], owner: str, body: Json) -> Iterator[dict[str, str]]:
    """What the placeholders stand for in each state that a body carries (`/v1/responses`, `/v1/messages`), oldest
    first."""
    for token in _tokens(body):
        values = table_in(_opened(sealer, owner, token), VALUES)
        if values:
            yield values


def _tokens(body: Json) -> Iterator[Any]:
    for item in tables_in(body, "input"):
        yield item.get("encrypted_content")
    for message in tables_in(body, "messages"):
        for block in tables_in(message, "content"):
            yield block.get("signature") or block.get("data")


class Turn:
    """One request's conversation. `maker`: the upstream that made the newest message with a state, empty for none.
    `ids`: makes those of the answer's calls unique. `remembered`: the states that the messages have not themselves.
    `states`: by index, of the messages that an upstream gets in another way. `is_plain`: the messages have none
    themselves, and go to every upstream as they are unless there are `states`. `left_out`: states
    whose names clash with those of older ones and cannot be changed. `names` may be None."""

    def __init__(
        self,
        memory: TurnMemory,
        owner: str,
        messages: Sequence[Json],
        names: StateNames | None = None,
        *,
        is_plain: bool = False,
    ) -> None:
        self._memory, self._owner, self._messages, self._names = memory, owner, messages, names
        self.ids = CallIds(messages)
        self.states: dict[int, Json | None] = {}
        self.remembered: list[Json] = []
        self.maker, self.is_plain, self.left_out = "", is_plain, 0
        for index, message in enumerate(messages if not is_plain or memory.has(owner) else ()):
            if message["role"] == "assistant" and not message.keys() <= _PLAIN:
                state = self._found(index, message)
                if state is not None or is_changed(message):
                    self.states[index] = state
                self.maker = state["by"] if state is not None else self.maker
        self.is_plain = is_plain and not self.states

    def _found(self, index: int, message: Json) -> Json | None:
        before = self._messages[index - 1] if index else None
        found = self._memory.find(self._owner, before, message) if message.get("tool_calls") else None
        if found is not None:
            self.remembered.append(found)
        given = message.get(STATE)
        state = found or (given if isinstance(given, dict) and isinstance(given.get("by"), str) else None)
        if state is None or self._names is None:
            return state
        try:
            return self._names.met(state)
        except InvalidRequest:  # signed thoughts with a name that an older state has for another value
            self.left_out += 1
            return None

    def messages_for(self, upstream: str, form: str) -> list[Json]:
        """The messages with the `states`, as an upstream gets them. `form`: see `wire.parameters.Rules.thoughts`."""
        sent = list(self._messages)
        for index, state in self.states.items():
            sent[index] = given_back(sent[index], state, upstream, form)
        return with_own_ids(sent)

    def remember(self, made: Iterable[StateSoFar]) -> None:
        """The answer is over; `made` are the states of its choices."""
        for state in made:
            self._memory.put(self._owner, self._messages[-1] if self._messages else None, state, self._names)
