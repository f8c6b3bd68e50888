"""Translates a responses request into a chat request: items to messages, tools and formats to chat's nested forms.

Sources: OpenAI API reference (Responses, Chat Completions) and the Open Responses specification 2026-04-24, read
2026-11-21; openai-python 3.52, read 2026-11-22. The items that a request refers to are arguments.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.key_scrubber import scrub_keys
from gateway.wire.chat.kept import NO_CARRIER, STATE, Carrier
from gateway.wire.chat.request import OpenCalls
from gateway.wire.hosted_answer import LOGPROBS_LEFT_OUT
from gateway.wire.responses.tools import (
    KIND_OF_CALL,
    KIND_OF_OUTPUT,
    DeferredTool,
    ToolNames,
    arguments_of,
    declared_tools,
    offered_tools,
    ref_of_call,
    set_tools,
)
from gateway.wire.untrusted_json import list_in, table_in, tables_in

# --- parts ---
# Content parts of the responses route in chat's form: texts, images, and notes for what chat has no place for.
#
# A note takes the part's place in the conversation: a refusal would end the thread, since clients send the part again
# with every turn. Source: OpenAI API reference (Responses), read 2026-11-22.

TEXT_PARTS = ("input_text", "output_text", "text")
IMAGE_PARTS = ("input_image", "image_url", "computer_screenshot", "image")
_NOTED = ("input_file", "input_audio", *IMAGE_PARTS)
"""Parts that become a note where they cannot be sent."""

_NAME_CHARS = 80
"""Most characters of a file's name or a part's type in a note."""

Warn = Callable[[str], None]
"""Called with a sentence for the answer's warnings."""


def text_of(content: Any, where: str, warn: Warn) -> str:
    """The text of a content (None, a string or parts), its parts joined by line feeds; other parts become notes.

    Raises InvalidRequest for a part of an unknown type.
    """
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in _chat_parts(content, where, warn, "text"))


def user_content(content: Any, where: str, warn: Warn) -> str | list[Json]:
    """A user message's content: a string where it is only text, else chat parts. Raises InvalidRequest."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = list(_chat_parts(content, where, warn, "user"))
    return parts if any(part["type"] != "text" for part in parts) else "\n".join(part["text"] for part in parts)


def output_content(parts: list[Any], where: str, warn: Warn) -> tuple[str, list[Json]]:
    """A tool output's text, and its images as chat parts: chat takes images from the user alone."""
    made = list(_chat_parts(parts, where, warn, "output"))
    text = "\n".join(part["text"] for part in made if part["type"] == "text")
    return text, [part for part in made if part["type"] != "text"]


def _chat_parts(content: list[Any], where: str, warn: Warn, place: Literal["text", "user", "output"]) -> Iterator[Json]:
    """Parts in chat's form. A `text` has no images; a `user` may send sound; an `output` may hold anything. Raises
    InvalidRequest."""
    for index, part in enumerate(content):
        kind, at = part["type"], f"{where}[{index}]"
        image = _image(part) if kind in IMAGE_PARTS and place != "text" else None
        if image is not None:
            yield image
        elif kind in IMAGE_PARTS and place == "user":
            raise _no_image(part, at)
        elif kind == "input_audio" and place == "user":
            yield part  # chat has it in the same form
        elif kind in TEXT_PARTS or kind == "refusal":
            yield {"type": "text", "text": str(part.get("refusal" if kind == "refusal" else "text") or "")}
        elif kind in _NOTED or place == "output":
            yield {"type": "text", "text": _note(part, at, warn)}
        else:
            raise InvalidRequest(
                f"a part of type '{str(kind)[:_NAME_CHARS]}' is not supported here; allowed: "
                f"{', '.join(TEXT_PARTS[:2])}, input_image, input_file",
                param=at,
            )


def parts_in_text(value: Any) -> list[Json] | None:
    """The parts that a text is, if it is the JSON of a list of texts and pictures with a picture among them: Codex
    sends the outputs of some tools so. None for any other text, which is a text.

        parts_in_text('[{"type": "input_image", "image_url": "data:image/png;base64,iVBO"}]')  # the list
        parts_in_text('[{"type": "row"}]')  # None
    """
    if not isinstance(value, str) or not value.startswith("["):
        return None
    try:
        parts = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    if not all(isinstance(part, dict) and part.get("type") in (*TEXT_PARTS, *IMAGE_PARTS) for part in parts):
        return None
    return parts if any(_image(part) is not None for part in parts) else None


