"""Translates a responses request into a chat request: items to messages, tools and formats to chat's nested forms.

Sources: OpenAI API reference (Responses, Chat Completions) and the Open Responses specification 2026-04-24, read
2026-11-21. Pure functions; knows no store: the items that a request refers to are arguments.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest

# Fields that are translated below, or that chat upstreams do not have. All others are sent as they are.
_NOT_CHAT = frozenset(
    {
        "input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "previous_response_id", "store",
        "include", "metadata", "truncation", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
        "service_tier", "background", "reasoning", "max_tool_calls", "top_logprobs", "stream_options", "conversation",
        "prompt", "context_management", "response_format",
    }
)  # fmt: skip
_TEXT_PARTS = ("input_text", "output_text", "text")
_CALLS = ("function_call", "tool_call")
_OUTPUTS = ("function_call_output", "tool_call_output")


def to_chat(body: Json, history: Sequence[Json]) -> tuple[Json, list[str]]:
    """The chat body of a checked request, and the types of the tools that chat does not have and that were dropped.

    `history` are the items before those of `body["input"]`. Raises InvalidRequest, `param` naming the item that chat
    cannot express.
    """
    if body.get("background"):
        raise InvalidRequest("background responses are not supported; leave background out", param="background")
    chat = {name: value for name, value in body.items() if name not in _NOT_CHAT and value is not None}
    messages = _Messages()
    if instructions := body.get("instructions"):
        messages.add_system(instructions)
    for item in history:
        messages.add(item, "previous_response_id")
    for index, item in enumerate(input_items(body)):
        messages.add(item, f"input[{index}]")
    chat["messages"] = messages.finished()
    if (limit := body.get("max_output_tokens")) is not None:
        chat["max_tokens"] = limit
    if (form := _format(body)) is not None:
        chat["response_format"] = form
    if effort := (body.get("reasoning") or {}).get("effort"):
        chat["reasoning_effort"] = effort
    tools, dropped = chat_tools(body.get("tools") or ())
    _set_tools(chat, tools, body.get("tool_choice"))
    if not tools:
        chat.pop("parallel_tool_calls", None)
    if body.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    return chat, dropped


def input_items(body: Json) -> list[Json]:
    """A checked request's `input` as a list of items; a string is one user message."""
    value = body["input"]
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": value}]}]
    return list(value)


class _Messages:
    """Chat messages under construction. System texts are merged into one at the front: many chat templates allow one.

    `where` arguments are an item's path in the request, for error messages.
    """

    def __init__(self) -> None:
        self._system: list[str] = []
        self._messages: list[Json] = []
        self._open_calls: dict[str, int] = {}  # how many calls of an id are unanswered, the oldest first

    def add_system(self, text: str) -> None:
        self._system.append(text)

    def add(self, item: Json, where: str) -> None:
        kind = item.get("type") or "message"
        if kind == "message":
            self._add_message(item, where)
        elif kind in _CALLS:
            self._add_call(item, where)
        elif kind in _OUTPUTS:
            self._add_output(item, where)
        elif kind == "item_reference":
            raise InvalidRequest(f"item '{item.get('id')}' is not stored", param=f"{where}.id", code="item_not_found")
        # Chat has no reasoning items and no items of hosted tools.

    def finished(self) -> list[Json]:
        """The messages. Raises InvalidRequest when there is none."""
        head = [{"role": "system", "content": "\n\n".join(self._system)}] if self._system else []
        messages = head + self._messages
        if not messages:
            raise InvalidRequest("input: must hold a message", param="input")
        return messages

    def _add_message(self, item: Json, where: str) -> None:
        role = item.get("role")
        if role is None:
            raise InvalidRequest(
                "role is required; allowed: system, developer, user, assistant, tool", param=f"{where}.role"
            )
        if role in ("system", "developer"):
            self.add_system(_text_content(item.get("content"), where))
        elif role == "tool":
            self._add_tool_message(item, where)
        elif role == "assistant":
            self._messages.append({"role": role, "content": _text_content(item.get("content"), where)})
        else:
            self._messages.append({"role": role, "content": _user_content(item.get("content"), where)})

    def _add_tool_message(self, item: Json, where: str) -> None:
        """A message with role `tool`: answers the call of its id, else the oldest open call, else is user text."""
        call_id = item.get("call_id") or item.get("tool_call_id")
        text = _text_content(item.get("content"), where)
        if call_id is None and self._open_calls:
            call_id = next(iter(self._open_calls))
        if isinstance(call_id, str) and call_id in self._open_calls:
            self._answer(call_id, text)
        else:
            self._messages.append({"role": "user", "content": f"[tool result]\n{text}"})

    def _add_call(self, item: Json, where: str) -> None:
        name, call_id = item.get("name"), item.get("call_id") or item.get("id")
        if not name or not call_id or not isinstance(call_id, str):
            raise InvalidRequest("a function call needs call_id and name", param=f"{where}.call_id")
        call = {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": item.get("arguments") or "{}"},
        }
        last = self._messages[-1] if self._messages else None
        if last is None or last["role"] != "assistant":
            last = {"role": "assistant", "content": None}
            self._messages.append(last)
        last["content"] = last["content"] or None
        last.setdefault("tool_calls", []).append(call)
        self._open_calls[call_id] = self._open_calls.get(call_id, 0) + 1

    def _add_output(self, item: Json, where: str) -> None:
        call_id = item.get("call_id")
        if call_id not in self._open_calls:
            raise InvalidRequest("no function call of the input has this call_id", param=f"{where}.call_id")
        self._answer(str(call_id), _text_content(item.get("output"), where))

    def _answer(self, call_id: str, text: str) -> None:
        self._open_calls[call_id] -= 1
        if not self._open_calls[call_id]:
            del self._open_calls[call_id]
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": text})


