"""The parameters of a chat request in each upstream's own words: the rules of an upstream, and what it has refused.

The one place where a field of a request is renamed, dropped or set for an upstream; whatever no rule names is sent as
the caller wrote it. `reasoning_effort` is the wish of all routes: `none` means that the model must not think. The rules
of each make of upstream are in `wire.chat.presets`.

    rules = Rules(rename={"max_completion_tokens": "max_tokens"}, drop=frozenset(("seed",)))
    rules.applied({"messages": [...], "max_completion_tokens": 9, "seed": 1})  # {"messages": [...], "max_tokens": 9}
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.domain import Json

_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of one limit in OpenAI's reference of chat."""
_NEVER_DROPPED = frozenset({
    "model", "messages", "input", "instructions", "stream", "tools", "tool_choice", "functions", "function_call",
    "response_format", "text", "n", "max_tool_calls", "max_output_tokens", "safety_identifier", "safety_settings",
    "moderation", "guardrails", "dimensions", *_LIMITS,
})  # fmt: skip
"""An answer without these would differ from what was asked, cost more or be unsafe: the caller gets the refusal."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Wishes to think, from the least to the most (OpenAI's and Anthropic's references)."""
_OF_VALUE = re.compile(r"(?i)\bvalues?\b|\bmust be\b|\bshould be\b|unsupported_value")
"""Words by which servers refuse a value of a parameter that they have."""
_UNSUPPORTED = re.compile(
    r"(?i)\bun(?:supported|recogni[sz]ed|known|expected)(?:\b|_)"
    r"|\bnot (?:supported|permitted|recogni[sz]ed|available)\b"
    r"|\b(?:does|do) ?n[o']t support\b|\bno longer supported\b|\bextra_forbidden\b|\bextra inputs\b|\bcannot be used\b"
    r"|\badditional propert|\bcannot find field\b|\bdeprecated\b|\bunsupported_parameter\b"
)
"""Words by which servers say that they do not have a parameter: OpenAI, Azure, vLLM and Mistral (pydantic), Gemini
(protobuf), llama.cpp."""
_TOKEN = re.compile(r"[\w.-]+")
_EFFORT_FIELDS = ("reasoning_effort", "reasoning")
_EFFORT_NAMES = re.compile(r"reasoning_effort|reasoning(?=\.effort)")
_QUOTED = re.compile(r"['\"`]([A-Za-z_][A-Za-z0-9_.]{0,63})['\"`]")
_NAMED = re.compile(
    r"(?i)\b(?:(?:parameter|field|argument|property|option|name)s?:? +|body\.)([a-z_][a-z0-9_]{1,63})\b"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is changed in a request before it is sent, in this order.

    `effort`: the field that takes the wish to think, `""` for none; `off`: fields that tell the model not to think, in
    place of an effort `none`. `rename`: a field goes under another name, unless that is there already. `only`: fields
    that the upstream has, all others are left out; empty for all. `message_only`: the same for the members of messages.
    `drop`: fields that are left out. `set`: fields that are added, in place of the caller's. `thoughts`: the member of
    a message that takes thoughts back: a name, `parts` for thinking parts of the content, `""` for the name under which
    they came. `caches`: it takes `cache_control` in text parts and tools, so that of `/v1/messages` reaches it.
    `schema_words`: the words of JSON Schema that it knows in tools, others are left out; empty for all.
    `call_id_chars`: how many letters and digits the ids of calls have that it takes, others are replaced; 0 for any.
    """

    effort: str = "reasoning_effort"
    off: Mapping[str, Any] = field(default_factory=lambda: {"reasoning_effort": "none"})
    rename: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] = frozenset()
    message_only: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    set: Mapping[str, Any] = field(default_factory=dict)
    thoughts: str = ""
    caches: bool = False
    schema_words: frozenset[str] = frozenset()
    call_id_chars: int = 0

    def applied(self, body: Json) -> Json:
        """A copy of a request's body by these rules; the body itself is not changed."""
        sent = dict(body)
        effort = sent.get("reasoning_effort")
        if effort is not None and (self.effort != "reasoning_effort" or effort == "none"):
            del sent["reasoning_effort"]
            told = self.off if effort == "none" else _at(self.effort, effort)
            sent |= {name: _joined(value, sent.get(name)) for name, value in told.items()}
        for old, new in self.rename.items():
            if old in sent:
                value = sent.pop(old)
                sent.setdefault(new, value)
        if self.only:
            sent = {name: value for name, value in sent.items() if name in self.only}
        for name in self.drop:
            sent.pop(name, None)
        if self.message_only and isinstance(sent.get("messages"), list):
            sent["messages"] = [
                {name: value for name, value in message.items() if name in self.message_only}
                for message in sent["messages"]
            ]
        if self.schema_words and isinstance(sent.get("tools"), list):
            sent["tools"] = [_narrowed_tool(tool, self.schema_words) for tool in sent["tools"]]
        if self.call_id_chars and isinstance(sent.get("messages"), list):
            sent["messages"] = [_with_ids(message, self.call_id_chars) for message in sent["messages"]]
        return {**sent, **self.set}


class Refused(NamedTuple):
    """A parameter that an upstream did not take. `other`: its other name, empty for none. `value`: what it takes in
    place of the value; None to leave it out. `lasts`: it does not have the parameter at all."""

    name: str
    other: str = ""
    lasts: bool = True
    value: Any = None


def refused_parameter(sent: Json, words: str, param: str | None) -> Refused | None:
    """What an upstream did not take of a body, by its refusal in `words`: a parameter that it does not have, or a value
    of one. Of the efforts to think it takes the nearest lower one.

    `param` is the one that the refusal names. None where the refusal says something else, or where the request means
    another thing without it.

        refused_parameter({"seed": 9}, "'seed' is not supported", None)  # Refused("seed")
    """
    told = [param or "", *_QUOTED.findall(words), *_NAMED.findall(words), *_EFFORT_NAMES.findall(words)]
    names = [each.removeprefix("body.").partition(".")[0].partition("[")[0] for each in told]
    is_unsupported = _UNSUPPORTED.search(words) is not None
    name = next((each for each in names if each in sent and (is_unsupported or each in _EFFORT_FIELDS)), None)
    if name is None:
        return None
    if other := _LIMITS.get(name):
        return None if other in sent else Refused(name, other)
    value, tokens = sent[name], _tokens(words)
    is_value = not is_unsupported or _OF_VALUE.search(words) is not None or not tokens.isdisjoint(_tokens(str(value)))
    if name in _EFFORT_FIELDS and is_value:
        lower = _lower_effort(value.get("effort") if isinstance(value, dict) else value, tokens)
        return Refused(
            name, lasts=False, value={**value, "effort": lower} if lower and isinstance(value, dict) else lower
        )
    return None if name in _NEVER_DROPPED else Refused(name, lasts=not is_value)


def _tokens(words: str) -> set[str]:
    return {each.rstrip(".") for each in _TOKEN.findall(words)}


def _lower_effort(effort: Any, words: Collection[str]) -> str | None:
    """The nearest lower effort of those that a refusal names, else the lowest of them; where it names none the one
    below."""
    named = [each for each in EFFORTS if each != effort and each in words]
    at = EFFORTS.index(effort) if effort in EFFORTS else len(EFFORTS)
    lower = [each for each in named if EFFORTS.index(each) < at]
    if named:
        return lower[-1] if lower else named[0]
    return EFFORTS[at - 1] if EFFORTS.index("minimal") < at < len(EFFORTS) else None


def _narrowed_tool(tool: Any, words: frozenset[str]) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or "parameters" not in function:
        return tool
    return {**tool, "function": {**function, "parameters": _narrowed(function["parameters"], words)}}


def _narrowed(schema: Any, words: frozenset[str]) -> Any:
    """A JSON Schema with these words alone; `const`, `oneOf` and lists of types are said in others.

    _narrowed({"const": 1, "$comment": "x"}, frozenset(("enum",)))  # {"enum": [1]}
    """
    if isinstance(schema, list):
        return [_narrowed(each, words) for each in schema]
    if not isinstance(schema, dict):
        return schema
    said = {**({"enum": [schema["const"]]} if "const" in schema else {}), **schema}
    if "oneOf" in schema:
        said.setdefault("anyOf", schema["oneOf"])
    if isinstance(kinds := schema.get("type"), list):
        said["type"] = next((kind for kind in kinds if kind != "null"), "string")
        said["nullable"] = "null" in kinds
    sent: Json = {}
    for name, value in said.items():
        if name == "properties" and isinstance(value, dict):
            sent[name] = {key: _narrowed(each, words) for key, each in value.items()}
        elif name in words:
            sent[name] = _narrowed(value, words) if name in ("items", "anyOf") else value
    return sent


def _with_ids(message: Json, size: int) -> Json:
    """A message whose ids of calls have so many letters and digits; one that has not is replaced by a digest, the same
    in the call and its result."""

    def taken(identity: Any) -> Any:
        if not isinstance(identity, str) or (len(identity) == size and identity.isascii() and identity.isalnum()):
            return identity
        return hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:size]

    sent = dict(message)
    if isinstance(message.get("tool_calls"), list):
        sent["tool_calls"] = [{**call, "id": taken(call.get("id"))} for call in message["tool_calls"]]
    if "tool_call_id" in message:
        sent["tool_call_id"] = taken(message["tool_call_id"])
    return sent


def _at(path: str, value: Any) -> Json:
    """`{"a": {"b": value}}` for the path `a.b`; nothing for an empty one."""
    for name in reversed(path.split(".") if path else ()):
        value = {name: value}
    return value if path else {}


def _joined(value: Any, own: Any) -> Any:
    """An object together with the caller's own of the same name, whose members win."""
    return {**value, **own} if isinstance(value, dict) and isinstance(own, dict) else value