def _note(part: Json, where: str, warn: Warn) -> str:
    kind = str(part["type"])[:_NAME_CHARS]
    warn(f"{where}: a part of type '{kind}' cannot be sent to this model here; it was told so by a note")
    name = str(part.get("filename") or "")[:_NAME_CHARS]
    return f"[{kind}{' ' + name if name else ''}: left out, this model cannot read it here]"


def _no_image(part: Json, where: str) -> InvalidRequest:
    if part.get("file_id"):
        return InvalidRequest(
            "stored files are not supported; send the image as a data URL in image_url", param=f"{where}.file_id"
        )
    return InvalidRequest("image_url must be a URL or a data URL", param=f"{where}.image_url")


def _image(part: Json) -> Json | None:
    """A chat part of an image; None for one without a URL (a stored file)."""
    if part.get("type") == "image" and isinstance(part.get("data"), str):  # as MCP has it
        data_url = f"data:{part.get('mimeType') or 'image/png'};base64,{part['data']}"
        return {"type": "image_url", "image_url": {"url": data_url}}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return None
    detail = {"detail": part["detail"]} if part.get("detail") in ("auto", "low", "high") else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


# --- messages ---
# Builds chat messages from the items of a conversation, in the order that strict chat templates accept.
#
# Source: OpenAI API reference (Responses, Chat Completions), read 2026-11-22.
#
# Theory of operation. Chat wants every tool message right after the assistant message with its call. Items come in any
# order, so while calls are open (made and not answered), the builder holds things back:
#
# | item while calls are open | what happens                                                             |
# |---------------------------|--------------------------------------------------------------------------|
# | call                      | joins the assistant message of the open calls                            |
# | assistant text            | joins it, too                                                            |
# | output                    | a tool message; closes its call; its images wait                         |
# | user message              | waits                                                                    |
# | system, developer message | to the system message at the front, as always: many templates allow one  |
#
# An assistant's text right after another joins it: strict templates refuse two messages of the assistant in a row.
# When the last call is closed, or the conversation ends, one user message with the images follows, then what waited.

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
        name = None if call_id else self._names.name_of(ref_of_call(item, kind))
        is_named = isinstance(call_id, str) or (call_id is None and item.get("name"))
        call = self._calls.take(call_id, name) if is_named else None
        if call is None:
            raise InvalidRequest("no call of the input has this call_id", param=f"{where}.call_id")
        text, images = self._output(item, kind, where)
        self._answer(call, text, images)

    def _output(self, item: Json, kind: str, where: str) -> tuple[str, list[Json]]:
        """The text and images of an output item, whose value has another form for each kind."""
        value: Any = item.get("output")
        if kind == "tool_search":
            names = (str(tool.get("name") or tool.get("type")) for tool in tables_in(item, "tools"))
            return f"tools that can be called now: {', '.join(names) or 'none'}", []
        if isinstance(value, dict) and value.get("type"):
            value = [value]
        value = parts_in_text(value) or value
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


_NOT_CHAT = frozenset(
    {
        "input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "previous_response_id", "store",
        "include", "metadata", "truncation",
        "safety_identifier", "service_tier", "background", "reasoning", "max_tool_calls", "top_logprobs",
        "stream_options", "conversation", "prompt", "context_management", "response_format", "access_programs", "image",
        "moderation",
    }
)  # fmt: skip
"""Fields that are translated below, or that chat upstreams do not have. All others are sent as they are."""

