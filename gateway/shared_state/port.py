"""State that several workers or machines share, as three small ports: windows, counters, entries.

| port       | what it holds                                    | used for                                           |
|------------|--------------------------------------------------|----------------------------------------------------|
| `Windows`  | sets of members that each end by themselves      | calls a minute, requests at once, wrong keys       |
| `Counters` | sums of one period (a minute, a day, a month)    | tokens, tool calls, spend                          |
| `Entries`  | bytes by owner and name, with a time to live     | stored responses, searches, the user-hash key      |

| implementation                    | shared by                     | outlives the process |
|-----------------------------------|-------------------------------|----------------------|
| `memory.Memory*`                  | one process                   | no                   |
| `sqlite_state.Sqlite*`            | the workers of one machine    | yes                  |
| `redis_state.Redis*`              | all machines                  | as Redis is set up   |
| `fallback.Fallback*`              | its first store; its second while the first is away                  |

Every method raises StateDown where the store cannot be used. None waits longer than its store's time limit. Names are
made by the gateway, never by a caller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class StateDown(Exception):
    """The store did not do what it was asked, or is not used for the moment."""


class Taken(NamedTuple):
    """The answer to `take`. `wait_s`: 0 where the member was added, else the seconds until the first one ends.

    `remaining`: members that could still be added. `reset_s`: seconds until the first one ends.
    """

    wait_s: float
    remaining: int
    reset_s: float


class Amount(NamedTuple):
    """What is added to the counter `name`, which ends at `ends_at` (unix seconds). `limit` None: it is only added."""

    name: str
    amount: int
    limit: int | None
    ends_at: float


class ReserveResult(NamedTuple):
    """The answer to `reserve`. `refused`: the index of the first amount that is too much, None where all were added.

    `totals`: the sum of each counter afterwards, of all who share it. `own`: the part that this machine has added.
    """

    refused: int | None
    totals: tuple[int, ...]
    own: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Bytes that `owner` keeps under `name` for `ttl_s` seconds. `parts` are pieces of the value, as (start, end), that
    are found by names of their own (`get_part`). `most`: entries that the owner may have, with this one; None = any
    number."""

    owner: str
    name: str
    value: bytes
    ttl_s: float
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    most: int | None = None


class Windows(Protocol):
    """Sets of members, each of which ends `hold_s` seconds after it was added or renewed."""

    async def take(self, name: str, limit: int, hold_s: float, member: str) -> Taken:
        """Add a member if fewer than `limit` are there."""
        ...

    async def hold(self, name: str, members: Mapping[str, float]) -> None:
        """Add or renew members without a limit; the values are the seconds until they end."""
        ...

    async def release(self, name: str, members: Sequence[str]) -> None:
        """Remove members."""
        ...


class Counters(Protocol):
    """Sums, each for a period that its name holds. Amounts and limits are whole numbers below 2**53."""

    async def reserve(self, amounts: Sequence[Amount]) -> ReserveResult:
        """Add all amounts, or none where a counter would exceed its limit. Negative ones are never refused; one of 0
        only reads, and makes no counter."""
        ...

    async def erase(self, prefix: str) -> int:
        """Remove the counters whose names begin so. Returns how many there were."""
        ...


class Entries(Protocol):
    """Bytes by owner and name."""

    async def put(self, entry: Entry) -> bool:
        """Store in place of the former entry of that name. Returns False where there is no room, or the owner has
        `entry.most` others already."""
        ...

    async def get(self, owner: str, name: str) -> bytes | None:
        """The value, or None when there is none or it has expired."""
        ...

    async def get_part(self, owner: str, name: str) -> bytes | None:
        """A part of any entry of the owner, or None."""
        ...

    async def delete(self, owner: str, name: str) -> None:
        """Remove an entry and its parts, if there is one."""
        ...

    async def count(self, owner: str) -> int:
        """How many entries an owner has."""
        ...

    async def erase(self, owner: str) -> None:
        """Remove all entries of an owner."""
        ...
