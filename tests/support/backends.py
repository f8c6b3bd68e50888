"""Scripted backends that refuse what real ones refuse, each refusal with the public document or report of it.

A backend answers three rounds of calls, then a text, whole or streamed as it is asked. Its replies are written once, as
whole messages; `streamed` makes the deltas.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support import upstream as up
from tests.support.upstream import Exchange, Script

Body = dict[str, Any]
ROUNDS = 3
FINAL = "It rains in Ghent."


@dataclass(frozen=True)
class Backend:
    """`refusal(body)`: the words of its refusal, or None. `reply(round)`: the message of a round. `settings`: lines of
    its upstream's configuration. `thoughts`: whether its rounds think."""

    name: str
    source: str
    refusal: Callable[[Body], str | None]
    reply: Callable[[int], Body]
    settings: dict[str, Any] = field(default_factory=dict)
    status: int = 400
    thoughts: bool = True


def script_of(backend: Backend, seen: list[str]) -> Script:
    """Answers every request by the rules of the backend; what it refused is added to `seen`."""

    async def script(exchange: Exchange) -> None:
        body = exchange.seen.body
        if words := backend.refusal(body):
            seen.append(words)
            error = {"error": {"message": words, "type": "invalid_request_error"}}
            await up.answer(error, status=backend.status)(exchange)
            return
        done = sum(message["role"] == "tool" for message in body["messages"])
        is_over = done >= ROUNDS or not body.get("tools")
        message = {"role": "assistant", "content": FINAL} if is_over else backend.reply(done)
        finish = "stop" if is_over else "tool_calls"
        if body.get("stream"):
            await up.stream(*streamed(message, finish))(exchange)
        else:
            await up.answer(up.completion(finish=finish, **{"text": None, **message}))(exchange)

    return script


def streamed(message: Body, finish: str) -> list[bytes]:
    """The chunks of a message: texts in two pieces, the head of a call and its arguments apart, all else at once."""
    pieces = [up.chunk({"role": "assistant", "content": ""})]
    for name, value in message.items():
        if name == "tool_calls":
            pieces += [up.chunk({"tool_calls": [part]}) for at, call in enumerate(value) for part in _parts(at, call)]
        elif name == "content" and isinstance(value, list):
            pieces += [up.chunk({"content": [part]}) for part in value]
        elif isinstance(value, str) and name != "role":
            half = len(value) // 2
            pieces += [up.chunk({name: piece}) for piece in (value[:half], value[half:]) if piece]
        elif value is not None and name != "role":
            pieces.append(up.chunk({name: value}))
    return [*pieces, up.chunk({}, finish), up.usage_chunk(), up.DONE]


def _parts(index: int, call: Body) -> Iterator[Body]:
    function = call["function"]
    yield {"index": index, **call, "function": {**function, "arguments": ""}}
    yield {"index": index, "function": {"arguments": function["arguments"]}}


def call(number: int, **more: Any) -> Body:
    """A call whose arguments differ in each round, while its name does not."""
    function = {"name": "read_file", "arguments": f'{{"path": "notes/{number}.md"}}'}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def _thought(number: int) -> str:
    return f"Note {number} first; it says more."


def _callers(body: Body) -> list[tuple[int, Body]]:
    """The assistant's messages with calls, numbered."""
    return list(enumerate(message for message in body["messages"] if message.get("tool_calls")))


def _lacks(name: str, words: str) -> Callable[[Body], str | None]:
    def refusal(body: Body) -> str | None:
        return next((words for n, message in _callers(body) if message.get(name) != _thought(n)), None)

    return refusal


def _details(number: int) -> list[Any]:
    form = {"format": "openai-responses-v1", "index": 0, "id": f"rs_{number}"}
    text = {"type": "reasoning.summary", "summary": _thought(number), **form}
    return [text, {"type": "reasoning.encrypted", "data": f"ZW5j{number}", **form}]


def _lacks_details(body: Body) -> str | None:
    wrong = any(message.get("reasoning_details") != _details(n) for n, message in _callers(body))
    return "Reasoning is required to be passed back unmodified" if wrong else None


def _signed(number: int) -> Body:
    return {"extra_content": {"google": {"thought_signature": f"c2ln{number}=="}}}


