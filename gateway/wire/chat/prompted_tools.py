"""Tool calls for a model that has none: the functions are described to it, and its JSON is read as a call.

| `tool_choice`             | what the prompt adds                    | what it may write                    |
|---------------------------|-----------------------------------------|--------------------------------------|
| `required`, or a function | the functions; that it must call one    | JSON by a schema of name and         |
|                           |                                         | arguments, which the server forces   |
| `auto` (or none is sent)  | the functions; that it may call one     | anything: a call is JSON that is     |
|                           |                                         | valid for its function               |
| `none`                    | nothing                                 | anything                             |

Calls and results of earlier turns become text, since its template has no place for them. Source: OpenAI API reference
(chat completions) and llama.cpp's server (json_schema in `response_format`), tried 2026-11-22.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest, UpstreamError
from gateway.wire.chat.answer import new_id
from gateway.wire.chat.caller_schema import CallerSchema
from gateway.wire.untrusted_json import table_in, tables_in, words_of

_MUST = 'Answer with one JSON object {"name": …, "arguments": {…}} that calls the function which helps the user.'
_MAY = (
    'If one of them helps, answer with nothing but one JSON object {"name": …, "arguments": {…}} that calls it. '
    "Otherwise answer the user in words."
)
NO_CALL = "this model makes no tool calls of its own: the tools were described in its prompt, and it called none"
_WRONG_CALL = "the model tried to call a tool with arguments that do not fit; its words are given as text"
_CUT = "the answer was cut before the tool call was complete"
_FORMAT = "the tools were not offered: this model cannot have them together with response_format"

_WRAPPERS = (("```json", "```"), ("```", "```"), ("<tool_call>", "</tool_call>"))
"""What models put around a call's JSON."""
BEGINNING_CHARS = 16
"""Characters, without blanks before them, that tell whether a text may be a call: more than any wrapper has."""
_MAX_CALLS = 16
"""Most calls in one answer; a longer list is not meant as calls."""


_TOOL_FIELDS = frozenset(("tools", "tool_choice", "parallel_tool_calls"))


class PromptedTools:
    """One request: `sent` is the body without tools. `is_forced`: the answer must be a call. `warnings`: sentences
    for the caller on what was left out."""

    def __init__(self, body: Json) -> None:
        """`body` is an upstream's body with `tools`. Raises InvalidRequest where `tool_choice` cannot be met."""
        self.warnings: list[str] = []
        self._schemas: dict[str, CallerSchema] = {}
        functions = list(self._usable(tables_in(body, "tools")))
        choice = body.get("tool_choice")
        functions, choice = _allowed(functions, choice)
        self.is_forced = choice == "required"
        if self.is_forced and not functions:
            raise InvalidRequest("tool_choice must name a function of tools that can be called", param="tool_choice")
        self.sent = {name: value for name, value in body.items() if name not in _TOOL_FIELDS}
        self.sent["messages"] = list(_plain_messages(body["messages"]))
        has_format = table_in(body, "response_format").get("type", "text") != "text"
        if has_format and not self.is_forced and functions and choice != "none":
            self.warnings.append(_FORMAT)
        self.is_offered = bool(functions) and choice != "none" and (self.is_forced or not has_format)
        if self.is_offered:
            described = "\n".join(orjson.dumps(function).decode() for function in functions)
            self._tell(f"You can call these functions:\n{described}\n{_MUST if self.is_forced else _MAY}")
        if self.is_forced:
            self.sent.pop("stop", None)
            schema = {"name": "call", "strict": True, "schema": call_schema(functions)}
            self.sent["response_format"] = {"type": "json_schema", "json_schema": schema}

    def read(self, text: str, finish: str | None) -> tuple[list[Json] | None, str | None]:
        """The tool calls that a whole answer is, `[{id, type, function: {name, arguments}}]` or None; and a warning.

        Raises UpstreamError, code `invalid_json_answer`, where a call is forced and the answer is none.
        """
        found, named = self._calls(text)
        if found:
            return found, None
        if not self.is_forced:
            return None, _WRONG_CALL if named else NO_CALL
        if finish == "length":
            return None, _CUT
        raise UpstreamError("the model did not answer with a valid tool call", code="invalid_json_answer")

    def _usable(self, tools: Sequence[Json]) -> Iterator[Json]:
        """The functions whose arguments can be checked, each as `{name, description?, parameters}`."""
        for index, tool in enumerate(tools):
            function = table_in(tool, "function")
            name = function.get("name")
            if tool.get("type", "function") != "function" or not isinstance(name, str):
                self.warnings.append(f"tools[{index}] was left out: this model can have functions only")
                continue
            parameters = function.get("parameters")
            parameters = parameters if isinstance(parameters, dict) else {"type": "object", "properties": {}}
            try:
                self._schemas[name] = CallerSchema(parameters)
            except ValueError as error:
                self.warnings.append(f"tools[{index}] was left out: {error}")
                continue
            described = {"description": function["description"]} if function.get("description") else {}
            yield {"name": name, **described, "parameters": parameters}

    def _tell(self, text: str) -> None:
        """Adds a text to the system message, or makes one."""
        first = self.sent["messages"][0]
        if first["role"] == "system" and isinstance(first.get("content"), str):
            self.sent["messages"][0] = {**first, "content": f"{first['content']}\n\n{text}"}
        else:
            self.sent["messages"].insert(0, {"role": "system", "content": text})

    def _calls(self, text: str) -> tuple[list[Json], bool]:
        """The valid calls that a text is, all or none; and whether it names a function as a call does."""
        try:
            decoded = orjson.loads(_unwrapped(text))
        except orjson.JSONDecodeError:
            return [], False
        calls = decoded if isinstance(decoded, list) else [decoded]
        named = [
            call for call in calls[: _MAX_CALLS + 1] if isinstance(call, dict) and call.get("name") in self._schemas
        ]
        if not calls or len(named) != len(calls) or len(calls) > _MAX_CALLS:
            return [], bool(named)
        found = []
        for call in named:
            arguments = call.get("arguments")
            if not isinstance(arguments, dict) or not self._schemas[call["name"]].is_valid(arguments):
                return [], True
            function = {"name": call["name"], "arguments": orjson.dumps(arguments).decode()}
            found.append({"id": new_id("call_"), "type": "function", "function": function})
        return found, True


