"""Normalises whole chat answers of any OpenAI-compatible upstream to the one form that clients are promised.

Source: OpenAI API reference, and answers of llama.cpp, vLLM, Ollama (facts read 2026-11-21).
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.random_ids import random_hex
from gateway.wire.chat.call_ids import CallIds
from gateway.wire.chat.kept import SHOWN_AS_TEXT, StateSoFar
from gateway.wire.chat.over_responses import to_completion
from gateway.wire.chat.said import Called, called, place_of, plain_arguments, said
from gateway.wire.openai_error import error_in_stream
from gateway.wire.untrusted_json import is_count, joined_text, table_in, utf8_size

_CLASSES: tuple[tuple[str | None, re.Pattern[str]], ...] = (
    (
        None,
        re.compile(
            r"error|fail|abort|cancel|malformed|invalid|unexpected|too_many|time_?(?:limit|out)|overload|insufficient"
        ),
    ),
    ("content_filter", re.compile(r"filter|safety|recitation|block|prohibited|spii|refus|guardrail|moderat|sensitive")),
    ("length", re.compile(r"length|max_\w{0,20}tokens|token_limit|context_window|truncat|incomplete|repetition")),
    ("tool_calls", re.compile(r"tool|function_call")),
    ("stop", re.compile(r"(?:^|_)(?:stop|eos|eod|end|complete|natural|normal|done|finish(?:ed)?$|success|pause)")),
)
"""Finish reasons by what they mean, the first that fits; None: the upstream failed. OpenAI, Anthropic, Gemini, Cohere,
Mistral, DeepSeek, watsonx, TGI, vLLM, SGLang, Ollama (their references, read 2026-11-28)."""
_OWN_WORDS = frozenset(("stop", "length", "tool_calls", "content_filter"))
_NO_WORD, _REASON_CHARS = re.compile(r"[^a-z]+"), 64
OF_ANSWER = frozenset(
    ("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "error", "provider")
)
OF_CHOICE = frozenset(("index", "delta", "message", "finish_reason", "logprobs", "provider_specific_fields"))
"""Members of an answer or chunk, and of a choice, that have a form of ours; all others are kept as they come."""
_PLAIN_MESSAGE = frozenset(("role", "content", "refusal"))
"""Members of an answer's message that has a text alone."""
NAME_OF_UPSTREAM = "provider"
"""An upstream's own field that names itself, at the top of an answer or event; its value may be an address. Callers get
the configured name in `provider_specific_fields` instead."""
MAX_CHOICES = 128
"""Choices in one answer, and choice indexes in one stream: the most that `n` may be in the OpenAI API reference. Bounds
the work and the memory of an upstream that invents them; our own schema allows n up to 8, so half would do as well."""
MAX_CALLS = 128
"""Most tool calls of one choice, whole or streamed; a request may offer as many tools (OpenAI API reference)."""
TOO_MANY_CALLS = f"the upstream sent too many tool calls; the limit is {MAX_CALLS}"
_CHARS_PER_TOKEN = 4
"""Characters in a token, for estimates where an upstream sends no counts: OpenAI's rule of thumb for English."""


@dataclass(slots=True)
class AnswerContext:
    """What the gateway adds to an answer or needs to normalise it.

    `model` is the public model name, `provider` the upstream's name, `upstream_model` the model's name there.
    `started_s` is the request's beginning by `time.perf_counter`. `legacy`: the caller declared `functions` and gets
    `function_call`. `include_usage`: the caller requested usage in a stream. `request` is the request body.
    `fingerprint` replaces the upstream's `system_fingerprint` unless it is empty. `warnings` are sentences for the
    caller; the list may grow until the answer ends. `made_by` names the upstream in the `states` of the choices; `ids`
    makes ids of calls unique.
    """

    model: str
    provider: str
    upstream_model: str
    started_s: float
    attempts: int = 1
    legacy: bool = False
    include_usage: bool = False
    request: Json = field(default_factory=dict)
    fingerprint: str = ""
    warnings: Sequence[str] = ()
    made_by: str = ""
    ids: CallIds = field(default_factory=lambda: CallIds(()))
    states: dict[int, StateSoFar] = field(default_factory=dict)

    @property
    def prompt_chars(self) -> int:
        """Characters of text in the request's messages, for estimating tokens where the upstream sends no counts."""
        return sum(len(joined_text(message.get("content"))) for message in self.request.get("messages", ()))

    def state_of(self, index: int) -> StateSoFar:
        """What must go back to the upstream of a choice."""
        return self.states.setdefault(index, StateSoFar(self.made_by))

    def fields(self) -> Json:
        """A choice's `provider_specific_fields`: `{provider, model, latency_ms, attempts, warnings?}`."""
        fields: Json = {
            "provider": self.provider,
            "model": self.upstream_model,
            "latency_ms": round((time.perf_counter() - self.started_s) * 1000, 1),
            "attempts": self.attempts,
        }
        return {**fields, "warnings": list(self.warnings)} if self.warnings else fields


