"""The embedded model, whose server returns no calls: a demanded call is forced by a schema, and the web is searched
once before it answers.

| `tool_choice`             | what becomes of it                                                          |
|---------------------------|-----------------------------------------------------------------------------|
| `required`, or a function | it writes JSON by a schema of name and arguments, which its server forces   |
| `auto`, or none is sent   | it answers in words, and the caller is told                                 |
| `none`                    | it answers in words                                                         |

Calls and results of earlier turns become text, since its template has no place for them. Source: llama.cpp's server
(json_schema in `response_format`), tried 2026-11-22; xllamacpp 2026.10.11549 returns no calls.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from gateway.domain import Json, Relay, RequestStats
from gateway.engines.words.excerpt import excerpt_steps
from gateway.errors import InvalidRequest, UpstreamError
from gateway.providers.wrappers import Wrapper
from gateway.resilience.slices import in_slices
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.loop import LoopLimits, LoopRequest, is_prose, note_calls, run_all
from gateway.services.hosted_tools.model_round import Round, RoundReader, ask, message_text
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.wire.chat.answer import new_id
from gateway.wire.chat.caller_schema import CallerSchema
from gateway.wire.hosted_answer import AnswerEnd, HostedCall, HostedEvent
from gateway.wire.untrusted_json import joined_text, object_in, table_in, tables_in, words_of

_CHAT = "chat/completions"
_TOOL_FIELDS = frozenset(("tools", "tool_choice", "parallel_tool_calls"))
_MUST = 'Answer with one JSON object {"name": …, "arguments": {…}} that calls the function which helps the user.'
_NO_CALL = "this model makes no tool calls of its own: it calls a function where tool_choice demands one"
_CUT = "the answer was cut before the tool call was complete"


class ForcedCalls(Wrapper):
    """Answers of the upstream inside have `tool_calls` as if its model made them, where `tool_choice` demands one; for
    requests with `n` of 1. What the caller must know is added to `stats.warnings`."""

    async def complete(self, body: Json, stats: RequestStats, *, route: str = _CHAT) -> Json:
        """See ports.CompletionUpstream. Raises InvalidRequest for a `tool_choice` that cannot be met; UpstreamError,
        code `invalid_json_answer`, where the model made no valid call although it had to."""
        return await self._answer(_Tools(body, stats), stats, route)

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = _CHAT, relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """See ports.CompletionUpstream. Raises what `complete` raises. A forced call comes in one piece, checked."""
        tools = _Tools(body, stats)
        if tools.is_forced:
            for name in ("stream", "stream_options"):
                tools.sent.pop(name, None)
            yield _as_chunks(await self._answer(tools, stats, route))
            return
        async with aclosing(self._upstream.stream(tools.sent, stats, route=route)) as batches:
            async for batch in batches:
                yield batch

    async def _answer(self, tools: "_Tools", stats: RequestStats, route: str) -> Json:
        answer = await self._upstream.complete(tools.sent, stats, route=route)
        for choice in tables_in(answer, "choices") if tools.is_forced else ():
            message = table_in(choice, "message")
            text, message["content"] = message.get("content"), None
            try:
                message["tool_calls"] = [tools.read(text if isinstance(text, str) else "")]
            except UpstreamError:
                if choice.get("finish_reason") != "length":
                    raise
                stats.warnings.append(_CUT)
            else:
                choice["finish_reason"] = "tool_calls"
        return answer


def _as_chunks(answer: Json) -> list[bytes]:
    """A whole answer with a call, or cut before it, as the data of a stream."""
    head = {name: value for name, value in answer.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    choice = tables_in(answer, "choices")[0]
    calls = [
        {"index": index, **call} for index, call in enumerate(tables_in(table_in(choice, "message"), "tool_calls"))
    ]
    delta = {"role": "assistant", "content": None, **({"tool_calls": calls} if calls else {})}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]},
        {**head, "choices": [], "usage": answer.get("usage")},
    ]
    return [*map(orjson.dumps, chunks), b"[DONE]"]


class _Tools:
    """The tools of one request: `sent` is the body without them. `is_forced`: the answer must be a call."""

    def __init__(self, body: Json, stats: RequestStats) -> None:
        """`body` is an upstream's body. Raises InvalidRequest where `tool_choice` cannot be met."""
        self._schemas: dict[str, CallerSchema] = {}
        self._warnings: list[str] = []
        functions, choice = _allowed(tables_in(body, "tools"), body.get("tool_choice"))
        self.is_forced = choice == "required"
        self.sent = body
        if body.get("tools") or _has_tool_history(body):
            self.sent = {name: value for name, value in body.items() if name not in _TOOL_FIELDS}
            self.sent["messages"] = list(_plain_messages(body["messages"]))
        if self.is_forced:
            self._force(list(self._usable(functions)))
        elif functions and choice != "none":
            self._warnings.append(_NO_CALL)
        stats.warnings += [warning for warning in self._warnings if warning not in stats.warnings]

    def read(self, text: str) -> Json:
        """The call that a whole answer is, `{id, type, function: {name, arguments}}`. Raises UpstreamError, code
        `invalid_json_answer`, where it is none."""
        call = object_in(text)
        if call is not None and isinstance(call.get("arguments"), dict):
            schema = self._schemas.get(words_of(call.get("name")))
            if schema is not None and schema.is_valid(call["arguments"]):
                function = {"name": call["name"], "arguments": orjson.dumps(call["arguments"]).decode()}
                return {"id": new_id("call_"), "type": "function", "function": function}
        raise UpstreamError("the model did not answer with a valid tool call", code="invalid_json_answer")

    def _force(self, functions: list[Json]) -> None:
        if not functions:
            raise InvalidRequest("tool_choice must name a function of tools that can be called", param="tool_choice")
        described = "\n".join(orjson.dumps(function).decode() for function in functions)
        self._tell(f"You can call these functions:\n{described}\n{_MUST}")
        self.sent.pop("stop", None)
        schema = {"name": "call", "strict": True, "schema": _call_schema(functions)}
        self.sent["response_format"] = {"type": "json_schema", "json_schema": schema}

    def _tell(self, text: str) -> None:
        """Adds a text to the system message, or makes one."""
        first = self.sent["messages"][0]
        if first["role"] == "system" and isinstance(first.get("content"), str):
            self.sent["messages"][0] = {**first, "content": f"{first['content']}\n\n{text}"}
        else:
            self.sent["messages"].insert(0, {"role": "system", "content": text})

    def _usable(self, tools: Sequence[Json]) -> Iterator[Json]:
        """The functions whose arguments can be checked, each as `{name, description?, parameters}`."""
        for tool in tools:
            function = table_in(tool, "function")
            name = function.get("name")
            if tool.get("type", "function") != "function" or not isinstance(name, str):
                self._warnings.append("a tool was left out: this model can have functions only")
                continue
            parameters = function.get("parameters")
            parameters = parameters if isinstance(parameters, dict) else {"type": "object", "properties": {}}
            try:
                self._schemas[name] = CallerSchema(parameters)
            except ValueError as error:
                self._warnings.append(f"the function {name} was left out: {error}")
                continue
            described = {"description": function["description"]} if function.get("description") else {}
            yield {"name": name, **described, "parameters": parameters}