def _lacks_signature(body: Body) -> str | None:
    wrong = any({**message["tool_calls"][0], **_signed(n)} != message["tool_calls"][0] for n, message in _callers(body))
    return "Function call is missing a thought_signature in functionCall parts." if wrong else None


def _unknown_field(number: int) -> Body:
    return {"x_trace": {"step": number, "seal": f"s{number}"}}


def _lacks_unknown(body: Body) -> str | None:
    wrong = any(
        {**message["tool_calls"][0], **_unknown_field(n)} != message["tool_calls"][0] or message.get("x_state") != [n]
        for n, message in _callers(body)
    )
    return "the state of this call is missing" if wrong else None


_MISTRAL_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}
_MISTRAL_BODY = {
    "model", "messages", "stream", "tools", "tool_choice", "temperature", "top_p", "max_tokens", "stop", "random_seed",
    "response_format", "n", "parallel_tool_calls", "presence_penalty", "frequency_penalty", "reasoning_effort",
}  # fmt: skip


def _mistral_refusal(body: Body) -> str | None:
    if unknown := set(body) - _MISTRAL_BODY:
        return f"Extra inputs are not permitted: {sorted(unknown)}"
    if any(set(message) - _MISTRAL_FIELDS for message in body["messages"]):
        return "Extra inputs are not permitted"
    if any(message["content"] != _mistral_parts(n) for n, message in _callers(body)):
        return "the thinking chunks of this message are missing"
    return None


def _mistral_parts(number: int) -> list[Any]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": _thought(number)}], "closed": True}]


def _openai_refusal(body: Body) -> str | None:
    if "max_tokens" in body:
        return "Unsupported parameter: 'max_tokens' is not supported with this model."
    if "temperature" in body:
        return "Unsupported value: 'temperature' does not support 0.2 with this model."
    return None


def _one_system_refusal(body: Body) -> str | None:
    roles = [message["role"] for message in body["messages"]]
    return "System message must be at the beginning." if {"system", "developer"} & set(roles[1:]) else None


BACKENDS = [
    Backend(
        "deepseek",
        "api-docs.deepseek.com/guides/thinking_mode (tool calls), opencode#24083",
        _lacks("reasoning_content", "The `reasoning_content` in the thinking mode must be passed back to the API."),
        lambda n: {"content": None, "reasoning_content": _thought(n), "tool_calls": [call(n)]},
    ),
    Backend(
        "vllm",
        "docs.vllm.ai/en/latest/features/reasoning_outputs (`reasoning`, before `reasoning_content`)",
        _lacks("reasoning", "reasoning is missing"),
        lambda n: {"content": None, "reasoning": _thought(n), "tool_calls": [call(n)]},
    ),
    Backend(
        "openrouter",
        "openrouter.ai/docs/use-cases/reasoning-tokens (preserving reasoning blocks), nanobot#1247",
        _lacks_details,
        lambda n: {"content": "", "reasoning": _thought(n), "reasoning_details": _details(n), "tool_calls": [call(n)]},
    ),
    Backend(
        "gemini",
        "ai.google.dev/gemini-api/docs/thought-signatures (OpenAI form), pi#3234",
        _lacks_signature,
        lambda n: {"content": "I will look.", "tool_calls": [call(n, **_signed(n))]},
        thoughts=False,
    ),
    Backend(
        "another gateway",
        "eva#206: fields of a gateway's own on messages and calls",
        _lacks_unknown,
        lambda n: {"content": None, "x_state": [n], "tool_calls": [call(n, **_unknown_field(n))]},
        thoughts=False,
    ),
    Backend(
        "mistral",
        "docs.mistral.ai/capabilities/reasoning (content chunks); 422 extra_forbidden: litellm#16272, req_llm#742",
        _mistral_refusal,
        lambda n: {"content": _mistral_parts(n), "tool_calls": [call(n)]},
        {"parameters": '{ preset = "mistral" }'},
        status=422,
    ),
    Backend(
        "openai",
        "platform.openai.com/docs/guides/reasoning; litellm#13432",
        _openai_refusal,
        lambda n: {"content": None, "tool_calls": [call(n)]},
        thoughts=False,
    ),
    Backend(
        "one system message",
        "chat template of Qwen 3.5 (raise_exception); vllm#41114, opencode#15059",
        _one_system_refusal,
        lambda n: {"content": None, "tool_calls": [call(n)]},
        {"one_system_message": True},
        thoughts=False,
    ),
]


