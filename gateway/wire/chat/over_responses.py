"""Chat for an upstream that has the responses route alone: the request as a responses request, its answer as chat.

What only the upstream understands, its reasoning items, is a member `reasoning_items` of the message: kept and given
back like any other (`kept`). Source: OpenAI API reference (Responses, streaming events), read 2026-11-28.

    to_responses({"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9})
    # {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "store": False,
    #  "max_output_tokens": 9, "include": ["reasoning.encrypted_content"]}
"""

from collections.abc import Iterator
from typing import Any

import orjson

from gateway.domain import Json
from gateway.wire.chat.request import flat
from gateway.wire.mended_json import Halves, mended_json
from gateway.wire.untrusted_json import joined_text, list_in, table_in, tables_in
from gateway.wire.url_citations import nested

_ITEMS = "reasoning_items"
_TRANSLATED = frozenset((
    "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "response_format", "reasoning_effort",
    "verbosity", "stream_options", "n", "stop", "presence_penalty", "frequency_penalty", "seed", "logit_bias",
    "logprobs", "functions", "function_call",
))  # fmt: skip
"""Fields of chat that are translated below, or that the responses route does not have."""
_TEXT_EVENTS = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning_content",
    "response.reasoning_text.delta": "reasoning_content",
}
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
"""Items of calls: chat's kind of each, and the member with its text on both routes."""
_PIECES = {
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
}
_ENDS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def to_responses(chat: Json) -> Json:
    """The responses body for an upstream's chat body."""
    body = {name: value for name, value in chat.items() if name not in _TRANSLATED}
    calls = [call for message in chat["messages"] for call in tables_in(message, "tool_calls")]
    custom = {str(call.get("id")) for call in calls if "custom" in call}
    body |= {"input": [item for message in chat["messages"] for item in _items(message, custom)], "store": False}
    body["include"] = ["reasoning.encrypted_content"]
    if (limit := chat.get("max_completion_tokens", chat.get("max_tokens"))) is not None:
        body["max_output_tokens"] = limit
    if chat.get("tools"):
        body["tools"] = [flat(flat(tool), "custom") for tool in chat["tools"]]
    if "tool_choice" in chat:
        body["tool_choice"] = flat(flat(chat["tool_choice"]), "custom")
    if effort := chat.get("reasoning_effort"):
        body["reasoning"] = {"effort": effort}
    text = {"format": flat(form, "json_schema")} if (form := table_in(chat, "response_format")) else {}
    if chat.get("verbosity"):
        text["verbosity"] = chat["verbosity"]
    return {**body, "text": text} if text else body


