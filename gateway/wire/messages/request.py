"""Translates a messages request into a chat request. Fields are taken over by name; whatever is not named stays here.

Sources: Anthropic API reference (Messages), SDK anthropic 2.12, and what Claude Code 2.1.330 sends (recorded
2026-11-22). Pure functions.
"""

import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.kept import NO_CARRIER, STATE, Carrier
from gateway.wire.chat.request import CACHE, THINKING
from gateway.wire.messages.object import NO_THREADS
from gateway.wire.messages.tools import call_name, chat_tool, forced_kind, offered_tools, set_choice
from gateway.wire.untrusted_json import table_in

# --- content ---
# Content blocks of a messages request as text and as chat's content parts. Pure functions; fetches nothing.
#
# Source: Anthropic API reference (Messages), SDK anthropic 2.12, read 2026-11-22.

_USER_BLOCKS = "text, image, document, search_result, tool_result"
_NO_FILES = "files are not stored here; send the content itself"
_NO_PDF = "documents by URL are not read on this route; send the file as base64, or its text"


def text_of(content: Any, where: str) -> str:
    """The text of a content that may hold nothing but text: a string, or text blocks joined by blank lines.

    Raises InvalidRequest for a block of another type.
    """
    if content is None or isinstance(content, str):
        return content or ""
    for index, block in enumerate(content):
        if block["type"] != "text":
            raise _unsupported(block, f"{where}[{index}]", "text")
    return "\n\n".join(block.get("text") or "" for block in content)


def marked(part: Json, *blocks: Json) -> Json:
    """A text part with the `cache_control` of the last of the blocks that it is made of, if any has one."""
    marks = [block["cache_control"] for block in blocks if isinstance(block.get("cache_control"), dict)]
    return {**part, CACHE: marks[-1]} if marks and part["type"] == "text" else part


def merged(parts: list[Json]) -> str | list[Json]:
    """The content of a chat message. Texts that follow each other are one, joined by blank lines; one up to which the
    caller wants the prompt cached ends its part. A string where there is nothing else.

        merged([text_part("a"), text_part("b")])  # "a\n\nb"
    """
    runs: list[list[Json]] = []
    for part in parts:
        if runs and runs[-1][-1]["type"] == part["type"] == "text" and CACHE not in runs[-1][-1]:
            runs[-1].append(part)
        else:
            runs.append([part])
    made = [run[0] if len(run) == 1 else {**run[-1], "text": "\n\n".join(each["text"] for each in run)} for run in runs]
    is_text = not made or (len(made) == 1 and made[0].keys() == {"type", "text"})
    return "".join(part["text"] for part in made) if is_text else made


def chat_part(block: Json, where: str) -> Json:
    """A user's block as a chat part: `{type: "text", text}` or `{type: "image_url", image_url: {url}}`.

    Raises InvalidRequest for what chat cannot express.
    """
    kind = block["type"]
    if kind == "text":
        return text_part(block.get("text") or "")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": _image_url(block.get("source"), f"{where}.source")}}
    if kind == "document":
        return text_part(_document_text(block, where))
    if kind == "search_result":
        title, source = block.get("title") or "", block.get("source")
        place = source if isinstance(source, str) else ""
        return text_part(f"{title}\n{place}\n\n{text_of(block.get('content'), f'{where}.content')}".strip())
    if kind == "tool_reference":
        return text_part(f"the tool {block.get('tool_name')} can be called now")
    raise _unsupported(block, where, _USER_BLOCKS)


def text_part(text: str) -> Json:
    """`{type: "text", text}`."""
    return {"type": "text", "text": text}


def as_parts(content: str | list[Json]) -> list[Json]:
    """The content of a chat message as a list of parts."""
    return [text_part(content)] if isinstance(content, str) else content


def _image_url(source: Any, where: str) -> str:
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "base64" and isinstance(source.get("data"), str):
        media_type = source.get("media_type")
        return f"data:{media_type if isinstance(media_type, str) else 'image/png'};base64,{source['data']}"
    if kind == "url" and isinstance(source.get("url"), str):
        return str(source["url"])
    if kind == "file":
        raise InvalidRequest(f"{where}: {_NO_FILES}", param=where)
    raise InvalidRequest(f"{where}: must be a source of type base64 with data, or url with url", param=where)


def _document_text(block: Json, where: str) -> str:
    source, at = table_in(block, "source"), f"{where}.source"
    kind = source.get("type")
    if kind == "text" and isinstance(source.get("data"), str):
        text = str(source["data"])
    elif kind == "content":
        text = text_of(source.get("content"), f"{at}.content")
    elif kind == "file":
        raise InvalidRequest(f"{at}: {_NO_FILES}", param=at)
    elif kind in ("base64", "url"):
        raise InvalidRequest(f"{at}: {_NO_PDF}", param=at)
    else:
        raise InvalidRequest(f"{at}: must be a source of type text or content", param=at)
    heads = [value for name in ("title", "context") if isinstance(value := block.get(name), str) and value]
    return "\n\n".join([*heads, text])


