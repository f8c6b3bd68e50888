"""What must hold for every answer with hosted search, whatever happened in it: events, items, positions, types."""

import copy
from collections.abc import Iterable
from typing import Any, get_args

from openai.types.responses import Response, ResponseStreamEvent

_EVENTS = {
    each.model_fields["type"].annotation.__args__[0]: each for each in get_args(get_args(ResponseStreamEvent)[0])
}
_CHANGING = ("id", "item_id", "call_id", "created", "created_at", "completed_at", "latency_ms", "attempts")


def check_events(events: list[Any]) -> None:
    """Numbers, types, each item opened and closed once under one index, texts and citations told as they end up."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    for event in events:
        check_type(event)
    opened = [event for event in events if event["type"] == "response.output_item.added"]
    closed = {event["item"]["id"]: event for event in events if event["type"] == "response.output_item.done"}
    assert [event["output_index"] for event in opened] == list(range(len(opened)))
    assert {event["item"]["id"]: event["output_index"] for event in opened} == {
        item_id: event["output_index"] for item_id, event in closed.items()
    }
    final = events[-1]["response"]
    if final["status"] != "failed":
        assert list(final["output"]) == [closed[event["item"]["id"]]["item"] for event in opened]
    for item in final["output"]:
        if item["type"] == "message":
            _check_text(item, [event for event in events if event.get("item_id") == item["id"]])
        if item["type"] == "web_search_call":
            _check_phases(item, events)


def _check_text(item: Any, events: list[Any]) -> None:
    part = item["content"][0]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == part["text"]
    told = [event["annotation"] for event in events if event["type"] == "response.output_text.annotation.added"]
    assert told == part["annotations"]
    so_far = ""
    for event in events:
        if event["type"] == "response.output_text.delta":
            so_far += event["delta"]
        elif event["type"] == "response.output_text.annotation.added":
            assert len(so_far) == event["annotation"]["end_index"], "told right after the delta that completed the link"
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[0] == "content_part.added" and kinds[-2:] == ["output_text.done", "content_part.done"]


def _check_phases(item: Any, events: list[Any]) -> None:
    """All events of a call stand together, in the recorded order."""
    places = [
        i for i, event in enumerate(events) if item["id"] in (event.get("item_id"), (event.get("item") or {}).get("id"))
    ]
    assert places == list(range(places[0], places[0] + len(places)))
    kinds = [events[place]["type"].removeprefix("response.") for place in places]
    middle = ["web_search_call.in_progress", "web_search_call.searching"]
    ended = ["web_search_call.completed"] if item["status"] == "completed" else []
    assert kinds == ["output_item.added", *middle, *ended, "output_item.done"]
    assert events[places[0]]["item"] == {"id": item["id"], "type": "web_search_call", "status": "in_progress"}


def check_type(event: Any) -> None:
    """openai-python's own types, strictly. Recorded streams open a search without the action that the type wants."""
    data = copy.deepcopy(event)
    if data["type"] == "response.output_item.added" and data["item"]["type"] == "web_search_call":
        data["item"]["action"] = {"type": "search"}
    if data.get("response"):
        data["response"] = _complete(data["response"])
    _EVENTS[event["type"]].model_validate(data)


def check_response(response: Any) -> None:
    """openai-python's type, and citations that are what they point at."""
    Response.model_validate(_complete(copy.deepcopy(response)))
    shown = {result["url"] for item in response["output"] for result in item.get("results") or ()}
    for item in response["output"]:
        for part in item["content"] if item["type"] == "message" else ():
            for note in part["annotations"]:
                link = part["text"][note["start_index"] : note["end_index"]]
                assert link and link[0] in "[(【h" and note["url"] in shown


def _complete(response: Any) -> Any:
    """With the count of openai-python 3.52 that the API reference does not have."""
    if response["usage"]:
        response["usage"]["input_tokens_details"].setdefault("cache_write_tokens", 0)
    return response


def plain(value: Any) -> Any:
    """The same without what differs between two answers to one question."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if name not in _CHANGING}
    return [plain(each) for each in value] if isinstance(value, list) else value


def kinds_of(items: Iterable[Any]) -> list[str]:
    """`message`, `search`, `search!` (failed), `open_page`, `function_call` … of a response's items."""
    kinds = []
    for item in items:
        kind = item["action"]["type"] if item["type"] == "web_search_call" else item["type"]
        kinds.append(kind + ("!" if item["status"] == "failed" else ""))
    return kinds