def may_begin_call(text: str) -> bool:
    """Whether a text, as far as it is known, may turn out to be a call."""
    start = text.lstrip()[:BEGINNING_CHARS]
    return not start or start[0] in "{[" or any(_is_begun(start, opening) for opening, _ in _WRAPPERS)


def has_tool_history(body: Json) -> bool:
    """Whether the messages of a body hold calls or results."""
    return any(message.get("role") == "tool" or message.get("tool_calls") for message in body["messages"])


def call_schema(functions: Sequence[Json]) -> Json:
    """The JSON Schema of `{name, arguments}` for one of the functions. Each one's schema moves below `$defs`, and its
    own references with it."""
    definitions = {
        f"f{index}": _moved(_closed(function["parameters"]), f"#/$defs/f{index}")
        for index, function in enumerate(functions)
    }
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": function["name"]}, "arguments": {"$ref": f"#/$defs/f{index}"}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for index, function in enumerate(functions)
    ]
    return {**(calls[0] if len(calls) == 1 else {"anyOf": calls}), "$defs": definitions}


def _closed(parameters: Json) -> Json:
    """The schema; of a function without parameters one that allows none, or a model would invent some without end."""
    if parameters.keys() <= {"type", "properties", "title", "description", "$schema"} and not parameters.get(
        "properties"
    ):
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return parameters


def _moved(schema: Any, place: str) -> Any:
    """A schema whose local references begin with `place` instead of `#`."""
    if isinstance(schema, list):
        return [_moved(part, place) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(part, place) for name, part in schema.items()}
    if isinstance(schema.get("$ref"), str) and schema["$ref"].startswith("#"):
        moved["$ref"] = place + schema["$ref"][1:]
    return moved


def _allowed(functions: list[Json], choice: Any) -> tuple[list[Json], Any]:
    """The functions that a choice allows, and the choice as `auto`, `none` or `required`."""
    if not isinstance(choice, dict):
        return functions, choice or "auto"
    if choice.get("type") == "allowed_tools":
        allowed = table_in(choice, "allowed_tools")
        names = {table_in(tool, "function").get("name") for tool in tables_in(allowed, "tools")}
        choice = allowed.get("mode") or "auto"
    else:
        names, choice = {table_in(choice, "function").get("name")}, "required"
    return [function for function in functions if function["name"] in names], choice


def _plain_messages(messages: Sequence[Json]) -> Iterator[Json]:
    """The messages with calls and results as text; the results of one turn are one user message."""
    names: dict[str, str] = {}
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            name = names.get(words_of(message.get("tool_call_id")), "a function")
            results.append(f"Result of {name}:\n{_text(message.get('content'))}")
            continue
        if results:
            yield {"role": "user", "content": "\n\n".join(results)}
            results = []
        calls = tables_in(message, "tool_calls")
        if not calls:
            yield message
            continue
        texts = [_text(message.get("content"))]
        for call in calls:
            function = table_in(call, "function")
            names[words_of(call.get("id"))] = words_of(function.get("name"))
            texts.append(f'{{"name": "{function.get("name")}", "arguments": {function.get("arguments") or "{}"}}}')
        yield {"role": "assistant", "content": "\n".join(text for text in texts if text)}
    if results:
        yield {"role": "user", "content": "\n\n".join(results)}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(words_of(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _unwrapped(text: str) -> str:
    text = text.strip()
    for opening, ending in _WRAPPERS:
        if text.startswith(opening) and text.endswith(ending) and len(text) > len(opening) + len(ending):
            return text[len(opening) : -len(ending)].strip()
    return text


def _is_begun(start: str, opening: str) -> bool:
    return start.startswith(opening) or opening.startswith(start)