def _has_tool_history(body: Json) -> bool:
    """Whether the messages of a body hold calls or results."""
    return any(message.get("role") == "tool" or message.get("tool_calls") for message in body["messages"])


def _call_schema(functions: Sequence[Json]) -> Json:
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


def _allowed(tools: Sequence[Json], choice: Any) -> tuple[Sequence[Json], Any]:
    """The tools that a choice allows, and the choice as `auto`, `none` or `required`."""
    if not isinstance(choice, dict):
        return tools, choice or "auto"
    if choice.get("type") == "allowed_tools":
        allowed = table_in(choice, "allowed_tools")
        names = {table_in(tool, "function").get("name") for tool in tables_in(allowed, "tools")}
        choice = allowed.get("mode") or "auto"
    else:
        names, choice = {table_in(choice, "function").get("name")}, "required"
    return [tool for tool in tools if table_in(tool, "function").get("name") in names], choice


def _plain_messages(messages: Sequence[Json]) -> Iterator[Json]:
    """The messages with calls and results as text; the results of one turn are one user message."""
    names: dict[str, str] = {}
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            name = names.get(words_of(message.get("tool_call_id")), "a function")
            results.append(f"Result of {name}:\n{joined_text(message.get('content'))}")
            continue
        if results:
            yield {"role": "user", "content": "\n\n".join(results)}
            results = []
        calls = tables_in(message, "tool_calls")
        if not calls:
            yield message
            continue
        texts = [joined_text(message.get("content"))]
        for call in calls:
            function = table_in(call, "function")
            names[words_of(call.get("id"))] = words_of(function.get("name"))
            texts.append(f'{{"name": "{function.get("name")}", "arguments": {function.get("arguments") or "{}"}}}')
        yield {"role": "assistant", "content": "\n".join(text for text in texts if text)}
    if results:
        yield {"role": "user", "content": "\n\n".join(results)}


