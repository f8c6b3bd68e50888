"""Passes on the answers of an upstream that speaks /responses itself, with ids, numbers and required keys repaired.

The promises for translated responses hold here too: our model name, `created` beside `created_at`, five usage fields,
one id for an item in all its events, items closed before the end. Other fields of the upstream are kept.
Source: OpenAI API reference (Responses) and event streams of vLLM and llama.cpp (facts read 2026-11-21).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gateway.domain import Event, EventBatch, Json
from gateway.errors import InvalidRequest, UpstreamError
from gateway.wire import sse
from gateway.wire.caller_addresses import refuse_addresses, refuse_in_items, refuse_in_tools, refuse_media
from gateway.wire.chat.answer import NAME_OF_UPSTREAM, told_usage
from gateway.wire.chat.json_answer import wanted, warn_of_stream
from gateway.wire.chat.request import ImagePlace, UpstreamOptions, flat, result_head, with_parameters, without_hosts
from gateway.wire.chat.said import arguments_text
from gateway.wire.native_stream import PassedStream
from gateway.wire.openai_error import error_in_stream
from gateway.wire.responses import object as objects
from gateway.wire.responses.call_kinds import CALL_KINDS, KIND_OF_CALL
from gateway.wire.responses.request import response_format
from gateway.wire.responses.sent_items import SentItems
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.untrusted_json import count_in, table_in, tables_in, utf8_size, words_of

# --- native request ---
# Rewrites a responses request for an upstream that speaks /responses itself.
#
# The gateway's own state (_KEPT_HERE, `item_reference`, `store`) is never sent there: the earlier items are
# sent instead. Source: OpenAI API reference (Responses), read 2026-11-21.

_NOT_TAKEN = ("stop", "presence_penalty", "frequency_penalty", "n", "logit_bias", "seed")
"""Fields of chat that our responses route accepts and /responses has not."""
_SYNONYMS = {"tool_call": "function_call", "tool_call_output": "function_call_output"}
"""Item types of this service's specification, and OpenAI's names for them."""
_WITHOUT_ID = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
})  # fmt: skip
"""Items that need no id: theirs is known to the gateway's store alone. Items of other kinds keep what they have."""


_KEPT_HERE = ("previous_response_id", "conversation", "background", "user")
"""Fields whose meaning the gateway keeps itself: no upstream gets them."""


def takes(body: Json) -> bool:
    """True when /responses has all the fields of this request; any other is translated to chat."""
    return all(body.get(name) in (None, []) for name in _NOT_TAKEN) and not any(
        item.get("role") == "tool" for item in body["input"] if isinstance(item, dict)
    )


def to_native(body: Json, earlier: Sequence[Json], options: UpstreamOptions, user: str | None) -> Json:
    """The responses body to send. `body` is a checked request whose `input` is a list of items; it is not changed.

    `earlier` are the items of the conversation before it; `user` is the hash to send instead of the caller's `user`.
    """
    sent = without_hosts(body)
    sent |= {"model": options.name_of(body), "store": False}
    for name in (*_KEPT_HERE, "stop"):
        sent.pop(name, None)
    if user is not None:
        sent["user"] = user
    form = sent.pop("response_format", None)
    if form is not None and not (sent.get("text") or {}).get("format"):
        sent["text"] = {**(sent.get("text") or {}), "format": flat(form, "json_schema")}
    if sent.get("tools"):
        sent["tools"] = [_upstream_tool(tool) for tool in sent["tools"]]
    if "tool_choice" in sent:
        sent["tool_choice"] = flat(sent["tool_choice"])
    sent["input"] = [_upstream_item(item) for item in (*earlier, *body["input"])]
    if not sent["input"]:
        del sent["input"]  # the stored prompt has it all
    for name in [name for name, value in sent.items() if value is None]:
        del sent[name]
    return {**sent, **options.extra_body}


def _upstream_tool(tool: Json) -> Json:
    if tool.get("type") == "namespace":
        return {**tool, "tools": [_upstream_tool(each) for each in tables_in(tool, "tools")]}
    tool = flat(tool)
    return with_parameters(tool) if tool.get("type") == "function" else tool


