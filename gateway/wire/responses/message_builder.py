"""Builds chat messages from the items of a conversation, in the order that strict chat templates accept.

Source: OpenAI API reference (Responses, Chat Completions), read 2026-11-22.

Theory of operation. Chat wants every tool message right after the assistant message with its call. Items come in any
order, so while calls are open (made and not answered), the builder holds things back:

| item while calls are open | what happens                                                             |
|---------------------------|--------------------------------------------------------------------------|
| call                      | joins the assistant message of the open calls                            |
| assistant text            | joins it, too                                                            |
| output                    | a tool message; closes its call; its images wait                         |
| user message              | waits                                                                    |
| system, developer message | to the system message at the front, as always: many templates allow one  |

An assistant's text right after another joins it: strict templates refuse two messages of the assistant in a row.
When the last call is closed, or the conversation ends, one user message with the images follows, then what waited.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.kept import NO_CARRIER, STATE, Carrier
from gateway.wire.chat.request import OpenCalls, result_head
from gateway.wire.responses.call_kinds import KIND_OF_CALL, KIND_OF_OUTPUT, arguments_of, ref_of_call
from gateway.wire.responses.parts import PartsInTexts, output_content, text_of, user_content
from gateway.wire.responses.tool_names import ToolNames
from gateway.wire.untrusted_json import tables_in

_SHOWN_WARNINGS = 3
"""Warnings that an error repeats."""
_SHOWN_CHARS = 80
"""An id or type in an error text is cut here: it comes from the caller and may be megabytes long."""

LEFT_OUT = frozenset({
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
    "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", "program", "program_output",
})  # fmt: skip
"""Items of thoughts and of tools that a server has run: their results are in the answers that followed. Chat has no
place for them."""

REFUSED = ("compaction", "compaction_summary", "compaction_trigger")
"""Items that were opened, or led to an answer of their own, before the conversation is translated."""


_OF_CALL_ITEM = frozenset((
    "id", "type", "status", "call_id", "name", "namespace", "arguments", "input", "role", "content", "function",
    "caller", "created_by", "async",
))  # fmt: skip


class MessageBuilder:
    """`where` arguments are an item's path in the request, for errors and warnings.

    `settings`: `{reasoning?, text?}` of the last items that change them.
    """

    def __init__(self, names: ToolNames, carrier: Carrier = NO_CARRIER) -> None:
        self._carrier = carrier
        self._state: Json | None = None  # of the assistant's message that follows
        self._names = names
        self._system: list[str] = []
        self._messages: list[Json] = []
        self._calls = OpenCalls()
        self._open = 0  # calls without an answer
        self._caller: Json = {}  # the assistant message of the open calls
        self._waiting: list[Json] = []
        self._images: list[Json] = []
        self._parts = PartsInTexts()
        # by the id of a message: the message, and further texts of it, which are joined once, at the end
        self._further: dict[int, tuple[Json, list[str]]] = {}
        self._warnings: dict[str, None] = {}
        self.settings: Json = {}

    @property
    def warnings(self) -> list[str]:
        """Sentences on what was left out, each once."""
        return list(self._warnings)

    def add_system(self, text: str) -> None:
        """Add a text to the system message."""
        self._system.append(text)

    def add(self, item: Json, where: str) -> None:
        """Add an item. One of a type that nobody knows is left out with a warning. Raises InvalidRequest."""
        kind = item.get("type") or "message"
        adder = _ADDERS.get(kind)
        if adder is None:
            self._warn(f"{where}: items of type '{str(kind)[:_SHOWN_CHARS]}' are not known here; it was left out")
        else:
            adder(self, item, where)

    def finished(self) -> list[Json]:
        """The messages. Raises InvalidRequest when there is none."""
        self._release()
        for message, texts in self._further.values():
            if message["content"]:
                texts.insert(0, message["content"])
            message["content"] = "\n\n".join(texts)
        head = [{"role": "system", "content": "\n\n".join(self._system)}] if self._system else []
        messages = head + self._messages
        if not messages:
            left_out = f" ({'; '.join(self.warnings[:_SHOWN_WARNINGS])})" if self._warnings else ""
            raise InvalidRequest(f"input: must hold a message{left_out}", param="input")
        return messages

    def _warn(self, sentence: str) -> None:
        self._warnings[sentence] = None

    def _add_nothing(self, item: Json, where: str) -> None:
        pass

    def _add_reasoning(self, item: Json, where: str) -> None:
        """What its upstream must get back; its text is in there, too."""
        self._state = self._carrier.opened(item.get("encrypted_content")) or self._state

    def _with_state(self, message: Json) -> Json:
        """An assistant's message with the state of the reasoning before it."""
        if self._state is not None:
            message[STATE], self._state = self._state, None
        return message

    def _refuse(self, item: Json, where: str) -> None:
        raise InvalidRequest(f"an item of type '{item['type']}' cannot stand here", param=f"{where}.type")

    def _refuse_reference(self, item: Json, where: str) -> None:
        shown = str(item.get("id"))[:_SHOWN_CHARS]
        raise InvalidRequest(f"item '{shown}' is not stored", param=f"{where}.id", code="item_not_found")

    def _add_settings(self, item: Json, where: str) -> None:
        self.settings |= {name: item[name] for name in ("reasoning", "text") if isinstance(item.get(name), dict)}

    def _add_message(self, item: Json, where: str) -> None:
        role, content, place = item.get("role"), item.get("content"), f"{where}.content"
        if role is None:
            raise InvalidRequest(
                "role is required; allowed: system, developer, user, assistant, tool", param=f"{where}.role"
            )
        if role in ("system", "developer"):
            self.add_system(self._text_of(content, place))
        elif role == "tool":
            self._add_tool_message(item, self._text_of(content, place))
        elif role == "assistant":
            self._add_assistant(self._text_of(content, place))
        else:
            parts = user_content(content, place, self._warn)
            self._add_user({"role": "user", "content": parts})

    def _text_of(self, content: Any, where: str) -> str:
        return text_of(content, where, self._warn)

    def _add_user(self, message: Json) -> None:
        (self._waiting if self._open else self._messages).append(message)

    def _add_assistant(self, text: str) -> None:
        """One answer may have several message items: before and after a search, or a refusal after a text."""
        last = self._messages[-1] if self._messages else {}
        message = self._caller if self._open else last if last.get("role") == "assistant" else None
        if message is None:
            self._messages.append(self._with_state({"role": "assistant", "content": text}))
        elif text:
            self._further.setdefault(id(message), (message, []))[1].append(text)

    def _add_tool_message(self, item: Json, text: str) -> None:
        """A message with role `tool`: answers the call of its id, else the oldest open call, else is user text."""
        call_id = item.get("call_id") or item.get("tool_call_id")
        call = self._calls.take(call_id, None)
        if call is None:
            self._add_user({"role": "user", "content": f"[tool result]\n{text}"})
        else:
            self._answer(call, text, [])

    def _add_call(self, item: Json, where: str) -> None:
        kind = KIND_OF_CALL[item["type"]]
        call_id = item.get("call_id")
        if call_id is None and kind == "tool_search":
            return  # a search by the service that gave the answer
        call_id, ref = call_id or item.get("id"), ref_of_call(item, kind)
        if not ref.name or not call_id or not isinstance(call_id, str):
            raise InvalidRequest("a call needs call_id and name", param=f"{where}.call_id")
        function = {"name": self._names.name_of(ref), "arguments": arguments_of(item, kind)}
        if not self._open:
            self._begin_calls()
        kept = {n: v for n, v in item.items() if n not in _OF_CALL_ITEM} if kind in ("function", "custom") else {}
        call = {**kept, "id": call_id, "type": "function", "function": function}
        self._caller.setdefault("tool_calls", []).append(call)
        self._calls.add(call_id, function["name"])
        self._open += 1

    def _begin_calls(self) -> None:
        """Makes the last message, if the assistant's, or a new one the message of the calls."""
        if not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": None})
        self._caller = self._with_state(self._messages[-1])
        self._caller["content"] = self._caller["content"] or None

    def _add_output(self, item: Json, where: str) -> None:
        kind = KIND_OF_OUTPUT[item["type"]]
        call_id = item.get("call_id") or (item.get("id") if kind == "local_shell" else None)
        if call_id is None and kind == "tool_search":
            return
        name = None if call_id or not item.get("name") else self._names.name_of(ref_of_call(item, kind))
        call = self._calls.take(call_id, name, exact=True) if name or isinstance(call_id, str) else None
        if call is None and call_id:
            raise InvalidRequest("no call of the input has this call_id", param=f"{where}.call_id")
        text, images = self._output(item, kind, where)
        if call is not None:
            self._answer(call, text, images)
        else:  # the client's own note
            texts = [{"type": "text", "text": f"{result_head(item.get('name'))}\n{text}"}, *images]
            self._add_user({"role": "user", "content": texts if images else texts[0]["text"]})

    def _output(self, item: Json, kind: str, where: str) -> tuple[str, list[Json]]:
        """The text and images of an output item, whose value has another form for each kind."""
        value: Any = item.get("output")
        if kind == "tool_search":
            names = (str(tool.get("name") or tool.get("type")) for tool in tables_in(item, "tools"))
            return f"tools that can be called now: {', '.join(names) or 'none'}", []
        if isinstance(value, dict) and value.get("type"):
            value = [value]
        value = self._parts.read(value) or value
        if isinstance(value, list) and all(isinstance(part, dict) and part.get("type") for part in value):
            return output_content(value, f"{where}.output", self._warn)
        if isinstance(value, str):
            return value, []
        return orjson.dumps(value).decode() if value is not None else str(item.get("status") or ""), []

    def _answer(self, call_id: str, text: str, images: list[Json]) -> None:
        if images:
            text = f"{text}\n[images: in the user message that follows]".lstrip()
            self._images += [{"type": "text", "text": f"Images of the tool call {call_id}:"}, *images]
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        self._open -= 1
        if not self._open:
            self._release()

    def _release(self) -> None:
        """The images of the outputs, in one user message, then the messages that waited."""
        if self._images:
            self._messages.append({"role": "user", "content": self._images})
            self._images = []
        self._messages += self._waiting
        self._waiting = []


_ADDERS: Mapping[str, Callable[[MessageBuilder, Json, str], None]] = {
    "message": MessageBuilder._add_message,
    "configuration_update": MessageBuilder._add_settings,
    "item_reference": MessageBuilder._refuse_reference,
    "additional_tools": MessageBuilder._add_nothing,  # `tools.declared_tools` reads it
    **dict.fromkeys(KIND_OF_CALL, MessageBuilder._add_call),
    **dict.fromkeys(KIND_OF_OUTPUT, MessageBuilder._add_output),
    **dict.fromkeys(LEFT_OUT, MessageBuilder._add_nothing),
    "reasoning": MessageBuilder._add_reasoning,
    **dict.fromkeys(REFUSED, MessageBuilder._refuse),
}
"""What adds an item of each type. Not bound methods on the builder: it would refer to itself, and keep all texts of the
conversation until the next garbage collection."""
KNOWN_ITEMS = frozenset(_ADDERS)
"""Types of items that conversations may hold."""