_NOT_TRUNCATED = "truncation is not done for this model: a conversation beyond its context is refused"
_LOGPROBS = "message.output_text.logprobs"
"""What `include` has for them."""
_INCLUDABLE = (
    "web_search_call.action.sources", "web_search_call.results", "file_search_call.results",
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "message.input_image.image_url",
    "message.output_text.logprobs", "reasoning.encrypted_content",
)  # fmt: skip
"""Values of `include` in OpenAI's API (`ResponseIncludable` of openai-python). Clients send those of parts that an
answer does not have, so they are taken without a word."""
_SHOWN_VALUE_CHARS = 64
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A translated request: the chat `body`, and what is needed beside it.

    `dropped`: types of the tools that nobody runs here. `names`: the tools' names for the model, needed to translate
    its calls. `deferred`: tools that a search may find. `warnings`: sentences on what was left out, for the caller.
    """

    body: Json
    dropped: list[str]
    names: ToolNames
    warnings: list[str]
    deferred: Sequence[DeferredTool] = ()


def refuse_unkept(body: Json) -> None:
    """Raises InvalidRequest for several answers at once, which a response cannot hold; on any upstream."""
    if body.get("n") not in (None, 1):
        raise InvalidRequest("a response is one answer; leave n out, or use /v1/chat/completions", param="n")


def to_chat(
    body: Json,
    history: list[Json],
    hosted: Collection[str] = (),
    carrier: Carrier = NO_CARRIER,
    *,
    first: int = 0,
) -> ChatRequest:
    """The chat request of a checked request.

    `history` are the items before those of `body["input"]`. `hosted`: types of tools that the caller of this function
    runs itself. `first`: the place of the first item in the caller's input. Raises InvalidRequest, `param` naming
    the item that chat cannot express.
    """
    refuse_unkept(body)
    if body.get("prompt"):
        raise InvalidRequest("stored prompts are not supported for this model; send the items", param="prompt")
    chat = {name: value for name, value in body.items() if name not in _NOT_CHAT and value is not None}
    items = input_items(body)
    offered = offered_tools(declared_tools(body, [*history, *items]), hosted)
    messages = MessageBuilder(offered.names, carrier)
    _add_instructions(messages, body.get("instructions"))
    for item in history:
        messages.add(item, "previous_response_id")
    for index, item in enumerate(items, first):
        messages.add(item, f"input[{index}]")
    chat["messages"] = messages.finished()
    if (limit := body.get("max_output_tokens")) is not None:
        chat["max_tokens"] = limit
    settings = {**body, **messages.settings}
    if (form := _format(settings)) is not None:
        chat["response_format"] = form
    if effort := table_in(settings, "reasoning").get("effort"):
        chat["reasoning_effort"] = effort
    if verbosity := table_in(settings, "text").get("verbosity"):
        chat["verbosity"] = verbosity
    set_tools(chat, offered, body.get("tool_choice"))
    if "tools" not in chat and not offered.hosted:
        chat.pop("parallel_tool_calls", None)
    if body.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    warnings = [*messages.warnings, *_dropped(offered.dropped)]
    if body.get("top_logprobs") or _LOGPROBS in list_in(body, "include"):
        warnings.append(LOGPROBS_LEFT_OUT)
    warnings += _unknown_includes(list_in(body, "include"))
    if body.get("truncation") == "auto":
        warnings.append(_NOT_TRUNCATED)
    return ChatRequest(chat, offered.dropped, offered.names, warnings, offered.deferred)


def input_items(body: Json) -> list[Json]:
    """A checked request's `input` as a list of items; a string is one user message, and none (with `prompt`) empty."""
    value = body.get("input") or []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": value}]}]
    return list(value)


def _add_instructions(messages: MessageBuilder, instructions: str | list[Json] | None) -> None:
    if isinstance(instructions, str) and instructions:
        messages.add_system(instructions)
    elif isinstance(instructions, list):
        for index, item in enumerate(instructions):
            messages.add(item, f"instructions[{index}]")


def _format(body: Json) -> Json | None:
    """`text.format`, or the specification's `response_format`, in chat's form; None for plain text."""
    form = table_in(table_in(body, "text"), "format") or table_in(body, "response_format")
    if form.get("type", "text") == "text":
        return None
    if form["type"] == "json_schema" and "json_schema" not in form:
        inner = {name: form[name] for name in ("name", "description", "schema", "strict") if form.get(name) is not None}
        return {"type": "json_schema", "json_schema": {"name": "answer", **inner}}
    return dict(form)


def _dropped(kinds: list[str]) -> list[str]:
    names = ", ".join(dict.fromkeys(kinds))
    return [f"tools that nobody runs for this model were left out: {names}"] if kinds else []


def _unknown_includes(values: Sequence[object]) -> list[str]:
    unknown = [(at, value) for at, value in enumerate(values) if value not in _INCLUDABLE]
    if not unknown:
        return []
    named = ", ".join(f"include[{at}]{_shown(value)}" for at, value in unknown[:_MAX_NAMED])
    more = f" and {len(unknown) - _MAX_NAMED} more" if len(unknown) > _MAX_NAMED else ""
    return [f"{named}{more}: not known and left out; known are {', '.join(_INCLUDABLE)}"]


def _shown(value: object) -> str:
    return f" {scrub_keys(value[:_SHOWN_VALUE_CHARS])!r}" if isinstance(value, str) else ""