def image_parts(items: Sequence[Any]) -> list[ImagePlace]:
    """The image of every part with an `image_url`, which is a string then.

    Parts are in the content or output of an item; the output may be one part (the screenshot of a computer call).
    Raises InvalidRequest for an image that is no address.
    """
    found: list[ImagePlace] = []
    for index, item in enumerate(items):
        for name in ("content", "output") if isinstance(item, dict) else ():
            value = item.get(name)
            places = enumerate(value) if isinstance(value, list) else [(None, value)]
            for place, part in places:
                if isinstance(part, dict) and part.get("image_url") is not None:
                    where = f"input[{index}].{name}" + (f"[{place}]" if place is not None else "") + ".image_url"
                    part["image_url"] = _address(part["image_url"], where)
                    found.append(ImagePlace(where, part, "image_url"))
    return found


def refuse_hosts(body: Json, earlier: Sequence[Any]) -> None:
    """Raises InvalidRequest for an address that the upstream may fetch: in tools that it runs, variables of a prompt,
    instructions that are items, and parts of items, stored ones as well, that hold neither text nor an image."""
    refuse_in_tools(body.get("tools"))
    refuse_media(body, "")
    for name, value in table_in(body.get("prompt"), "variables").items():
        if isinstance(value, dict):
            refuse_addresses(value, f"prompt.variables.{name}")
    if isinstance(body.get("instructions"), list):
        refuse_addresses(body["instructions"], "instructions")
    refuse_in_items(earlier, "a stored item")
    refuse_in_items(body["input"], "input")


def _address(image: Any, where: str) -> str:
    """The address of an image that is written as /responses has it, or as chat has it."""
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        raise InvalidRequest(f"{where}: must be a URL", param=where)
    return url


def _upstream_item(item: Json) -> Json:
    """An item without the gateway's additions; its text parts have the type that belongs to its role."""
    kind = _SYNONYMS.get(item.get("type") or "message", item.get("type") or "message")
    ours = ("id", "status", "provider_specific_fields") if kind in _WITHOUT_ID else ("provider_specific_fields",)
    sent = {name: value for name, value in item.items() if name not in ours}
    sent["type"] = kind
    if kind in ("function_call_output", "custom_tool_call_output") and not item.get("call_id"):
        output = item.get("output")
        parts = output if isinstance(output, list) else [{"type": "input_text", "text": words_of(output)}]
        head = {"type": "input_text", "text": result_head(item.get("name"))}
        return {"type": "message", "role": "user", "content": [head, *parts]}
    if kind == "function_call":
        sent.pop("role", None)
        sent.pop("content", None)
    elif kind == "message" and isinstance(item.get("content"), list):
        text = "output_text" if item.get("role") == "assistant" else "input_text"
        texts = ("text", "input_text", "output_text")
        parts = item["content"]
        sent["content"] = [_text_part(part, text) if part.get("type") in texts else dict(part) for part in parts]
    return sent


def _text_part(part: Json, kind: str) -> Json:
    sent = {"type": kind, "text": part.get("text") or ""}
    return {**sent, "annotations": []} if kind == "output_text" else sent


_OURS = frozenset(("model", "object", "previous_response_id", "store", "instructions", "user", "metadata", "background",
                   "created", "created_at", NAME_OF_UPSTREAM))  # fmt: skip
"""Keys of a response object whose values come from the caller's request, or are checked; the upstream's own name."""
_ID_PREFIX = {"message": "msg", "reasoning": "rs"} | {kind.call: kind.id_prefix for kind in CALL_KINDS.values()}
_OF_EVENT = frozenset(("type", "sequence_number", NAME_OF_UPSTREAM))
_ENDS = ("response.completed", "response.incomplete")


