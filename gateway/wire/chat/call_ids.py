"""Ids of tool calls: a repeated one gets a mark and a number on the way out, which are taken off on the way back.

Some servers give several calls one id, and some models number the calls of each turn anew (Kimi K3): a client would
put a result to the wrong call. Some upstreams must get their ids back as they were (Kimi K2).

    CallIds([{"role": "assistant", "tool_calls": [{"id": "list_dir:0", …}]}]).unique("list_dir:0")
    # "list_dir:0_again_2"
"""

import re
from collections.abc import Iterable
from typing import Any

from gateway.domain import Json

MARK = "_again_"
_MARKED = re.compile(rf"(.{{1,256}}){MARK}[0-9]{{1,6}}", re.DOTALL)


class CallIds:
    """The ids of one conversation and of the answer that goes on with it."""

    def __init__(self, messages: Iterable[Any]) -> None:
        self._messages = messages
        self._taken: set[str] | None = None

    def unique(self, identity: str) -> str:
        """The id for the client of a call that has come with `identity`."""
        if self._taken is None:  # most answers have no call
            self._taken = {
                call["id"]
                for message in self._messages
                for call in message.get("tool_calls") or ()
                if isinstance(call, dict) and isinstance(call.get("id"), str)
            }
        given, number = identity, 1
        while given in self._taken:
            number += 1
            given = f"{identity}{MARK}{number}"
        self._taken.add(given)
        return given


def with_own_ids(messages: list[Json]) -> list[Json]:
    """The messages with the upstream's own ids in calls and results; those of one message stay apart."""
    own: dict[str, str] = {}
    sent = []
    for message in messages:
        if calls := message.get("tool_calls"):
            own = _own_ids([call.get("id") for call in calls])
            if own:
                calls = [{**call, "id": own.get(call.get("id"), call.get("id"))} for call in calls]
                message = {**message, "tool_calls": calls}
        elif own and message.get("tool_call_id") in own:
            message = {**message, "tool_call_id": own[message["tool_call_id"]]}
        sent.append(message)
    return sent


def _own_ids(given: list[Any]) -> dict[str, str]:
    """`{id: own id}` of those calls of one message whose id was marked."""
    taken = {each for each in given if isinstance(each, str)}
    own: dict[str, str] = {}
    for each in given:
        marked = _MARKED.fullmatch(each) if isinstance(each, str) and MARK in each else None
        if marked and marked[1] not in taken:
            own[each] = marked[1]
            taken.add(marked[1])
    return own
