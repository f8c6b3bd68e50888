"""Scripted backends that refuse what real ones refuse, each refusal with the public document or report of it.

A backend answers three rounds of calls, then a text, whole or streamed as it is asked. Its replies are written once, as
whole messages; `streamed` makes the deltas.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support import upstream as up
from tests.support.paths import GOLDEN
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
            pieces += [piece for at, call in enumerate(value) for piece in up.call_chunks(call, index=at)]
        elif name == "content" and isinstance(value, list):
            pieces += [up.chunk({"content": [part]}) for part in value]
        elif isinstance(value, str) and name != "role":
            half = len(value) // 2
            pieces += [up.chunk({name: piece}) for piece in (value[:half], value[half:]) if piece]
        elif value is not None and name != "role":
            pieces.append(up.chunk({name: value}))
    return [*pieces, up.chunk({}, finish), up.usage_chunk(), up.DONE]


def call(number: int, **more: Any) -> Body:
    """A call whose arguments differ in each round, while its name does not."""
    return {**up.called("read_file", f'{{"path": "notes/{number}.md"}}', f"call_{number}"), **more}


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


def _recorded(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


_NO_NUMBER = _chunk({"content": "x"}, logprobs={"content": [{"token": "x", "logprob": float("-inf")}]})
FORMS = [
    *(Form(**row) for row in _recorded("forms_of_answers")),
    Form("numbers that JSON has not", "vllm logprobs", [_NO_NUMBER], text="x"),
]
USAGES: list[tuple[Any, Any]] = [(row["chunk"], row["answer"]) for row in _recorded("places_of_usage")]
"""A chunk with the usage of a stream, and a whole answer, in forms that gateways and Groq have."""
REQUESTS: dict[str, tuple[dict[str, Body], Body]] = {
    row["case"]: (row["asked"], row["sent"]) for row in _recorded("asked_and_sent")
}
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