def repair_response(answer: Any, body: Json, model: str, backend: Json) -> Json:
    """A full response object (`object.new_response`) made of an upstream's decoded answer.

    `body` is the caller's request, `model` the public name, `backend` the `provider_specific_fields`. Raises
    UpstreamError when the answer is not a response object, or says that it failed.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("output"), list):
        raise UpstreamError("the upstream's answer is not a response object")
    if answer.get("status") == "failed":
        raise error_in_stream(answer)
    response = objects.new_response(body)
    theirs = {name: value for name, value in answer.items() if name not in _OURS}
    response |= {name: value for name, value in theirs.items() if value is not None or name not in response}
    if isinstance(created := answer.get("created_at") or answer.get("created"), int | float):
        response["created"] = response["created_at"] = int(created)
    response["model"] = model
    response["output"] = [repair_item(item) for item in tables_in(answer, "output")]
    reason = table_in(answer, "incomplete_details").get("reason")
    if answer.get("status") == "incomplete" or reason:
        response["incomplete_details"] = {"reason": reason or "max_output_tokens"}
        response["status"], response["completed_at"] = "incomplete", None
    else:
        response["status"], response["incomplete_details"] = "completed", None
        response["completed_at"] = response["completed_at"] or response["created"]
    response["usage"] = objects.usage_object(told_usage(answer.get("usage")))
    response["provider_specific_fields"] = {**backend, "finish_reason": _finish_reason(response)}
    return response


def json_kind(body: Json) -> str:
    """The kind of JSON that a request wants; empty for none (`wire.chat.json_answer`)."""
    return wanted({"response_format": response_format(body)})


def json_parts(response: Json) -> list[Json] | None:
    """The texts of a response's last message, which are to be JSON; None where it did not end by itself or refuses."""
    if response["provider_specific_fields"]["finish_reason"] != "stop":
        return None
    messages = [item["content"] for item in response["output"] if item["type"] == "message"]
    parts: list[Json] = messages[-1] if messages else []
    return None if any(part["type"] != "output_text" for part in parts) else parts


def repair_item(item: Json) -> Json:
    """A copy of an output item with every required key of its type; items of unknown types only get an id."""
    kind = item["type"] if isinstance(item.get("type"), str) and item["type"] else "message"
    repaired: Json = {**item, "type": kind}
    if not isinstance(item.get("id"), str) or not item["id"]:
        repaired["id"] = objects.new_id(_ID_PREFIX.get(kind, "item"))
    if kind == "message":
        repaired["role"] = "assistant"
        repaired["status"] = item.get("status") or "completed"
        repaired["content"] = [_repair_part(part) for part in tables_in(item, "content")]
    elif kind == "function_call":
        repaired["status"] = item.get("status") or "completed"
        repaired["call_id"] = item.get("call_id") or objects.new_id("call")
        repaired["name"] = words_of(item.get("name") or "")
        repaired["arguments"] = arguments_text(item.get("arguments", ""))
        repaired |= {"role": "assistant", "content": []}
    return repaired


def _repair_part(part: Json) -> Json:
    if part.get("type") in ("output_text", "text"):
        return {**objects.text_part(""), **part, "type": "output_text", "text": part.get("text") or ""}
    return part


def said_bytes(item: Json) -> int:
    """Bytes of what a model has written in an output item: text, refusal, summary of thoughts, arguments."""
    texts = [item.get("arguments"), item.get("input"), item.get("name")]
    for part in (*tables_in(item, "content"), *tables_in(item, "summary")):
        texts += [part.get("text"), part.get("refusal")]
    return sum(utf8_size(text) for text in texts if isinstance(text, str))


def _finish_reason(response: Json) -> str:
    if response["incomplete_details"]:
        return "length" if response["incomplete_details"]["reason"] == "max_output_tokens" else "content_filter"
    return "tool_calls" if any(item["type"] in KIND_OF_CALL for item in response["output"]) else "stop"