def new_id(prefix: str) -> str:
    """`prefix` and 24 random hex digits."""
    return prefix + random_hex(12)


def reason_of(choice: Json) -> Any:
    """The upstream's word for the end of a choice, which may be in its message; None while there is none: some servers
    write "null" (KoboldCpp)."""
    reported = choice.get("finish_reason")
    if reported is None and isinstance(inner := choice.get("delta") or choice.get("message"), dict):
        reported = inner.get("finish_reason")
    if isinstance(reported, dict):
        reported = reported.get("type")
    return None if reported in ("", "null", "None") else reported


def finish_reason(reported: Any, *, has_calls: bool, legacy: bool = False) -> str | None:
    """`stop`, `length`, `content_filter`, `tool_calls` or `function_call` for an upstream's word.

    None for a missing word, for those that say that the upstream failed, and for words that nobody knows: an answer
    that ended for a reason that is not understood is not a whole one. Whether there are tool calls decides between
    `stop` and `tool_calls`, whatever the upstream says.
    """
    reason = _class_of(reported) if isinstance(reported, str) else None
    if reason is None:
        return None
    if has_calls and reason in ("stop", "tool_calls"):
        reason = "tool_calls"
    elif reason == "tool_calls" and not has_calls:
        reason = "stop"
    return "function_call" if reason == "tool_calls" and legacy else reason


def failure_of(choice: Json) -> UpstreamError | None:
    """The failure that a choice tells beside its finish reason: an `error`, or the maker's own reason behind a gateway
    (OpenRouter's `native_finish_reason`)."""
    if choice.keys() <= OF_CHOICE:
        return None
    if choice.get("error"):
        return error_in_stream(choice)
    native = choice.get("native_finish_reason")
    is_failure = isinstance(native, str) and _CLASSES[0][1].search(_folded(native)) is not None
    return UpstreamError("the upstream failed while it was answering") if is_failure else None


def _folded(word: str) -> str:
    return _NO_WORD.sub("_", word[:_REASON_CHARS].lower()).removeprefix("finish_reason_")


def _class_of(word: str) -> str | None:
    if word in _OWN_WORDS:
        return word
    folded = _folded(word)
    return next((reason for reason, pattern in _CLASSES if pattern.search(folded)), None)


def others(holder: Json, known: frozenset[str]) -> Json:
    """The members of an answer, chunk or choice that are kept as the upstream sent them."""
    return {name: value for name, value in holder.items() if name not in known and value is not None}