_MAX_QUERY_CHARS = 400
"""A question of several sentences."""
_PASSAGE_CHARS = 500
_PASSAGES: Mapping[str, int] = {"low": 2, "medium": 4, "high": 8}
"""What a prompt holds, by `search_context_size`. Tried on the packaged model of 135 million parameters (2026-11-22, 13
questions about the documentation): with 300 characters of a page, or with a third page, it answers beside the point
more often, and 6,000 characters took it 25 s."""
_EXAMPLE = (
    {
        "role": "user",
        "content": "Berlin has 3.9 million inhabitants [1].\n\nThe river Spree flows through Berlin [2].\n\n"
        "Question: How many people live in Berlin?",
    },
    {"role": "assistant", "content": "3.9 million people live in Berlin [1]."},
)
"""Shows how to cite: small models follow an example, and repeat an instruction instead of following it."""
_NOTHING = "A web search for this question found nothing."


async def search_once(
    completions: CompletionService,
    search: WebSearchTool,
    sources: Sources,
    limits: LoopLimits,
    request: LoopRequest,
    stats: RequestStats,
) -> AsyncGenerator[list[HostedEvent], None]:
    """As `HostedLoop.run`; `sources` are the pages that `search` shows. Without a question in words there is no search;
    the model sees when it failed."""
    body, question = request.body, _question(request.body["messages"])
    if question:
        name = search.functions(())[0]["function"]["name"]
        call = search.start(name, orjson.dumps({"query": question[:_MAX_QUERY_CHARS]}).decode())
        async with aclosing(run_all([(search, call)], limits.total_s)) as phases:
            async for batch in phases:
                note_calls(stats, batch)
                yield batch
        body = {**body, "messages": await _with_results(body["messages"], call, search.size)}
    made = Round(lambda _: False)
    reader = RoundReader(made, sources if is_prose(body) else None)
    async with aclosing(ask(completions, body, stats, reader)) as batches:
        async for batch in batches:
            yield batch
    yield [AnswerEnd(made.finish_reason, made.usage, made.backend, made.identity)]


def _question(messages: Sequence[Json]) -> str:
    """The text of the last user message."""
    last = next((message for message in reversed(messages) if message.get("role") == "user"), {})
    return message_text(last).strip()


async def _with_results(messages: Sequence[Json], call: HostedCall, size: str) -> list[Json]:
    """The messages with what the search brought before the question, in the same message, each passage followed by its
    number; and an example before the conversation."""
    place = max(index for index, message in enumerate(messages) if message.get("role") == "user")
    question = message_text(messages[place])
    numbers = {source.url: source.number for source in call.sources}
    passages = []
    for result in call.results[: _PASSAGES[size]]:
        if result["url"] in numbers and result["content"]:
            part = await in_slices(excerpt_steps(result["content"], question, _PASSAGE_CHARS))
            passages.append(f"{' '.join(part.split())} [{numbers[result['url']]}]")
    text = "\n\n".join([*(passages or [_NOTHING]), "Question:"])
    content = messages[place]["content"]
    content = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text} {content}"
    first = next(index for index, message in enumerate(messages) if message.get("role") not in ("system", "developer"))
    example = _EXAMPLE if passages else ()
    asked = {**messages[place], "content": content}
    return [*messages[:first], *example, *messages[first:place], asked, *messages[place + 1 :]]