# --- forms of one answer ----------------------------------------------------------------------------------------------

READ = [("read_file", {"path": "a"})]
BOTH = [*READ, ("grep", {"path": "b"})]
_HALVES = "\ud83c", "\udf0d"
_GLOBE = "\U0001f30d"
_WRONG = {"message": "the picture is missing", "type": "invalid_request_error", "code": 400}
_USED = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}


@dataclass(frozen=True)
class Form:
    """One way to write an answer. `deltas`: of a stream; what has `choices` or no delta's members is a whole chunk.
    `whole`: the message of a whole answer, or the answer; None where only streams have the form. `text`, `thoughts`,
    `calls`: what it says. `refused`: it is an error of the request. `lines`: the chunks are lines of JSON."""

    name: str
    source: str
    deltas: list[Any]
    whole: Any = None
    text: str = ""
    thoughts: str = ""
    calls: list[Any] = field(default_factory=list)
    refused: bool = False
    lines: bool = False

    def script(self, *, stream: bool) -> Script:
        """The upstream's answer."""
        finish = "tool_calls" if self.calls else "stop"
        if stream:
            chunks = [each if "choices" in each or "error" in each else _chunk(each) for each in self.deltas]
            if self.lines:
                return up.stream(*(json.dumps(each).encode() + b"\r\n" for each in [*chunks, _chunk({}, finish)]))
            return up.stream(*map(_frame, [*chunks, _chunk({}, finish)]), up.DONE)
        is_message = isinstance(self.whole, str) or not self.whole.keys() & {"choices", "output", "error"}
        message = {**up.completion(), "choices": [{"index": 0, "message": self.whole, "finish_reason": finish}]}
        return up.answer(message if is_message else self.whole)


