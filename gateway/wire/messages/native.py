"""Passes messages requests and answers on where the upstream speaks this interface itself.

A request goes on as its caller wrote it, but for the model's name, the user, addresses, and blocks that only the
gateway understands. Of an answer the model's name is ours, and `provider_specific_fields` is added. A block with a
signature goes both ways untouched: one changed letter would void it. Sources: Anthropic API reference (Messages,
streaming, extended thinking, headers), SDK anthropic 2.14, read 2026-11-29.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from gateway.domain import ANTHROPIC_VERSION, SEALED, Event, EventBatch, Json
from gateway.errors import InvalidRequest, UpstreamError
from gateway.wire.caller_addresses import refuse_addresses, refuse_in_tools, refuse_media
from gateway.wire.chat.answer import NAME_OF_UPSTREAM
from gateway.wire.chat.json_answer import warn_of_stream
from gateway.wire.chat.request import ImagePlace, without_hosts
from gateway.wire.messages.blocks import stop_event
from gateway.wire.messages.content import NO_FILES, NO_PDF
from gateway.wire.messages.object import new_message, usage_object
from gateway.wire.messages.request import json_kind, refuse_unserved
from gateway.wire.messages.stream import MessageStream, closing, named
from gateway.wire.native_stream import PassedStream
from gateway.wire.untrusted_json import count_in, table_in, tables_in, utf8_size

# --- the request ---

_PASSED_HEADERS = {"anthropic-version": ANTHROPIC_VERSION, "anthropic-beta": ""}
"""Headers that go on, and what is sent where the caller has none."""
_header_words = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}(?:\s*,\s*[a-z0-9][a-z0-9.-]{0,63}){0,31}").fullmatch
"""Names and dates: nothing else that a caller puts into a header leaves the gateway."""
_OWN_CALL = re.compile(r"srvtoolu_[0-9a-f]{32}")
_OWN_SIGNATURE = re.compile(rf"{re.escape(SEALED)}.*|sig_[0-9a-f]{{32}}", re.DOTALL)
"""What the gateway itself signs thoughts with, and writes into a signed block that was masked."""
_THOUGHTS = ("thinking", "redacted_thinking")
_WORDS = frozenset(("text", *_THOUGHTS, "tool_use", "search_result", "tool_reference", "compaction", "fallback"))
"""Blocks that nobody fetches anything for: an address in them is something to read."""


def passed_headers(headers: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    """Those of a request's headers that its upstream gets. One that holds anything but names is left out, which
    `warnings` say."""
    passed: dict[str, str] = {}
    for name, otherwise in _PASSED_HEADERS.items():
        value = headers.get(name) or otherwise
        if _header_words(value):
            passed[name] = value
        elif value:
            warnings.append(f"{name}: is no list of names; it was left out")
    return passed


def to_native(body: Json, model: str, user: str | None) -> Json:
    """The messages body to send; `body` is not changed. `model`: its name there. `user`: the hash that is sent in the
    place of `metadata.user_id`."""
    sent = {**without_hosts(body), "model": model, "messages": [*_without_own_blocks(body["messages"])]}
    sent.pop("metadata", None)
    if user is not None:
        sent["metadata"] = {"user_id": user}
    return sent


def refuse_hosts(body: Json) -> None:
    """Raises InvalidRequest for what the gateway does not serve, and for an address or file that the upstream would
    open. Images have been fetched before (`image_places`)."""
    refuse_unserved(body)
    refuse_in_tools(body.get("tools"))
    refuse_media(body, "")
    for number, message in enumerate(body["messages"]):
        for where, block in _blocks_below(message.get("content"), f"messages[{number}].content"):
            kind, source = block["type"], table_in(block, "source")
            if source.get("type") == "file" or kind == "container_upload":
                raise InvalidRequest(f"{where}: {NO_FILES}", param=where)
            if kind == "document" and source.get("type") == "url":
                raise InvalidRequest(f"{where}.source: {NO_PDF}", param=f"{where}.source")
            if kind not in _WORDS and not kind.endswith(("_tool_use", "_tool_result")):
                refuse_addresses(block, where)


def unsigned(body: Json) -> Json:
    """The body without the thoughts that a service has signed: no caller typed them."""
    messages = []
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "assistant" and isinstance(content, list):
            message = {**message, "content": [block for block in content if not is_signed(block)]}
        messages.append(message)
    return {**body, "messages": messages}


def image_places(body: Json) -> list[ImagePlace]:
    """The images that a request names by their address. `settle_images` makes a source of what comes in its place."""
    found = list[ImagePlace]()
    for number, message in enumerate(body["messages"]):
        for where, block in _blocks_below(message.get("content"), f"messages[{number}].content"):
            source = table_in(block, "source")
            if block["type"] == "image" and source.get("type") == "url":
                if not isinstance(source.get("url"), str):
                    raise InvalidRequest(f"{where}.source.url: must be a URL", param=f"{where}.source.url")
                found.append(ImagePlace(f"{where}.source.url", source, "url"))
    return found


def settle_images(places: list[ImagePlace]) -> None:
    """Each source with a data URL becomes one of type `base64`, in place.

    {"type": "url", "url": "data:image/png;base64,iVBO"}
    # {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    """
    for place in places:
        head, _, data = place.holder.pop(place.key).partition(",")
        kind = head.removeprefix("data:").partition(";")[0]
        source = place.holder
        source |= {"type": "base64", "media_type": kind or "image/png", "data": data}