def normalise_answer(data: Any, context: AnswerContext) -> Json:
    """A `chat.completion` object made of an upstream's decoded answer, in place.

    `{id, object, created, model, choices, usage, system_fingerprint?, …}`, each choice `{index, message, finish_reason,
    logprobs, provider_specific_fields}`. `provider_specific_fields` gets `usage_estimated: true` for estimated counts
    and `error` where no finish reason came. Raises UpstreamError when `data` is not a chat completion.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if choices is None and isinstance(data, dict) and "output" in data:
        data = to_completion(data)
        choices = data["choices"]
    if isinstance(choices, dict):
        choices = data["choices"] = [choices]
    if not isinstance(choices, list) or not choices:
        raise UpstreamError("the upstream's answer has no choices")
    if len(choices) > MAX_CHOICES:
        raise UpstreamError("the upstream's answer has too many choices")
    fields, characters, told = context.fields(), 0, data.get("usage") or nested_usage(data)
    for position, choice in enumerate(choices):
        if not isinstance(choice, dict) or (message := choice.get("message", choice.pop("text", None))) is None:
            raise UpstreamError("the upstream's answer has a choice without a message")
        if type(choice.get("index")) is not int:
            choice["index"] = place_of(choice, position)
        told = told or nested_usage(choice)
        message = choice["message"] = _normalise_message(message, context, context.state_of(choice["index"]))
        calls = bool(message.get("tool_calls") or message.get("function_call"))
        if (failure := failure_of(choice)) is not None:
            raise failure
        reported = reason_of(choice)
        choice["finish_reason"] = finish_reason(reported, has_calls=calls, legacy=context.legacy)
        if reported and choice["finish_reason"] is None:
            raise UpstreamError("the upstream failed while it was answering")
        choice.setdefault("logprobs", None)
        choice["provider_specific_fields"] = dict(fields)
        if choice["finish_reason"] is None:
            choice["provider_specific_fields"]["error"] = "the upstream did not say why the answer ended"
        characters += len(message.get("content") or "")
    if not isinstance(data.get("id"), str) or not data["id"]:
        data["id"] = new_id("chatcmpl-")
    data["object"], data["model"] = "chat.completion", context.model
    data.pop(NAME_OF_UPSTREAM, None)
    data["created"] = int(data["created"]) if isinstance(data.get("created"), int | float) else int(time.time())
    answer: Json = data
    answer["usage"], estimated = normalise_usage(told, lambda: context.prompt_chars, characters)
    if estimated:
        for choice in choices:
            choice["provider_specific_fields"]["usage_estimated"] = True
    if context.fingerprint:
        answer["system_fingerprint"] = context.fingerprint
    elif data.get("system_fingerprint", "") is None:
        del data["system_fingerprint"]
    return answer


def _normalise_message(message: Any, context: AnswerContext, state: StateSoFar) -> Json:
    """`{role, content, refusal, reasoning_content?, tool_calls? or function_call?, …}`."""
    if isinstance(message, dict) and message.keys() <= _PLAIN_MESSAGE and type(message.get("content")) is str:
        return {"role": "assistant", "content": message["content"], "refusal": message.get("refusal") or None}
    told = said(message)
    if told.name:
        state.think(told.name, told.thoughts)
    state.take(told.kept, told.parts)
    calls = [each._replace(text=plain_arguments(each.text or "")) for each in map(called, told.calls)]
    calls = [call for call in calls if call.name or call.text]
    if len(calls) > MAX_CALLS:
        raise UpstreamError(TOO_MANY_CALLS)
    normal = [_normalise_call(call, context.ids) for call in calls]
    for number, call in enumerate(calls):
        state.call(number, normal[number]["id"], call.name, call.text or "", call.kept)
    made: Json = {"role": "assistant", "content": told.text or (None if calls or told.refusal else "")}
    made |= {"refusal": told.refusal or None, **others(told.kept, SHOWN_AS_TEXT)}
    if told.thoughts:
        made["reasoning_content"] = told.thoughts
    if normal and context.legacy:
        made["function_call"] = normal[0]["function"]
    elif normal:
        made["tool_calls"] = normal
    return made


def _normalise_call(call: Called, ids: CallIds) -> Json:
    """`{id, type, function: {name, arguments}, …}`, or `{id, type, custom: {name, input}, …}`."""
    identity = ids.unique(call.identity or new_id("call_"))
    if call.kind == "custom":
        return {"id": identity, "type": "custom", "custom": {"name": call.name, "input": call.text or ""}, **call.kept}
    named = {"name": call.name, "arguments": call.text if call.text and not call.text.isspace() else "{}"}
    return {"id": identity, "type": "function", "function": named, **call.kept}


_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "cache_read_tokens")
_WRITTEN = ("cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens", "cache_write_input_tokens")
"""Names of tokens that were read from a cache, and of those that were written to one, in a usage or its details:
OpenAI, Kimi, DeepSeek, gateways before Anthropic's models, Bedrock."""


