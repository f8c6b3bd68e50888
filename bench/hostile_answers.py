"""What models and their upstreams may answer, and callers of the messages route may ask: for `hostile_functions`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import orjson

from bench import hostile_inputs as inputs
from gateway.config.settings import Sanitize
from gateway.domain import Event, Json
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.texts import TextSlot
from gateway.wire import ocr, repetition
from gateway.wire.chat.hosted_answer import HostedChat
from gateway.wire.hosted_answer import AnswerEnd, ClientCall, HostedEvent, ReasoningPiece, TextPiece, events_of
from gateway.wire.logprobs import spell
from gateway.wire.messages.blocks import Blocks
from gateway.wire.messages.request import to_chat
from gateway.wire.responses.stream import ResponseStream
from gateway.wire.responses.streamed_call import StreamedCall
from gateway.wire.responses.tool_names import ToolRef

__all__ = [
    "ANSWERS", "DELTAS", "HOSTED", "LOGPROBS", "REQUESTS", "blocks", "custom_input", "hosted_chat", "loop_guard",
    "masked_arguments", "special_tokens", "spelt_logprobs", "streamed_response", "to_chat",
]  # fmt: skip

Make = Callable[[int], Any]
T = TypeVar("T")


def blocks(deltas: list[tuple[str, Any]]) -> None:
    """The blocks of an answer of an upstream that mixes calls and texts as it likes."""
    made = Blocks("summarized")
    for kind, piece in deltas:
        for _ in made.text(piece) if kind == "text" else made.call(piece):
            pass
    for _ in made.end():
        pass


def _piece(index: int, text: str) -> tuple[str, Json]:
    return "call", {"index": index, "function": {"arguments": text}}


_MASKER = SlotMasker(Scanner(), actions(Sanitize(), "responses"), lambda *_: None)


def masked_arguments(body: bytes) -> None:
    """Arguments of a call are masked in what they hold."""
    _MASKER.clean(TextSlot({"arguments": body.decode(errors="replace")}, "arguments", "", "json"))


ANSWERS: dict[str, Make] = {
    "calls beside each other": lambda size: [
        _piece(number % 9, '{"a' if number < 9 else "b") for number in range(size)
    ],
    "a call each": lambda size: [_piece(number, "{") for number in range(size)],
    "a text between": lambda size: [("text", "a") if number % 2 else _piece(0, "{") for number in range(size)],
    "whole calls": lambda size: [_piece(number, "{}") for number in range(size)],
    "strings": lambda size: [_piece(number % 2, '"\\') for number in range(size)],
}
"""What an upstream may send as pieces of text and calls; sizes count pieces."""


def _turns(size: int) -> Json:
    """A request whose every turn calls and answers."""
    turns: list[Json] = []
    for number in range(size // 100):
        use = {"type": "tool_use", "id": str(number), "name": "f", "input": {}}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": [{"type": "text", "text": "x"}]}
        turns += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return {"model": "m", "messages": [{"role": "user", "content": "x"}, *turns]}


def _users(size: int) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": "x"}] * (size // 20)}


REQUESTS: dict[str, Make] = {"turns": _turns, "users": _users}
"""Bodies of the messages route; sizes count characters, roughly."""


def custom_input(text: str) -> None:
    call = StreamedCall(ToolRef("custom", "x"), "c")
    call.take('{"input": "')
    for at in range(0, len(text), 5):
        call.take(text[at : at + 5])
    call.end()


def loop_guard(text: str) -> None:
    guard = repetition.LoopGuard()
    for at in range(0, len(text), 5):
        guard.feed(text[at : at + 5])


def special_tokens(text: str) -> None:
    tokens_filter = ocr.SpecialTokenFilter()
    for at in range(0, len(text), 5):
        tokens_filter.feed(text[at : at + 5])


async def _batches(events: Sequence[T]) -> AsyncGenerator[list[T], None]:
    for event in events:
        yield [event]


async def _drained(events: AsyncIterable[object]) -> None:
    async for _ in events:
        pass


def streamed_response(deltas: list[Json]) -> None:
    """A /responses stream for chat deltas that came one by one."""
    chunks = [Event.from_data({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    asyncio.run(
        _drained(ResponseStream({"model": "m", "input": "x"}, lambda response: None).run(events_of(_batches(chunks))))
    )


def hosted_chat(events: list[HostedEvent]) -> None:
    """A whole chat answer with hosted tools."""
    asyncio.run(HostedChat({}, "m").whole(_batches([*events, AnswerEnd("stop", {}, {}, {})])))


_DELTA = "\U0001f600 of a text "
DELTAS: dict[str, Make] = {
    "a text": lambda size: [{"content": _DELTA}] * size, "refusals": lambda size: [{"refusal": _DELTA}] * size,
    "reasoning": lambda size: [{"reasoning_content": _DELTA}] * size,
    "arguments": lambda size: [{"tool_calls": [_piece(0, _DELTA)[1]]}] * size,
    "calls": lambda size: [{"tool_calls": [_piece(number, "{")[1]]} for number in range(size // 8)],
    "items": lambda size: [{"content": "a"}, {"reasoning_content": "b"}] * (size // 8),
}  # fmt: skip
"""What an upstream may send as deltas of a stream; sizes count deltas, and one that begins an item as eight."""
HOSTED: dict[str, Make] = {
    "a text": lambda size: [TextPiece(_DELTA)] * size, "reasoning": lambda size: [ReasoningPiece(_DELTA)] * size,
    "arguments": lambda size: [ClientCall(_piece(0, _DELTA)[1])] * size,
    "calls": lambda size: [ClientCall(_piece(number, "{")[1]) for number in range(size)],
}  # fmt: skip


def spelt_logprobs(body: bytes) -> None:
    """What the log probabilities of a large answer spell."""
    spell(orjson.loads(body))


def _one_member(unit: bytes, before: bytes, after: bytes, size: int) -> bytes:
    """An answer with one `logprobs` that is longer than a window: `unit` again and again."""
    return b'{"logprobs":' + before + b",".join([unit] * (size // (len(unit) + 1))) + after + b"}"


def _many_members(unit: bytes, size: int) -> bytes:
    """An answer of many `logprobs` that fit a window."""
    member = b'{"logprobs":%b}' % unit
    return b"[" + b",".join([member] * (size // (len(member) + 1))) + b"]"


_TOKEN = b'{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-0.1,"bytes":[97]}]}'
_WHOLE = {
    "tokens": (_TOKEN, b'{"content":[', b"]}"), "tokens in a list": (_TOKEN, b"[", b"]"),
    "bytes of one": (b"97", b'{"content":[{"token":"a","bytes":[', b"]}]}"),
    "alternatives of one": (_TOKEN, b'{"content":[{"token":"a","top_logprobs":[', b"]}]}"),
    "lists of bytes": (b"[97]", b"[", b"]"), "empty lists": (b"[]", b"[", b"]"), "texts": (b'"a b"', b"[", b"]"),
    "long names": (b'"%b":0' % (b"a b" * 99), b"{", b"}"), "empty names": (b'"":[""]', b"{", b"}"),
    "log probabilities in them": (b'{"logprobs":[{"logprobs":[]}]}', b"[", b"]"),
    "long texts": (b'"%b"' % (b"a" * 9_000), b"[", b"]"),
}  # fmt: skip
_SHORT = {"token": b"[%b]" % _TOKEN, "empty": b"[]", "empty object": b"{}", "no list": b"0", "texts": b'{"a b":["c"]}'}
LOGPROBS: dict[str, Make] = {
    **{name: partial(_one_member, *parts) for name, parts in _WHOLE.items()},
    **{f"many, {name}": partial(_many_members, unit) for name, unit in _SHORT.items()},
    **inputs.BODIES,
    "nested": lambda size: b'{"logprobs":[' * (size // 15) + b"]}" * (size // 15),
    "nested in one": lambda size: b'{"logprobs":[%b]}' % b",".join([b"[" * 90 + b"]" * 90] * (size // 181)),
}
"""What an upstream may send as log probabilities; sizes count bytes."""