def _blocks_below(content: Any, where: str) -> Iterator[tuple[str, Json]]:
    """(path, block) of each block of a content, those inside results of the caller's tools as well."""
    for index, block in enumerate(content if isinstance(content, list) else ()):
        at = f"{where}[{index}]"
        if block["type"] == "tool_result":
            yield from _blocks_below(block.get("content"), f"{at}.content")
        else:
            yield at, block


def _without_own_blocks(messages: list[Json]) -> Iterator[Json]:
    """The messages without blocks that the gateway has made: thoughts that it signed, searches that it ran."""
    for message in messages:
        content = message.get("content")
        if message["role"] != "assistant" or not isinstance(content, list):
            yield message
            continue
        kept = [_without_own_citations(block) for block in content if not _is_own(block)]
        if kept == content:
            yield message
        elif kept:
            yield {**message, "content": kept}


def _is_own(block: Json) -> bool:
    if block["type"] in _THOUGHTS:
        return _OWN_SIGNATURE.fullmatch(str(block.get("signature") or block.get("data") or "")) is not None
    if block["type"].endswith(("_tool_use", "_tool_result")):
        return _OWN_CALL.fullmatch(str(block.get("id") or block.get("tool_use_id") or "")) is not None
    return False


def _without_own_citations(block: Json) -> Json:
    """A text without the citations of the gateway's searches: their `encrypted_index` is empty."""
    citations = tables_in(block, "citations") if block["type"] == "text" else []
    foreign = [each for each in citations if each.get("encrypted_index") != ""]
    return block if len(foreign) == len(citations) else {**block, "citations": foreign or None}


# --- the answer ---

_PIECES = ("text", "thinking", "partial_json")
_MOST_HELD = 1 << 20
"""Bytes of thoughts that wait for their signature; longer ones go on as unsigned."""


def chat_usage(usage: Any) -> Json:
    """A usage of this interface with chat's names; its prompt includes what was read from a cache or written to one.

    chat_usage({"input_tokens": 3, "cache_read_input_tokens": 9, "output_tokens": 2})
    # {"prompt_tokens": 12, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 9, …}}
    """
    read, written = count_in(usage, "cache_read_input_tokens"), count_in(usage, "cache_creation_input_tokens")
    return {
        "prompt_tokens": count_in(usage, "input_tokens") + read + written,
        "completion_tokens": count_in(usage, "output_tokens"),
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }


def mended_message(answer: Any, model: str, backend: Json) -> Json:
    """An upstream's decoded answer with every field that this API promises. Raises UpstreamError where it is none."""
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list):
        raise UpstreamError("the upstream's answer is not a message")
    message = _opened(answer, model)
    blocks = tables_in(answer, "content")
    message["content"] = [each if isinstance(each.get("type"), str) else {**each, "type": "text"} for each in blocks]
    return {**message, "provider_specific_fields": backend}


def _opened(theirs: Json, model: str) -> Json:
    """A message, or the beginning of one, under our model's name."""
    kept = {name: value for name, value in theirs.items() if name != NAME_OF_UPSTREAM and value is not None}
    message = {**new_message(model), **kept, "model": model, "type": "message", "role": "assistant"}
    message["usage"] = {**usage_object(None), **table_in(theirs, "usage")}
    return message


def written_bytes(block: Json) -> int:
    """Bytes of what a model has written in a block of a whole answer."""
    texts = sum(utf8_size(block[name]) for name in ("text", "thinking") if isinstance(block.get(name), str))
    return texts + (len(orjson.dumps(block["input"])) if block["type"] == "tool_use" and "input" in block else 0)


