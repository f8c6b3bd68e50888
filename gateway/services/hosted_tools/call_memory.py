"""The outputs of hosted calls, stored until their turn is over.

A turn with calls of the caller's own tools takes several requests. The answer shows that a search was made, but not
what the model read of it; the next request has only the item. So the text is stored here, for the key that made the
call, and given to the model again. In memory, bounded in entries, bytes and age, as stored responses are.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from gateway.domain import Json
from gateway.resilience.bounded_cache import SharedCache
from gateway.services.hosted_tools.page_text import search_text
from gateway.services.hosted_tools.search_options import SEARCH
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import HostedCall, Source
from gateway.wire.preencoded import snug
from gateway.wire.untrusted_json import table_in, tables_in

_MAX_ENTRIES = 2_000
_MAX_BYTES = 32 * 1024 * 1024
_BYTES_PER_KEY = 8 * 1024 * 1024
_TTL_S = 3600.0
"""Limits of the stored texts: entries, bytes, bytes of a key, and seconds. Results are 6 to 24 KB. The age is that of
stored responses, whose items lead here."""


class CallMemory:
    """Remembers calls by owner (the id of the API key) and item id. `clock` is monotonic."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls: SharedCache[str, bytes] = SharedCache(
            _MAX_ENTRIES, _MAX_BYTES, budget=_BYTES_PER_KEY, ttl_s=_TTL_S, clock=clock
        )

    def put(self, owner: str, call: HostedCall) -> None:
        """Remember a call that has ended. One for which there is no room is forgotten."""
        kept = {name: getattr(call, name) for name in ("name", "arguments", "output")}
        value = orjson.dumps({**kept, "sources": [*map(list, call.sources)]})
        self._calls.put((owner, call.item_id), snug(value), weight=len(value))

    def recall(self, owner: str, items: Sequence[Json], sources: Sources) -> list[Json]:
        """The items of a conversation, in which the hosted calls of the turn that is not over yet become function
        calls with their outputs, where they are known: remembered, or with the `results` that the caller sends again.

        The pages that they showed are added to `sources`.
        """
        first, recalled = _open_turn(items), list[Json]()
        for index, item in enumerate(items):
            known = self._known(owner, item, sources) if index >= first and _is_hosted(item) else None
            if known is None:
                recalled.append(item)
                continue
            call_id, output = str(item["id"]), known.pop("output")
            recalled.append({"type": "function_call", "call_id": call_id, **known})
            recalled.append({"type": "function_call_output", "call_id": call_id, "output": output})
        return recalled

    def _known(self, owner: str, item: Json, sources: Sources) -> Json | None:
        """`{name, arguments, output}` of a call."""
        kept = self._calls.get((owner, str(item.get("id"))))
        if kept is not None:
            call: Json = orjson.loads(kept)
            sources.restore(Source(*source) for source in call.pop("sources"))
            return call
        results = [each for each in tables_in(item, "results") if isinstance(each.get("url"), str)]
        if not results or not item.get("id"):
            return None
        for result in results:
            sources.add(result["url"], str(result.get("title") or ""))
        shown = [{name: str(each.get(name) or "") for name in ("title", "url", "content")} for each in results]
        arguments = {"query": str(table_in(item, "action").get("query") or "")}
        return {"name": SEARCH, "arguments": orjson.dumps(arguments).decode(), "output": search_text(shown, sources)}


def _open_turn(items: Sequence[Json]) -> int:
    """The index behind the last answer that ended a turn: an assistant's message before a user's, or at the end."""
    for index in range(len(items) - 1, -1, -1):
        if _role(items[index]) == "assistant" and (index + 1 == len(items) or _role(items[index + 1]) == "user"):
            return index + 1
    return 0


def _role(item: Json) -> Any:
    return item.get("role") if item.get("type", "message") == "message" else None


def _is_hosted(item: Json) -> bool:
    return str(item.get("type")).endswith("_call") and item.get("type") != "function_call"