def _text_content(content: Any, where: str) -> str:
    """The text of a content, its parts joined by line feeds. Raises InvalidRequest for an image."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = []
    for index, part in enumerate(content):
        if part["type"] in _TEXT_PARTS:
            texts.append(part.get("text") or "")
        elif part["type"] == "refusal":
            texts.append(part.get("refusal") or "")
        else:
            raise _unsupported_part(part, f"{where}.content[{index}]")
    return "\n".join(texts)


def _user_content(content: Any, where: str) -> str | list[Json]:
    """A user message's content: a string where it is only text, else chat parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if all(part["type"] in _TEXT_PARTS for part in content):
        return _text_content(content, where)
    return [_chat_part(part, f"{where}.content[{index}]") for index, part in enumerate(content)]


def _chat_part(part: Json, where: str) -> Json:
    if part["type"] in _TEXT_PARTS:
        return {"type": "text", "text": part.get("text") or ""}
    if part["type"] in ("input_image", "image_url"):
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str):
            raise InvalidRequest("image_url must be a URL or a data URL", param=f"{where}.image_url")
        detail = {"detail": part["detail"]} if part.get("detail") in ("auto", "low", "high") else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}}
    raise _unsupported_part(part, where)


def _unsupported_part(part: Json, where: str) -> InvalidRequest:
    return InvalidRequest(
        f"a part of type '{str(part['type'])[:40]}' is not supported here; allowed: input_text, input_image",
        param=where,
    )


def _format(body: Json) -> Json | None:
    """`text.format`, or the specification's `response_format`, in chat's form; None for plain text."""
    form = (body.get("text") or {}).get("format") or body.get("response_format")
    if not form or form["type"] == "text":
        return None
    if form["type"] == "json_schema" and "json_schema" not in form:
        inner = {name: form[name] for name in ("name", "description", "schema", "strict") if form.get(name) is not None}
        return {"type": "json_schema", "json_schema": {"name": "answer", **inner}}
    return dict(form)


def chat_tools(tools: Iterable[Json]) -> tuple[list[Json], list[str]]:
    """Function tools as `{type, function: {name, description?, parameters?, strict?}}`, and the types of all others."""
    functions, dropped = [], []
    for tool in tools:
        if tool["type"] != "function":
            dropped.append(str(tool["type"])[:40])
            continue
        inner = tool.get("function") or {
            name: tool[name] for name in ("name", "description", "parameters", "strict") if tool.get(name) is not None
        }
        functions.append({"type": "function", "function": inner})
    return functions, dropped


def _set_tools(chat: Json, tools: list[Json], choice: Any) -> None:
    """Sets `tools` and `tool_choice`. A list of allowed tools narrows the tools themselves."""
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        names = {_name_of(each) for each in choice.get("tools") or ()}
        tools = [tool for tool in tools if tool["function"].get("name") in names]
        choice = choice.get("mode", "auto")
    if not tools:
        return
    chat["tools"] = tools
    if isinstance(choice, dict):
        name = _name_of(choice)
        if choice.get("type") != "function" or name not in {tool["function"].get("name") for tool in tools}:
            raise InvalidRequest(
                "tool_choice must name a function of tools, or be auto, none or required", param="tool_choice"
            )
        choice = {"type": "function", "function": {"name": name}}
    if choice is not None:
        chat["tool_choice"] = choice


def _name_of(choice: Json) -> Any:
    return choice.get("name") or (choice.get("function") or {}).get("name")