def is_signed(block: Json) -> bool:
    """Whether a block may not be changed."""
    return bool(block.get("signature")) or block.get("type") == "redacted_thinking"


def set_apart(message: Json) -> Callable[[Json], Json]:
    """Takes the signed blocks out of a message, in place. Returns what puts them back, once the others are masked."""
    content = message["content"]
    apart = [(number, block) for number, block in enumerate(content) if is_signed(block)]
    message["content"] = [block for block in content if not is_signed(block)]
    whole = len(message["content"])

    def put_back(masked: Json) -> Json:
        if len(masked["content"]) == whole:  # else it was refused, and ends before the finding
            for number, block in apart:
                masked["content"].insert(number, block)
        return masked

    return put_back


class NativeMessageStream(MessageStream, PassedStream):
    """One stream of an upstream's own events.

    `holds_thoughts`: thoughts wait until their block is whole, since only then it is known whether they are signed;
    with a sanitizer alone.
    """

    def __init__(self, body: Json, input_tokens: int, *, holds_thoughts: bool) -> None:
        MessageStream.__init__(self, body, input_tokens)
        PassedStream.__init__(self)
        self._holds_thoughts = holds_thoughts
        self._held: list[Json] | None = None
        self._held_bytes = 0
        self._open: Any = None
        self._json_kind, self._texts = json_kind(body), list[str]()

    def note(self, events: EventBatch) -> None:
        """See PassedStream."""
        for data in (event.data for event in events if event.data is not None):
            if data["type"] == "content_block_start":
                self._open = data.get("index")
            elif data["type"] == "content_block_stop":
                self._open = None

    def events_of(self, kind: str, data: Json) -> Iterator[Event]:
        """See PassedStream; its last event is `message_stop`."""
        if kind == "message_start":
            yield from self._start(table_in(data, "message"), data)
            return
        if not self._is_open:
            yield from self._start({}, {})
        if self._held is not None or (self._holds_thoughts and _begins_thoughts(data)):
            yield from self._hold(data)
        elif kind == "message_delta":
            self.told |= {name: each for name, each in table_in(data, "usage").items() if each is not None}
            fields = dict(self.backend or {})
            if self._json_kind and table_in(data, "delta").get("stop_reason") == "end_turn":
                warn_of_stream("".join(self._texts), self._json_kind, fields)
            yield named({**data, "provider_specific_fields": fields})
        else:
            if self._json_kind and isinstance(text := table_in(data, "delta").get("text"), str):
                self._texts.append(text)
            self.is_over = kind == "message_stop"
            yield named(data) if not is_signed(table_in(data, "content_block")) else _untouched(data)

    def _start(self, theirs: Json, data: Json) -> Iterator[Event]:
        self._is_open = True
        self.message = _opened(theirs, self.model)
        self.told = dict(self.message["usage"])
        yield named({**data, "type": "message_start", "message": self.message})

    def _hold(self, data: Json) -> Iterator[Event]:
        """Keep the events of thoughts until the last one, or until they are too many."""
        held = self._held = [] if self._held is None else self._held
        held.append(data)
        delta = table_in(data, "delta")
        self._held_bytes += sum(utf8_size(delta[name]) for name in _PIECES if isinstance(delta.get(name), str))
        if data["type"] != "content_block_stop" and self._held_bytes <= _MOST_HELD:
            return
        signed = any(is_signed(table_in(each, name)) for each in held for name in ("content_block", "delta"))
        made = _untouched if signed else named
        self._held, self._held_bytes = None, 0
        yield from map(made, held)

    def cut_end(self, usage: Json) -> Iterator[Event]:
        """See PassedStream."""
        if self._open is not None:
            yield stop_event(self._open)
        yield from closing({"stop_reason": "max_tokens", "stop_sequence": None}, usage_object(usage), self.backend)


def written_in(events: EventBatch) -> int:
    """Bytes of what a model has written in some events."""
    deltas = [table_in(event.finish({}) if event.finish else event.data or {}, "delta") for event in events]
    return sum(utf8_size(delta[name]) for delta in deltas for name in _PIECES if isinstance(delta.get(name), str))


def _begins_thoughts(data: Json) -> bool:
    return data.get("type") == "content_block_start" and table_in(data, "content_block").get("type") == "thinking"


def _untouched(data: Json) -> Event:
    """An event that leaves as it is: middlewares see what it belongs to, and no text."""
    shown: Json = {name: data[name] for name in ("type", "index") if name in data}
    return Event.from_data(shown, name=data["type"], finish=lambda _: data)