def _chunk(delta: Any, finish: str | None = None, **more: Any) -> Body:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def _frame(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _piece(arguments: Any = None, name: str = "", index: Any = 0, **more: Any) -> Body:
    """A delta with a piece of a call."""
    named = {"name": name} if name else {}
    function = named if arguments is None else {**named, "arguments": arguments}
    return {"tool_calls": [{"function": function, **({} if index is None else {"index": index}), **more}]}


def _calling(arguments: Any = '{"path": "a"}', **more: Any) -> Body:
    """A message with one call."""
    return {"tool_calls": [{"id": "k1", "function": {"name": "read_file", "arguments": arguments}, **more}]}


FORMS = [
    Form("halves of text", "elizaOS#30904", [{"content": "A " + _HALVES[0]}, {}, {"content": _HALVES[1]}],
         text=f"A {_GLOBE}"),
    Form("halves of thoughts", "rakazo#416", [{"reasoning": _HALVES[0]}, {"reasoning": _HALVES[1]}, {"content": "x"}],
         text="x", thoughts=_GLOBE),
    Form("halves of arguments", "rakazo#416",
         [_piece('{"path": "', "read_file"), _piece(_HALVES[0]), _piece(_HALVES[1] + '"}')],
         calls=[("read_file", {"path": _GLOBE})]),
    Form("half alone", "elizaOS#30904", [{"content": "A" + _HALVES[0]}, {"content": "B"}], text="A\ufffdB"),
    Form("messages in chunks", "gateways before chat", [
        {"choices": [{"index": 0, "message": {"content": text}}]} for text in ("Yes", ", no.")], text="Yes, no."),
    Form("message again at the end", "gateways before chat",
         [{"content": "Yes."}, _chunk({}, message={"content": "Yes."})], text="Yes."),
    Form("text as text", "completions behind chat",
         [_chunk(None, text="Yes"), _chunk(None, text=".")], {"text": "Yes."}, text="Yes."),
    Form("bare strings", "gateways", ["Yes", "."], "Yes.", text="Yes."),
    Form("one part", "litellm#16272", [{"content": {"type": "text", "text": "Yes."}}],
         {"content": {"type": "text", "text": {"value": "Yes."}}}, text="Yes."),
    Form("thoughts of parts", "openrouter reasoning_details", [
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]}, {"content": "x"}],
        {"content": "x", "thinking": [{"type": "text", "text": "Hm."}]}, text="x", thoughts="Hm."),
    Form("empty object first", "openai-agents-js#712",
         [_piece("{ ", "read_file"), _piece("}"), _piece('{"path": "a"}')], _calling('{ }{"path": "a"}'), calls=READ),
    Form("arguments an object", "ollama", [_piece({"path": "a"}, "read_file")], _calling({"path": "a"}), calls=READ),
    Form("arguments encoded twice", "quarkus-langchain4j#2569",
         [_piece('"', "read_file"), _piece('{\\"path\\": '), _piece('\\"a\\"}"')], _calling('"{\\"path\\": \\"a\\"}"'),
         calls=READ),
    Form("call alone", "gateways", [{"tool_call": _calling(index=0)["tool_calls"][0]}],
         {"content": "", "tool_call": _calling()["tool_calls"][0]}, calls=READ),
    Form("no arguments", "SGLang", [_piece("", "read_file")], _calling(""), calls=[("read_file", {})]),
    Form("arguments again", "vllm#24509", [_piece('{"path":', "read_file"), _piece(' "a"}'), _piece('{"path": "a"}')],
         calls=READ),
    Form("all arguments so far in each", "gateways",
         [_piece(text, name) for text, name in (("{", "read_file"), ('{"path":', ""), ('{"path": "a"}', ""))],
         calls=READ),
    Form("lines of JSON", "gateways before Ollama", [{"content": "Yes"}, {"content": "."}], text="Yes.", lines=True),
    Form("calls an object", "gateways", [{"tool_calls": _calling(index=0)["tool_calls"][0]}],
         {"tool_calls": {"0": _calling()["tool_calls"][0]}}, calls=READ),
    Form("flat call", "crewAI#6515", [{"tool_calls": [{"id": "k", "name": "read_file", "input": {"path": "a"}}]}],
         {"tool_calls": [None, {"id": "k", "function": "read_file", "arguments": '{"path": "a"}'}]}, calls=READ),
    Form("empty call beside a text", "gateways", [{"content": "x"}, _piece("", id="")],
         {"content": "x", "function_call": {"name": None, "arguments": None}}, text="x"),
    Form("head at index 0, tail at 1", "agno#8880", [
        _piece('{"path": "a"}', "read_file", id="k1"), _piece("", "grep", id="k2"), _piece('{"path": "b"}', index=1)],
        calls=BOTH),
    Form("ids at wrong indexes", "agno#8880", [
        _piece('{"path":', "read_file", id="k1"), _piece('{"path":', "grep", 1, id="k2"), _piece(' "b"}', id="k2"),
        _piece(' "a"}', index=1, id="k1")], calls=BOTH),
    Form("index of the tool", "sglang#6310", [
        _piece("", "read_file", 2, id="k1"), _piece('{"path": "a"}'), _piece("", "grep", 4, id="k2"),
        _piece('{"path": "b"}', index=1)], calls=BOTH),
    Form("indexes as texts", "gateways", [
        _piece('{"path":', "read_file", "0"), _piece('{"path":', "grep", "1"), _piece(' "a"}', index="0"),
        _piece(' "b"}', index="1")], calls=BOTH),
    Form("a response", "litellm#31551", [], {"object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}]}, text="Yes."),
    Form("choices an object", "gateways", [{"choices": {"delta": {"content": "Yes."}}}],
         {"choices": {"message": {"content": "Yes."}, "finish_reason": {"type": "EOS"}}}, text="Yes."),
    Form("reason in the delta", "gateways", [{"content": "Yes.", "finish_reason": "stop"}],
         {"choices": [{"message": {"content": "Yes.", "finish_reason": "natural_stop"}}]}, text="Yes."),
    Form("numbers that JSON has not", "vllm logprobs", [_chunk({"content": "x"}, logprobs={"content": [
        {"token": "x", "logprob": float("-inf")}]})], text="x"),
    Form("error within an error", "claude-code-hub#735", [{"error": {"error": _WRONG}}], {"error": {"error": _WRONG}},
         refused=True),
    Form("error in detail", "FastAPI", [{"choices": [], "detail": {"error": _WRONG}}],
         {"error": None, "detail": {"error": _WRONG}}, refused=True),
    Form("error in a message", "gateways", [{"error": _WRONG}], {"content": "", "error": _WRONG}, refused=True),
]  # fmt: skip
USAGES: list[tuple[Any, Any]] = [
    (_chunk({}, usage=_USED), {"choices": [{"message": {"content": "x"}, "finish_reason": "stop", "usage": _USED}]}),
    (_chunk({"usage": _USED}), {"choices": [{"message": {"content": "x", "usage": _USED}, "finish_reason": "stop"}]}),
    ({"choices": None, "x_groq": {"usage": _USED}}, {**up.completion("x"), "usage": None, "x_groq": {"usage": _USED}}),
    ({"choices": [], "usage": {name: str(count) for name, count in _USED.items()}}, {
        **up.completion("x"), "usage": {name: float(count) for name, count in _USED.items()}}),
]  # fmt: skip
"""A chunk with the usage of a stream, and a whole answer, in forms that gateways and Groq have."""
EMPTY = {"type": "object", "properties": {}}
_FORM = {"response_format": {"type": "regex", "pattern": "[ab]+"}}
_TIER = {"service_tier": "flex", "safety_identifier": "h"}
_FLAT = {"type": "function", "name": "now"}
REQUESTS: dict[str, tuple[dict[str, Body], Body]] = {
    "a tool without parameters": (
        {
            "chat": {"tools": [{"type": "function", "function": {"name": "now", "parameters": None}}]},
            "responses": {"tools": [{**_FLAT, "parameters": {"type": "object", "properties": None}}]},
            "messages": {"tools": [{"name": "now", "input_schema": {}}]},
        },
        {"tools": [{"type": "function", "function": {"name": "now", "parameters": EMPTY}}]},
    ),
    "an effort that is refused": (
        {
            "chat": {"reasoning_effort": "max"},
            "responses": {"reasoning": {"effort": "xhigh"}},
            "messages": {"output_config": {"effort": "max"}},
        },
        {"reasoning_effort": "high"},
    ),
    "a tier": ({"chat": _TIER, "responses": _TIER}, _TIER),
    "a form": ({"chat": _FORM, "responses": _FORM}, _FORM),
    "stops": (
        {"chat": {"stop": ["x"] * 16}, "responses": {"stop": ["x"] * 16}, "messages": {"stop_sequences": ["x"] * 16}},
        {"stop": ["x"] * 16},
    ),
    "what means nothing": (
        {
            "chat": {"stop": [], "tools": [], "tool_choice": "auto"},
            "responses": {"stop": [], "tools": [], "tool_choice": "none"},
            "messages": {"stop_sequences": [], "tools": [], "tool_choice": {"type": "none"}},
        },
        {"stop": None, "tools": None, "tool_choice": None},
    ),
    "log probabilities": (
        {
            "chat": {"logprobs": True, "top_logprobs": 2},
            "responses": {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        },
        {"logprobs": True, "top_logprobs": 2},
    ),
    "max_output_tokens": ({"chat": {"max_tokens": 9}, "responses": {"max_output_tokens": 9}}, {"max_tokens": 9}),
    "n": ({"chat": {"n": 2}}, {"n": 2}),
    **{
        name: ({"chat": {name: value}, "responses": {name: value}}, {name: value})
        for name, value in {
            "temperature": 0, "top_p": 0.5, "stop": "END", "presence_penalty": -1.5, "frequency_penalty": 1.5,
        }.items()
    },
}  # fmt: skip
"""Fields of a request by route, and what must reach the upstream; None: the field must not."""


def refuses_efforts(exchange_takes: tuple[str, ...]) -> Script:
    """Refuses every effort but these, and temperatures above 1."""

    async def script(exchange: Exchange) -> None:
        body = exchange.seen.body
        for name, is_wrong in (
            ("reasoning_effort", body.get("reasoning_effort") not in (None, *exchange_takes)),
            ("temperature", body.get("temperature", 0) > 1),
        ):
            if is_wrong:
                words = f"Unsupported value: '{name}' does not support {body[name]!r} with this model. "
                words += f"Supported values are: {exchange_takes}."
                error = {"message": words, "param": name, "code": "unsupported_value"}
                await up.answer({"error": error}, status=400)(exchange)
                return
        await (up.stream(*up.text_stream()) if body.get("stream") else up.answer())(exchange)

    return script