def _unsupported(block: Json, where: str, allowed: str) -> InvalidRequest:
    kind = str(block["type"])[:40]
    return InvalidRequest(f"{where}: a block of type '{kind}' is not supported here; allowed: {allowed}", param=where)


# --- conversation ---
# Turns the messages of a messages request into chat messages.
#
# Chat wants the result of every call right after the message with the calls, one message each, before any other text; a
# messages request has them in the blocks of one user message, beside text and with images inside.
# Source: Anthropic API reference (Messages), read 2026-11-22.
#
# | state    | entered by                              | a user's text or image   | an assistant's message   |
# |----------|-----------------------------------------|--------------------------|--------------------------|
# | no call  | the beginning; the last open result     | becomes a message        | becomes a message        |
# | waiting  | an assistant's message with calls       | waits for the results    | refused: results missing |
#
# Invariants: a `tool` message follows its call with nothing but other `tool` messages between; two messages of the same
# role, `tool` apart, never follow each other; system texts are one message at the front, as many templates want it.

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


_BILLING = "x-anthropic-billing-header:"
"""Beginning of a first system block of Claude Code. It changes with every version, so that no prompt cache would hit,
and tells a model nothing."""
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
"""Values of `output_config.effort`, and of chat's `reasoning_effort`, which many upstreams know in three steps."""
_NOTHING: Mapping[str, Json] = MappingProxyType({})
_SAME = ("temperature", "top_p", "top_k")
_NOT_HERE = {
    "mcp_servers": "servers that a caller names are not called here; connect them in the client",
    "container": "there are no containers here; leave it out",
    "thread": "conversations are not kept here; send the whole history in messages",
}
_CODES = {"thread": NO_THREADS}


def to_chat(
    body: Json, max_images: int, recalled: Mapping[str, Json] = _NOTHING, carrier: Carrier = NO_CARRIER
) -> Json:
    """The chat body of a checked messages body. Raises InvalidRequest, the message naming the block.

    `metadata.user_id` becomes `user`, which goes on as a keyed hash. Hosted tools are left out of the tools and of the
    choice: see `tools.web_wish`. `recalled`: what the server's calls of the history gave the model, `{name, arguments,
    output}` by the id of their block; calls without are left out. `carrier` opens what thinking blocks hold.
    """
    for name, reason in _NOT_HERE.items():
        if body.get(name):
            raise InvalidRequest(f"{name}: {reason}", param=name, code=_CODES.get(name))
    conversation = _conversation(body, ChatBuilder(recalled, carrier))
    chat: Json = {"model": body["model"], "messages": conversation.finished(max_images)}
    chat |= {name: body[name] for name in _SAME if body.get(name) is not None}
    if (limit := body.get("max_tokens")) is not None:
        chat["max_tokens"] = limit
    if stops := body.get("stop_sequences"):
        chat["stop"] = stops
    if thinking_display(body) is not None:
        chat[THINKING] = table_in(body, "thinking").get("budget_tokens") or 1
    user = (body.get("metadata") or {}).get("user_id")
    if isinstance(user, str) and user:
        chat["user"] = user
    _set_output(chat, body)
    tools = offered_tools(body.get("tools") or (), conversation.referenced, conversation.changes)
    if tools:
        chat["tools"] = [chat_tool(tool) for tool in tools]
    if not forced_kind(body):
        set_choice(chat, body.get("tool_choice"), {tool["name"] for tool in tools})
    if body.get("stream"):
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat


def thinking_display(body: Json) -> str | None:
    """How the caller wants to see thoughts: `summarized`, `omitted` (blocks without text), or None: not at all."""
    thinking = body.get("thinking") or {}
    if thinking.get("type") in (None, "disabled"):
        return None
    return "omitted" if thinking.get("display") == "omitted" else "summarized"


def _conversation(body: Json, conversation: ChatBuilder) -> ChatBuilder:
    conversation.add_system(_without_billing(body.get("system")), "system")
    messages: list[Json] = body["messages"]
    last_user = max((number for number, each in enumerate(messages) if each["role"] == "user"), default=-1)
    for number, message in enumerate(messages):
        is_over = message.get("clear_at") == "next_user_message" and number < last_user
        if not (message["role"] == "system" and is_over):
            conversation.add(message, f"messages[{number}]")
    return conversation


def _without_billing(system: Any) -> Any:
    if isinstance(system, list) and system and str(system[0].get("text") or "").startswith(_BILLING):
        return system[1:]
    return system


def _set_output(chat: Json, body: Json) -> None:
    """`reasoning_effort` and `response_format`, from `output_config` (and `output_format`, its older name)."""
    config = body.get("output_config") or {}
    effort = config.get("effort")
    if (body.get("thinking") or {}).get("type") == "disabled":
        chat["reasoning_effort"] = "none"  # in the upstream's own words: `wire.parameters`
    elif effort is not None:
        if effort not in _EFFORTS:
            raise InvalidRequest(f"output_config.effort: must be {', '.join(_EFFORTS)}", param="output_config.effort")
        chat["reasoning_effort"] = _EFFORTS[effort]
    form = config.get("format") or body.get("output_format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        schema = {"name": "output", "schema": form.get("schema") or {}, "strict": True}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
