"""Turns the messages of a messages request into chat messages.

Chat wants the result of every call right after the message with the calls, one message each, before any other text; a
messages request has them in the blocks of one user message, beside text and with images inside.
Source: Anthropic API reference (Messages), read 2026-11-22.

| state    | entered by                              | a user's text or image   | an assistant's message   |
|----------|-----------------------------------------|--------------------------|--------------------------|
| no call  | the beginning; the last open result     | becomes a message        | becomes a message        |
| waiting  | an assistant's message with calls       | waits for the results    | refused: results missing |

Invariants: a `tool` message follows its call with nothing but other `tool` messages between; two messages of the same
role, `tool` apart, never follow each other; system texts are one message at the front, as many templates want it.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.kept import NO_CARRIER, STATE, Carrier
from gateway.wire.messages.client_tools import call_name
from gateway.wire.messages.content import as_parts, chat_part, marked, merged, text_of, text_part

_LEFT_OUT = "[an earlier image is left out]"
_THOUGHTS = ("compaction", "fallback")
"""Blocks of an assistant that chat has no place for: the model does without them."""
_SEALED = {"thinking": "signature", "redacted_thinking": "data"}
"""Blocks in which clients carry what the upstream must get back, and the field that has it."""
_OF_CALL_BLOCK = frozenset(("type", "id", "name", "input", "cache_control", "caller", "function", "toolset_name"))


class ChatBuilder:
    """Chat messages under construction. `where` arguments are a message's path in the request.

    `referenced`: names of tools that a result has made available. `changes`: `(type, tool)` of the tools that system
    messages add or remove, in order. `recalled`: see `request.to_chat`.
    """

    def __init__(self, recalled: Mapping[str, Json], carrier: Carrier = NO_CARRIER) -> None:
        self._carrier = carrier
        self._state: Json | None = None  # of the assistant's message that follows
        self._recalled = recalled
        self._system: list[Json] = []
        self._messages: list[Json] = []
        self._open_calls: dict[str, str] = {}
        self._held: list[Json] = []
        self.referenced: set[str] = set()
        self.changes: list[tuple[str, Any]] = []

    def add_system(self, content: Any, where: str) -> None:
        """Add a system text: a string, or blocks of text and of changes to the tools. Raises InvalidRequest."""
        if isinstance(content, list):
            self.changes += [(block["type"], block.get("tool")) for block in content if _is_change(block)]
            content = [block for block in content if not _is_change(block)]
        text_of(content, where)  # raises for what is no text
        blocks = [{"text": content}] if isinstance(content, str) else content or ()
        self._system += [marked(text_part(block["text"]), block) for block in blocks if block.get("text")]

    def add(self, message: Json, where: str) -> None:
        """Add a message, `{role, content}`. Raises InvalidRequest that names the block."""
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        if message["role"] == "system":
            self.add_system(content, f"{where}.content")
        elif message["role"] == "assistant":
            self._add_assistant(blocks, where)
        else:
            self._add_user(blocks, where)

    def finished(self, max_images: int) -> list[Json]:
        """The chat messages. Before the last user message only the newest images stay,
        `max_images` in all.

        Raises InvalidRequest when there is no message, or when a call has no result.
        """
        self._check_answered("messages")
        self._flush()
        if not self._messages:
            raise InvalidRequest("messages: must hold a message of a user", param="messages")
        messages = [_joined(list(row)) for _, row in itertools.groupby(self._messages, key=_row_of)]
        _drop_old_images(messages, max_images)
        head = [{"role": "system", "content": merged(self._system)}] if self._system else []
        return head + messages

    def _add_assistant(self, blocks: list[Json], where: str) -> None:
        self._check_answered(where)
        self._flush()
        texts: list[Json] = []
        calls: list[Json] = []
        for index, block in enumerate(blocks):
            kind = block["type"]
            if kind == "text":
                texts.append(block)
            elif kind == "tool_use":
                arguments = orjson.dumps(block.get("input") or {}).decode()
                calls.append({**_kept(block), **_call(block["id"], call_name(block), arguments)})
                self._open_calls[block["id"]] = f"{where}.content[{index}]"
            elif kind == "server_tool_use" and (known := self._recalled.get(str(block.get("id")))) is not None:
                self._write(texts, [_call(block["id"], known["name"], known["arguments"])])
                self._messages.append({"role": "tool", "tool_call_id": block["id"], "content": known["output"]})
                texts = []
            elif kind in _SEALED:
                self._state = self._carrier.opened(block.get(_SEALED[kind])) or self._state
            elif kind not in _THOUGHTS and not kind.endswith(("_tool_use", "_tool_result")):  # of the server's own
                at = f"{where}.content[{index}]"
                raise InvalidRequest(f"{at}: a block of type '{kind[:40]}' is not an assistant's", param=at)
        self._write(texts, calls)

    def _write(self, texts: list[Json], calls: list[Json]) -> None:
        text = "".join(block.get("text") or "" for block in texts)
        if not text and not calls:
            return
        content = merged([marked(text_part(text), *texts)]) if text else None
        message: Json = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
        if self._state is not None:
            message[STATE], self._state = self._state, None
        self._messages.append(message)

    def _add_user(self, blocks: list[Json], where: str) -> None:
        own: list[Json] = []
        for index, block in enumerate(blocks):
            at = f"{where}.content[{index}]"
            if block["type"] == "tool_result":
                self._add_result(block, at)
            else:
                own.append(marked(chat_part(block, at), block))
        self._held += own
        if not self._open_calls:
            self._flush()

    def _add_result(self, block: Json, where: str) -> None:
        """A `tool` message with the result's text; its images wait, since chat has no images in tool messages."""
        call_id = block["tool_use_id"]
        if self._open_calls.pop(call_id, None) is None:
            raise InvalidRequest(
                f"{where}.tool_use_id: the message before has no tool_use block with this id that waits for a result",
                param=f"{where}.tool_use_id",
            )
        content = block.get("content")
        inner = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        self.referenced.update(str(each.get("tool_name")) for each in inner if each["type"] == "tool_reference")
        parts = [chat_part(each, f"{where}.content[{index}]") for index, each in enumerate(inner)]
        texts = [part["text"] for part in parts if part["type"] == "text"]
        images = [part for part in parts if part["type"] != "text"]
        if images:
            texts.append(f"[{len(images)} image(s) of this result: in the next message]")
            self._held += [text_part(f"[image(s) of the result {call_id}]"), *images]
        text = "\n".join([*(["[error]"] if block.get("is_error") else []), *texts])
        content = merged([marked(text_part(text), *inner, block)])
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def _flush(self) -> None:
        """Make a user message of what waited."""
        parts, self._held = self._held, []
        if parts:
            self._messages.append({"role": "user", "content": parts})

    def _check_answered(self, where: str) -> None:
        for path in self._open_calls.values():
            raise InvalidRequest(f"{where}: the call in {path} has no tool_result in the message after it", param=path)


