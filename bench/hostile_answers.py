"""What models and their upstreams may answer, and callers of the messages route may ask: for `hostile_functions`."""

from collections.abc import Callable
from typing import Any

from gateway.domain import Json
from gateway.wire.chat.prompted_tools import PromptedTools
from gateway.wire.messages.blocks import Blocks
from gateway.wire.messages.request import to_chat
from gateway.wire.responses.calls import StreamedCall
from gateway.wire.responses.tool_names import ToolRef

__all__ = ["ANSWERS", "REQUESTS", "blocks", "custom_input", "prompted_call", "to_chat"]

Make = Callable[[int], Any]


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


def prompted_call(text: str) -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    request = PromptedTools({"messages": [{"role": "user", "content": "x"}], "tools": [tool]})
    request.read(text, "stop")
    request.read('{"name": "f", "arguments": {"a": "' + text, "stop")