def _items(message: Json, custom: set[str]) -> Iterator[Json]:
    """`custom`: ids of custom calls."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        kind = "custom_tool_call_output" if str(message.get("tool_call_id")) in custom else "function_call_output"
        yield {"type": kind, "call_id": message.get("tool_call_id"), "output": joined_text(content, "\n")}
        return
    yield from tables_in(message, _ITEMS)
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else list_in(message, "content")
    if parts:
        yield {"role": role, "content": [_part(part, kind) for part in parts]}
    for call in tables_in(message, "tool_calls"):
        kind = "custom_tool_call" if "custom" in call else "function_call"
        inner, field = table_in(call, _CALLS[kind][0]), _CALLS[kind][1]
        text = inner.get(field) or ("{}" if kind == "function_call" else "")
        yield {"type": kind, "call_id": call.get("id"), "name": inner.get("name"), field: text}


def _part(part: Json, kind: str) -> Json:
    if part.get("type") == "image_url":
        image = table_in(part, "image_url")
        detail = {"detail": image["detail"]} if image.get("detail") else {}
        return {"type": "input_image", "image_url": image.get("url"), **detail}
    return {"type": kind, "text": part.get("text") or ""} if part.get("type") == "text" else part


def to_completion(response: Json) -> Json:
    """A chat completion made of a whole response."""
    message: Json = {"role": "assistant", "content": None}
    calls, kept, notes = list[Json](), list[Json](), list[Json]()
    for item in tables_in(response, "output"):
        kind = item.get("type", "message")
        if kind == "message":
            for part in tables_in(item, "content"):
                for name, field in (("content", "text"), ("refusal", "refusal")):
                    if isinstance(part.get(field), str):
                        before = message.get(name) or ""
                        message[name] = before + part[field]
                        notes += [nested(note, len(before)) for note in tables_in(part, "annotations")]
        elif kind == "reasoning":
            kept.append(item)
            texts = [part.get("text") or "" for name in ("summary", "content") for part in tables_in(item, name)]
            message["reasoning_content"] = message.get("reasoning_content", "") + "".join(texts)
        elif kind in _CALLS:
            calls.append(_call_of(item))
    message |= {"tool_calls": calls} if calls else {}
    message |= {"annotations": notes} if notes else {}
    message |= {_ITEMS: kept} if kept else {}
    choice = {"index": 0, "message": message, "finish_reason": _finish(response, has_calls=bool(calls))}
    named = {"id": response.get("id"), "created": response.get("created_at"), "usage": response.get("usage")}
    return {**named, "object": "chat.completion", "choices": [choice]}


def _call_of(item: Json) -> Json:
    kind, field = _CALLS[item["type"]]
    return {"id": item.get("call_id"), "type": kind, kind: {"name": item.get("name"), field: item.get(field) or ""}}


def _finish(response: Json, *, has_calls: bool) -> str:
    reason = table_in(response, "incomplete_details").get("reason")
    if response.get("status") == "incomplete" or reason:
        return _ENDS.get(str(reason), "length")
    return "tool_calls" if has_calls else "stop"


class ChunksOfEvents:
    """Turns the data of one stream's events into that of chat chunks."""

    def __init__(self) -> None:
        self._calls: dict[Any, int] = {}
        self._halves = Halves()
        self._sent: set[Any] = set()
        """Places in the output of which text or arguments have come: some servers send them at their end alone."""
        self._chars = 0
        self._begins: dict[tuple[Any, Any], int] = {}
        """Where the texts begin in that of the message, by their places in the output."""

    def take(self, data: bytes) -> list[bytes]:
        """The chunks for an event; what is no event goes on as it is."""
        try:
            event = mended_json(data, self._halves)
        except orjson.JSONDecodeError:
            return [data]
        if not isinstance(event, dict):
            return [data]
        if event.get("object") == "response":
            return [orjson.dumps(to_completion(event))]
        kind, item, place = event.get("type"), table_in(event, "item"), event.get("output_index")
        if kind in _TEXT_EVENTS:
            self._sent.add(place)
            name, text = _TEXT_EVENTS[kind], event.get("delta")
            if name == "content" and isinstance(text, str):
                self._begins.setdefault((place, event.get("content_index")), self._chars)
                self._chars += len(text)
            return [_chunk({name: text})]
        if kind == "response.output_text.annotation.added":
            begin = self._begins.get((place, event.get("content_index")), self._chars)
            return [_chunk({"annotations": [nested(table_in(event, "annotation"), begin)]})]
        if kind == "response.output_item.added" and item.get("type") in _CALLS:
            number = self._calls[place] = len(self._calls)
            self._sent |= {place} if item.get("arguments") or item.get("input") else set()
            return [_chunk({"tool_calls": [{"index": number, **_call_of(item)}]})]
        if kind in _PIECES:
            number = self._calls.get(place, max(len(self._calls) - 1, 0))
            self._sent.add(place)
            name, field = _CALLS[_PIECES[kind]]
            return [_chunk({"tool_calls": [{"index": number, name: {field: event.get("delta")}}]})]
        if kind == "response.output_item.done":
            return self._rest(item, place)
        if kind in ("response.completed", "response.incomplete"):
            response = table_in(event, "response")
            finish = _finish(response, has_calls=bool(self._calls))
            return [_chunk({}, finish, usage=response.get("usage")), b"[DONE]"]
        if kind in ("response.failed", "error"):
            failed = table_in(event, "response") or event
            return [orjson.dumps({"error": failed.get("error") or failed})]
        return [] if isinstance(kind, str) else [data]

    def _rest(self, item: Json, place: Any) -> list[bytes]:
        """The chunks for a finished item: of a reasoning item itself, of others what has not come in deltas."""
        message = table_in(to_completion({"output": [item]})["choices"][0], "message")
        delta: Json = {_ITEMS: message[_ITEMS]} if _ITEMS in message else {}
        if place not in self._sent:
            self._sent.add(place)
            names = ("content", "refusal", "reasoning_content", "annotations")
            delta |= {name: message[name] for name in names if message.get(name)}
            for call in message.get("tool_calls") or ():
                number = self._calls.setdefault(place, len(self._calls))
                delta["tool_calls"] = [{"index": number, **call}]
        return [_chunk(delta)] if delta else []


def _chunk(delta: Json, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return orjson.dumps({"object": "chat.completion.chunk", "choices": [choice], **more})
