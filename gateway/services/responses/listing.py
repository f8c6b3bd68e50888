"""Items as clients read them back, and lists of them in pages. Source: OpenAI API reference, read 2026-11-27."""

from collections.abc import Iterable, Mapping, Sequence

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.responses.call_kinds import CALL_KINDS, KIND_OF_CALL, KIND_OF_OUTPUT
from gateway.wire.responses.object import new_id

_MAX_PAGE = 100
_DEFAULT_PAGE = 20
_PREFIXES = {"reasoning": "rs", "compaction": "cmp", "mcp_call": "mcp", "web_search_call": "ws"}


def with_ids(items: Iterable[Json]) -> list[Json]:
    """Items in the form in which they are kept: each has an id, and a message a status and a list of parts.

    `{role: "user", content: "hi"}` -> `{id: "msg_…", type: "message", status: "completed", role: "user", content:
    [{type: "input_text", text: "hi"}]}`.
    """
    return [_with_id(item) for item in items]


def page_of(items: Sequence[Json], query: Mapping[str, str]) -> Json:
    """`{object: "list", data: [item], first_id, last_id, has_more}`, newest first unless `order=asc`.

    `query`: `limit` (1 to 100, 20 by default), `order`, `after` (an item's id). Raises InvalidRequest.
    """
    limit = query.get("limit", str(_DEFAULT_PAGE))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3 and 1 <= int(limit) <= _MAX_PAGE):
        raise InvalidRequest(f"limit: must be 1 to {_MAX_PAGE}", param="limit")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise InvalidRequest("order: must be asc or desc", param="order")
    ordered = list(items) if order == "asc" else list(reversed(items))
    start = 0
    if (after := query.get("after")) is not None:
        start = next((place + 1 for place, item in enumerate(ordered) if item["id"] == after), -1)
        if start < 0:
            raise InvalidRequest("after: no item of this list has this id", param="after")
    return as_list(ordered[start : start + int(limit)], has_more=start + int(limit) < len(ordered))


def as_list(data: list[Json], *, has_more: bool = False) -> Json:
    """The list object of these items."""
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": has_more,
    }


def _with_id(item: Json) -> Json:
    kind = item.get("type") or "message"
    item_id = item.get("id")
    fields = {**item, "id": item_id if isinstance(item_id, str) and item_id else new_id(_prefix(kind)), "type": kind}
    if kind != "message":
        return fields
    content = item.get("content")
    if isinstance(content, str) or content is None:
        part = "output_text" if item.get("role") == "assistant" else "input_text"
        fields["content"] = [{"type": part, "text": content or ""}]
        if part == "output_text":
            fields["content"][0] |= {"annotations": [], "logprobs": []}
    return {**fields, "status": item.get("status") or "completed"}


def _prefix(kind: str) -> str:
    if kind in KIND_OF_CALL:
        return CALL_KINDS[KIND_OF_CALL[kind]].id_prefix
    if kind in KIND_OF_OUTPUT:
        return CALL_KINDS[KIND_OF_OUTPUT[kind]].id_prefix + "o"
    return _PREFIXES.get(kind, "msg" if kind == "message" else "item")
