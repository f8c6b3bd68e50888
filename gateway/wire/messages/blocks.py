"""The content blocks of an answer under construction, and the stream events of each step.

Blocks come strictly one after the other, while chat's calls may run beside each other and beside text. Source:
Anthropic API reference (Streaming messages), read 2026-11-22.

Theory of operation. At most one block is open. What comes while a call's arguments are incomplete waits in
`_waiting`: texts, thoughts and each call, in the order in which they began.

| open block       | a piece of the same          | a piece of another                                            |
|------------------|------------------------------|---------------------------------------------------------------|
| none             | -                            | opens a block                                                 |
| text, thinking   | a delta                      | closes it, opens another                                      |
| call, incomplete | a delta; if it is complete   | waits                                                         |
|                  | now, what waits is written   |                                                               |
| call, complete   | a delta                      | closes it, opens another                                      |

Invariants: each block has one start, then its deltas, then one stop; its index is its place in the content; `content`
holds all blocks so far, a text or a call's `input` from its stop on; something waits only while an incomplete call is
open.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import orjson

from gateway.domain import Event, Json
from gateway.errors import UpstreamError
from gateway.wire.chat.calls import JsonEnd
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.chat.said import called
from gateway.wire.messages.client_tools import named_block
from gateway.wire.messages.object import new_id
from gateway.wire.untrusted_json import object_in

_Key: TypeAlias = "int | str"
"""What a piece belongs to: the index of a call, `text`, `refusal`, `thinking`, or `cited`: a text in its own block."""


class Blocks:
    """`display`: how thoughts are shown, see `request.thinking_display`.

    `is_whole`: nothing is streamed, and `content` has the texts and the calls' `input`; else they are not kept.
    `broken_call`: the arguments of some call are not a JSON object; its `input` is empty then.
    """

    def __init__(
        self, display: str | None, carrier: Carrier = NO_CARRIER, long_names: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._long_names = long_names
        self._display = display
        self._carrier = carrier
        self.is_whole = False
        self.content: list[Json] = []
        self.broken_call = False
        self._open: _Key | None = None
        self._arguments, self._is_free = JsonEnd(), False
        self._closed_calls: set[int] = set()
        self._text: list[str] = []  # of the open block
        self._waiting: OrderedDict[_Key, list[Json]] = OrderedDict()

    def text(self, text: str, citations: tuple[Json, ...] = (), *, is_refusal: bool = False) -> Iterator[Event]:
        """A piece of text; one with citations is a block of its own, as is a refusal behind a text."""
        key = "cited" if citations else "refusal" if is_refusal else "text"
        yield from self._take(key, {"text": text, "citations": citations})

    def thought(self, text: str) -> Iterator[Event]:
        """A piece of reasoning; nothing where the caller did not ask to see it."""
        if self._display is not None:
            yield from self._take("thinking", {"text": text})

    def call(self, delta: Json) -> Iterator[Event]:
        """A piece of a tool call, `{index, id?, function: {name?, arguments?}}`. Raises UpstreamError."""
        index, arguments = int(delta.get("index") or 0), called(delta).text
        if index not in self._closed_calls:
            yield from self._take(index, delta)
        elif arguments and arguments.strip():
            raise UpstreamError("the upstream went on with a tool call whose arguments were complete")

    def whole(self, block: Json) -> Iterator[Event]:
        """A block of a tool that the server runs: its call, whose input is streamed, or its result, which is not."""
        yield from self.end()
        self.content.append(block)
        given = block.get("input")
        shown = block if given is None else {**block, "input": {}}
        yield from self._event("content_block_start", {"content_block": shown})
        if given is not None:
            yield from self._delta({"type": "input_json_delta", "partial_json": orjson.dumps(given).decode()})
        yield from self._event("content_block_stop", {})

    def end(self) -> Iterator[Event]:
        """Write what waits, and close what is open."""
        while self._waiting:
            yield from self._next()
        yield from self._stop()

    def _take(self, key: _Key, piece: Json) -> Iterator[Event]:
        if isinstance(self._open, int) and key != self._open and not self._arguments.is_complete():
            self._waiting.setdefault(key, []).append(piece)
            return
        yield from self._write(key, piece)
        while self._waiting and (not isinstance(self._open, int) or self._arguments.is_complete()):
            yield from self._next()

    def _next(self) -> Iterator[Event]:
        """Write what has waited longest."""
        key, pieces = self._waiting.popitem(last=False)
        for piece in pieces:
            yield from self._write(key, piece)

    def _write(self, key: _Key, piece: Json) -> Iterator[Event]:
        """Add a piece to its block, which is opened first where another one is open."""
        if key != self._open or key == "cited":
            yield from self._stop()
            yield from self._start(key, piece)
        if isinstance(key, int):
            if text := called(piece).text:
                yield from self._input_delta(orjson.dumps(text).decode()[1:-1] if self._is_free else text)
        elif key == "thinking":
            if self._display != "omitted":
                self._keep(piece["text"])
                yield from self._delta({"type": "thinking_delta", "thinking": piece["text"]})
        else:
            for citation in piece["citations"]:
                yield from self._delta({"type": "citations_delta", "citation": citation})
            self._keep(piece["text"])
            yield from self._delta({"type": "text_delta", "text": piece["text"]})

    def _start(self, key: _Key, piece: Json) -> Iterator[Event]:
        self._open, self._text = key, []
        block: Json
        if isinstance(key, int):
            self._arguments = JsonEnd()
            _, _, name, _, kept = given = called(piece)
            self._is_free = given.kind == "custom"  # its text is a string here: this API has no such calls
            made = {
                "type": "tool_use",
                "id": piece.get("id") or new_id("toolu"),
                **named_block(self._long_names.get(name, name)),
                "input": {},
            }
            block = {**kept, **made}
        elif key == "thinking":
            block = {"type": "thinking", "thinking": "", "signature": ""}
        else:
            block = {"type": "text", "text": ""}
            if piece["citations"]:
                block["citations"] = list(piece["citations"])
        self.content.append(block)
        shown = {**block, "citations": []} if "citations" in block else dict(block)
        yield from self._event("content_block_start", {"content_block": shown})
        if isinstance(key, int) and self._is_free:
            yield from self._input_delta('{"input":"')

    def _stop(self) -> Iterator[Event]:
        key, self._open = self._open, None
        if key is None:
            return
        block = self.content[-1]
        if key == "thinking":
            block["thinking"] = "".join(self._text)
            block["signature"] = self._carrier.sealed() or new_id("sig")
            yield from self._delta({"type": "signature_delta", "signature": block["signature"]})
        elif isinstance(key, int):
            self._closed_calls.add(key)
            if self._is_free:
                yield from self._input_delta('"}')
            block["input"] = self._input() if self.is_whole else {}
        else:
            block["text"] = "".join(self._text)
        yield from self._event("content_block_stop", {})

    def _input_delta(self, text: str) -> Iterator[Event]:
        self._arguments.add(text)
        self._keep(text)
        yield from self._delta({"type": "input_json_delta", "partial_json": text})

    def _keep(self, text: str) -> None:
        if self.is_whole:
            self._text.append(text)

    def _input(self) -> Json:
        """The open call's arguments as an object. An empty text means no arguments."""
        decoded = object_in("".join(self._text) or "{}")
        self.broken_call = self.broken_call or decoded is None
        return decoded or {}

    def _delta(self, delta: Json) -> Iterator[Event]:
        yield from self._event("content_block_delta", {"delta": delta})

    def _event(self, kind: str, fields: Json) -> Iterator[Event]:
        data = {"type": kind, "index": len(self.content) - 1, **fields}
        yield Event.from_data(data, name=kind)


def stop_event(index: int) -> Event:
    """The end of the block `index`."""
    return Event.from_data({"type": "content_block_stop", "index": index}, name="content_block_stop")