class NativeStream(ResponseStream, PassedStream):
    """One stream of an upstream's own events.

    The upstream's item ids are kept in `_indexes`, so that events with a wrong or missing id or place still find their
    item.
    """

    def __init__(self, *parts: Any, **more: Any) -> None:
        ResponseStream.__init__(self, *parts, **more)
        PassedStream.__init__(self)
        self._seen = SentItems()
        self._ids: list[str] = []
        self._indexes: dict[str, int] = {}
        self._done: dict[int, Json] = {}
        self._opened = False

    def note(self, events: EventBatch) -> None:
        """See PassedStream."""
        for event in events:
            self._seen.note(event.data or {"type": ""})

    def cut_end(self, usage: Json) -> Iterator[Event]:
        """See PassedStream."""
        counted = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
        self._done = {index: item for index, item in self._done.items() if index in self._seen.done}
        answer: Json = {"usage": counted, "incomplete_details": {"reason": "max_output_tokens"}}
        answer["output"] = self._seen.at_failure()
        yield from self._native_end({"type": "response.incomplete", "response": answer})

    def events_of(self, kind: str, data: Json) -> Iterator[Event]:
        """See PassedStream; the last are `response.completed` or `.incomplete`, and `[DONE]`."""
        if not self._opened:
            yield from self._open_response(table_in(data, "response"))
        if kind in ("response.created", "response.in_progress", "response.queued"):
            return
        if kind in _ENDS:
            yield from self._native_end(data)
        elif kind == "response.output_item.added":
            yield from self._open_item(data)
        else:
            yield from self._item_event(kind, data)

    def _open_response(self, theirs: Json) -> Iterator[Event]:
        self._opened = True
        self.response["model"] = self.model
        if isinstance(theirs.get("id"), str) and theirs["id"] and not self._is_created:
            self.response["id"] = theirs["id"]
        if isinstance(theirs.get("created_at"), int | float):
            self.response["created"] = self.response["created_at"] = int(theirs["created_at"])
        for kind in ("response.created", "response.in_progress")[self._is_created :]:
            yield self._event(kind, {"response": objects.shown(self.response, [])})

    def _open_item(self, data: Json) -> Iterator[Event]:
        item = repair_item(table_in(data, "item"))
        item["status"] = "in_progress"
        self._indexes[item["id"]] = index = len(self._ids)
        self._ids.append(item["id"])
        self.response["output"].append(item)
        yield self._event("response.output_item.added", {"output_index": index, "item": self._copy(item)})

    def _item_event(self, kind: str, data: Json) -> Iterator[Event]:
        """Any other event; one of an item gets the id and index that the item was opened with."""
        rest = {name: value for name, value in data.items() if name not in _OF_EVENT}
        item = data.get("item") if isinstance(data.get("item"), dict) else None
        if item is None and "item_id" not in data and "output_index" not in data:
            yield self._event(kind, rest)
            return
        index = self._index_of(data, item)
        if index is None:
            yield from self._open_item({"item": {"type": "function_call" if "function_call" in kind else "message"}})
            index = len(self._ids) - 1
        rest["output_index"] = index
        if item is not None:
            repaired = {**repair_item(item), "id": self._ids[index]}
            if kind == "response.output_item.done":
                self._done[index] = self.response["output"][index] = repaired
                self._closed.add(repaired["id"])
            yield self._event(kind, {**rest, "item": self._copy(repaired)})
            return
        rest["item_id"] = self._ids[index]
        if kind.startswith(("response.output_text", "response.content_part", "response.refusal")):
            rest["content_index"] = count_in(data, "content_index")
        if kind.startswith("response.output_text.d"):
            rest.setdefault("logprobs", [])
        yield self._event(kind, rest)

    def _index_of(self, data: Json, item: Json | None) -> int | None:
        identity = data.get("item_id") or (item or {}).get("id")
        if isinstance(identity, str) and identity in self._indexes:
            return self._indexes[identity]
        index = data.get("output_index")
        if isinstance(index, int) and 0 <= index < len(self._ids):
            return index
        return len(self._ids) - 1 if self._ids and not isinstance(index, int) else None

    def _native_end(self, data: Json) -> Iterator[Event]:
        answer: Json = dict(table_in(data, "response"))
        self.told = table_in(answer, "usage")
        finals = tables_in(answer, "output")
        outputs = []
        for index, identity in enumerate(self._ids):
            item = self._done.get(index) or (finals[index] if index < len(finals) else None)
            if item is None:
                item = self.response["output"][index]
            repaired = {**repair_item(item), "id": identity}
            if index not in self._done:
                repaired["status"] = "completed" if repaired.get("status") == "in_progress" else repaired.get("status")
                yield self._event("response.output_item.done", {"output_index": index, "item": self._copy(repaired)})
            outputs.append(repaired)
        outputs += finals[len(outputs) :]
        if data["type"] == "response.incomplete":
            answer["status"] = "incomplete"
        merged = {**answer, "output": outputs, "id": self.response["id"], "created_at": self.response["created_at"]}
        final = repair_response(merged, self._body, self.model, self.backend or {})
        if (kind := json_kind(self._body)) and (parts := json_parts(final)) is not None:
            warn_of_stream("".join(part["text"] for part in parts), kind, final["provider_specific_fields"])
        self.response.update(final)
        self.is_over = True
        self._on_end(final)
        shown = objects.shown(final, [self._copy(item) for item in final["output"]])
        yield self._event(f"response.{final['status']}", {"response": shown})
        yield Event.from_bytes(sse.DONE)