def normalise_usage(usage: Any, prompt_chars: Callable[[], int], answer_chars: int) -> tuple[Json, bool]:
    """`{prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details?, …}` that add up, and whether they are
    estimates.

    A count that is missing, or cannot be one, is estimated from `prompt_chars()` or `answer_chars`: budgets are settled
    by it. `prompt_tokens` include those read from a cache and written to one, `cached_tokens` and `cache_write_tokens`
    of their details. Our embedded OCR engine marks its own counts with `estimated: true`. All else is kept.
    """
    if type(usage) is dict and usage.keys() == _PLAIN_COUNTS:
        prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
        if prompt and is_count(prompt) and is_count(completion) and usage["total_tokens"] == prompt + completion:
            return usage, False
    reported = _as_counts(usage) if isinstance(usage, dict) else {}
    is_marked = reported.pop("estimated", None) is True
    prompt, completion = (_count(reported, *names) for names in (_PROMPT, _COMPLETION))
    total = _count(reported, "total_tokens")
    if prompt is None and total is not None and completion is not None:
        prompt = max(0, total - completion)
    if prompt == 0 and completion:
        prompt = None  # nothing is made of nothing
    estimated = is_marked or prompt is None or completion is None
    details = {**table_in(reported, "input_tokens_details"), **table_in(reported, "prompt_tokens_details")}
    if prompt is None:
        prompt = -(-prompt_chars() // _CHARS_PER_TOKEN)
    else:
        cached, written = (_count(reported, *names) or _count(details, *names) or 0 for names in (_CACHED, _WRITTEN))
        if cached + written > prompt or (cached + written and total == prompt + cached + written + (completion or 0)):
            prompt += cached + written  # they are counted beside the others
        details |= {"cached_tokens": cached} if cached or details else {}
        details |= {"cache_write_tokens": written} if written else {}
    if "output_tokens_details" in reported:
        reported.setdefault("completion_tokens_details", reported.pop("output_tokens_details"))
    if completion is None:
        completion = -(-answer_chars // _CHARS_PER_TOKEN)
    counts: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**reported, **counts, **({"prompt_tokens_details": details} if details else {})}, estimated


def nested_usage(holder: Json) -> Json:
    """The usage of a choice, of its message or delta, or of any other object in an answer (Kimi, Groq)."""
    tables = [holder, *(each for each in holder.values() if isinstance(each, dict))]
    return next((table["usage"] for table in tables if isinstance(table.get("usage"), dict)), {})


def _as_counts(usage: Json) -> Json:
    """The members of a usage, with numbers that came as texts or floats."""
    counts = {}
    for name, value in others(usage, frozenset()).items():
        if "token" in name and (isinstance(value, float) or (isinstance(value, str) and value.isdecimal())):
            value = int(float(value[:12] if isinstance(value, str) else value))
        counts[name] = _as_counts(value) if isinstance(value, dict) else value
    return counts


def told_usage(usage: Any) -> Json:
    """An upstream's usage in the normal form, with 0 for what it has not told."""
    return normalise_usage(usage, lambda: 0, 0)[0]


_UNSAID = frozenset(("role", "id", "type", "index", "format", "status", "object", "signature", "thought_signature",
                     "encrypted_content"))  # fmt: skip
_FOUND = frozenset(("annotations", "citations", "search_results"))
"""Members with excerpts of pages, which the model did not write."""
_MEDIA_CHARS = 16
"""Characters of base64 that count as a byte: sound has far fewer tokens than text."""


class SaidBytes:
    """Counts what a model has written in the messages of an answer, or in the deltas of a stream: text, thoughts,
    refusal, calls, and the texts of members that nobody here knows. Details of thoughts repeat these."""

    def __init__(self) -> None:
        self._thoughts = self._details = 0

    def of(self, message: Json) -> int:
        """Bytes of a normal message or delta, beyond those before it."""
        size, before = 0, max(self._thoughts, self._details)
        for name, value in message.items():
            if name == "reasoning_details":
                self._details += _bytes_below("", value)
            elif name == "reasoning_content" and isinstance(value, str):
                self._thoughts += utf8_size(value)
            elif name not in _UNSAID and name not in _FOUND:
                size += utf8_size(value) if isinstance(value, str) else _bytes_below(name, value)
        return size + max(self._thoughts, self._details) - before


def _bytes_below(name: str, value: Any) -> int:
    size, waiting = 0, [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str) and name not in _UNSAID:
            size += len(value) // _MEDIA_CHARS if name == "data" else utf8_size(value)
        elif isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, each) for each in value]
    return size


def summed_usage(total: Json | None, usage: Json | None) -> Json:
    """The sum of two usages, their details included."""
    if not total or not usage:
        return dict(total or usage or {})
    names = dict.fromkeys((*total, *usage))
    return {name: _sum(total.get(name), usage.get(name)) for name in names}


def _sum(first: Any, second: Any) -> Any:
    if isinstance(first, dict) or isinstance(second, dict):
        return summed_usage(first if isinstance(first, dict) else {}, second if isinstance(second, dict) else {})
    numbers = [each for each in (first, second) if isinstance(each, int | float)]
    return sum(numbers) if numbers else (second if second is not None else first)


def other_counts(usage: Json | None) -> Json:
    """What an upstream counts in a normal usage beside the tokens that every interface has: a cost, say."""
    return {name: value for name, value in (usage or {}).items() if name not in _COUNTS}


_COUNTS = frozenset((
    "prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details",
    "input_tokens_details", "output_tokens_details", *_CACHED, *_WRITTEN, "prompt_cache_miss_tokens",
))  # fmt: skip
_PLAIN_COUNTS = frozenset(("prompt_tokens", "completion_tokens", "total_tokens"))
_PROMPT, _COMPLETION = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")


def _count(holder: Json, *names: str) -> int | None:
    """The first of these members that is a number of tokens."""
    for name in names:
        if is_count(value := holder.get(name)):
            return int(value)
    return None