def _row_of(message: Json) -> object:
    """What messages have in common that become one: their role; results stay apart."""
    return message["tool_call_id"] if message["role"] == "tool" else message["role"]


def _joined(row: list[Json]) -> Json:
    """One message of those of one role that follow each other."""
    joined = {name: value for message in row for name, value in message.items()}
    joined["content"] = merged([part for message in row for part in as_parts(message["content"] or [])])
    if not joined["content"] and joined["role"] == "assistant":
        joined["content"] = None
    if calls := [call for message in row for call in message.get("tool_calls") or ()]:
        joined["tool_calls"] = calls
    return joined


def _kept(block: Json) -> Json:
    """The members of a call's block that only its upstream understands."""
    return {name: value for name, value in block.items() if name not in _OF_CALL_BLOCK}


def _call(call_id: str, name: str, arguments: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_change(block: Json) -> bool:
    return block["type"] in ("tool_addition", "tool_removal")


def _drop_old_images(messages: list[Json], limit: int) -> None:
    """Replace images by a note, the oldest first, until `limit` are left; never those of the last user message.

    A session that takes screenshots collects them without end; to refuse its history would end it.
    """
    users = [number for number, message in enumerate(messages) if message["role"] == "user"]
    images = [(number, place) for number in users for place in _image_places(messages[number])]
    excess = len(images) - limit
    for number, place in images[: max(0, excess)]:
        if number != users[-1]:
            messages[number]["content"][place] = text_part(_LEFT_OUT)


def _image_places(message: Json) -> Iterable[int]:
    content = message["content"]
    if isinstance(content, list):
        yield from (place for place, part in enumerate(content) if part["type"] == "image_url")
