"""What only an upstream understands of its own messages, kept for the turns that follow and given back to it alone.

The one rule: of an assistant's message and its calls, every member that OpenAI's reference of chat does not name is
kept as it came, in `wire.chat.stream` and `wire.chat.answer` on the way out and here on the way back. Thoughts have one
name for clients, `reasoning_content`; the upstream gets them back under its own name, word for word.

    state = {"by": "NAME/upstream-1", "thoughts": ["reasoning", "First …"], "fields": {"reasoning_details": […]},
             "calls": {"call_1": {"extra_content": {…}}}}

A state belongs to one message. It comes back with the client, who is handed it sealed, or from memory (`services.
completion.turns`). Reports: DeepSeek, Kimi, Gemini, OpenRouter, vLLM, Mistral (docs/backends.md).
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from gateway.domain import Json
from gateway.wire.chat.call_ids import MARK
from gateway.wire.untrusted_json import list_in, table_in, tables_in

STATE = "gateway_state"
"""The member of a message in which a translated conversation has the state that its client handed back."""
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Names under which upstreams write thoughts as text: DeepSeek and most; vLLM, OpenRouter; Copilot; Ollama."""
SHOWN_AS_TEXT = frozenset(THOUGHTS)
BETWEEN_TURNS = frozenset((STATE, *THOUGHTS))
"""Members of a message that are another upstream's, or written in another way for this one."""
_OF_MESSAGE = frozenset(("role", "content", "refusal", "tool_calls", "function_call", "name", *THOUGHTS, STATE))
_OF_CALL = frozenset(("index", "id", "type", "function", "custom"))
_JOINED = ("text", "summary", "thinking", "data", "content", "signature")
"""Members of a piece of a list that later pieces of it go on, in streams."""


class Carrier:
    """How the states of a conversation's answers travel with its client. This one carries nothing."""

    def sealed(self) -> str | None:
        """The state of the answer so far, to be handed to the client; None where there is none."""
        return None

    def opened(self, token: Any) -> Json | None:
        """The state that a client has handed back; None for anything else."""
        return None


NO_CARRIER = Carrier()


def extras(message: Json) -> Json:
    """The members of a message or delta that are kept as they came; thoughts that are no text among them."""
    return {
        name: value
        for name, value in message.items()
        if name not in _OF_MESSAGE or (name in THOUGHTS and isinstance(value, dict | list))
    }


def call_extras(call: Json) -> Json:
    """The members of a call that are kept as they came."""
    return {name: value for name, value in call.items() if name not in _OF_CALL}


def thoughts_of(message: Json) -> tuple[str, str]:
    """`(name, text)` of the thoughts of a message or delta; two empty strings where it has none."""
    for name in THOUGHTS:
        value = message.get(name)
        if isinstance(value, str) and value:
            return name, value
    return "", ""


def texts_of(parts: Iterable[Any], *names: str) -> list[str]:
    """The texts of parts: strings, or objects that have one under one of these names (`text`), perhaps as `{value}`."""
    found = [part if isinstance(part, str) else _first_of(part, names or ("text",)) for part in parts]
    return [text for text in found if isinstance(text, str)]


def _first_of(part: Any, names: Iterable[str]) -> Any:
    value = next((part[name] for name in names if part.get(name)), None) if isinstance(part, dict) else None
    return value.get("value") if isinstance(value, dict) else value


class StateSoFar:
    """The state of one message while it is read, whole or in deltas. `by`: the upstream that makes it."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._name = ""
        self._thoughts: list[str] = []
        self._parts: list[Any] = []
        self._fields: Json = {}
        self.calls: dict[int, Json] = {}

    def think(self, name: str, text: str) -> None:
        """A piece of thoughts under the upstream's name for them."""
        self._name = self._name or name
        self._thoughts.append(text)

    def take(self, fields: Json, parts: list[Json]) -> None:
        """Kept members of the message or a delta, and thinking parts of its content."""
        add_up(self._fields, fields)
        _append(self._parts, parts)

    def call(self, index: int, identity: str, name: str, arguments: str, fields: Json) -> None:
        """A piece of a call, and its kept members. `identity`, `name`: empty but in one piece of each call."""
        call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": [], "fields": {}})
        call["id"], call["name"] = call["id"] or identity, call["name"] or name
        call["arguments"].append(arguments)
        add_up(call["fields"], fields)

    @property
    def value(self) -> Json | None:
        """The state so far; None while there is nothing to keep."""
        state: Json = {}
        if self._thoughts:
            state["thoughts"] = [self._name, "".join(self._thoughts)]
        if self._parts:
            state["parts"] = self._parts
        if self._fields:
            state["fields"] = self._fields
        if calls := {call["id"]: call["fields"] for call in self.calls.values() if call["fields"]}:
            state["calls"] = calls
        return {"by": self._by, **state} if state else None

    def prints(self, before: Json | None) -> Iterator[tuple[bytes, bytes]]:
        """The fingerprints of its calls, as `prints_of`."""
        for call in self.calls.values():
            yield _prints(before, call["id"], call["name"], "".join(call["arguments"]))


def prints_of(before: Json | None, message: Json) -> Iterator[tuple[bytes, bytes]]:
    """Two prints of each call of an assistant's message, which find it again: `(with the message before it, alone)`.

    The id alone is not enough: some models number the calls of each turn anew.
    """
    for call in tables_in(message, "tool_calls"):
        inner = table_in(call, "function") or table_in(call, "custom")
        arguments = inner.get("arguments") or inner.get("input")
        yield _prints(before, str(call.get("id")), str(inner.get("name")), str(arguments or ""))


def _prints(before: Json | None, identity: str, name: str, arguments: str) -> tuple[bytes, bytes]:
    with contextlib.suppress(orjson.JSONDecodeError):
        arguments = orjson.dumps(orjson.loads(arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    call = "\0".join((identity, name, arguments)).encode(errors="replace")
    alone = hashlib.blake2b(call, digest_size=16)
    content = before.get("content") if before else None
    texts = [content] if isinstance(content, str) else texts_of(list_in(before, "content"))
    after = alone.copy()
    after.update("\0\0".join(("", *texts)).encode(errors="replace"))
    return after.digest(), alone.digest()


def is_changed(message: Json) -> bool:
    """Whether an assistant's message without a state is another one for its upstream: for its thoughts, or for an id of
    a call that was made unique. Most of a history is not."""
    calls = message.get("tool_calls") or ()
    return not message.keys().isdisjoint(BETWEEN_TURNS) or any(
        isinstance(identity := call.get("id"), str) and MARK in identity for call in calls
    )


def given_back(message: Json, state: Json | None, to: str, form: str) -> Json:
    """An assistant's message as the upstream `to` gets it; `form`: see `parameters.Rules.thoughts`.

    What another upstream made is left out: its thoughts and every kept member. Else what the client has left out is
    put back from the state.
    """
    if state is not None and state["by"] != to:
        message = {name: value for name, value in message.items() if name in _OF_MESSAGE and name not in THOUGHTS}
        if calls := tables_in(message, "tool_calls"):
            message["tool_calls"] = [{n: v for n, v in call.items() if n in _OF_CALL} for call in calls]
        state = None
    sent = {**table_in(state, "fields"), **message}
    sent.pop(STATE, None)
    kept_calls = table_in(state, "calls")
    if kept_calls and sent.get("tool_calls"):
        sent["tool_calls"] = [{**call, **table_in(kept_calls, call.get("id"))} for call in sent["tool_calls"]]
    name, text = thoughts_of(sent)
    if state is not None:
        name, text = state.get("thoughts") or ("", "")
    parts = state.get("parts") if state is not None else None
    for each in THOUGHTS:
        if not isinstance(sent.get(each), dict | list):
            sent.pop(each, None)
    if parts or (text and form == "parts"):
        parts = parts or [{"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}]
        content = sent.get("content")
        texts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        sent["content"] = [*parts, *texts]
    elif text:
        sent[form or name] = text
    return sent


def add_up(total: Json, delta: Json) -> None:
    """Add the members of a delta to those before it: texts are joined, lists go on, anything else is replaced."""
    for name, value in delta.items():
        old = total.get(name)
        if isinstance(old, str) and isinstance(value, str) and name not in ("id", "type", "format"):
            total[name] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            _append(old, value)
        elif isinstance(old, dict) and isinstance(value, dict):
            add_up(old, value)
        elif value is not None or old is None:
            total[name] = list(value) if isinstance(value, list) else dict(value) if isinstance(value, dict) else value


def _append(items: list[Any], more: list[Any]) -> None:
    """Add the items of a delta; one that goes on with the last one, by its index and type, is joined to that."""
    for item in more:
        last = items[-1] if items else None
        is_piece = isinstance(item, dict) and isinstance(last, dict) and "index" in item and _same(item, last)
        if is_piece and isinstance(last, dict):
            add_up(last, {name: value for name, value in item.items() if name in _JOINED or name not in last})
        else:
            items.append(dict(item) if isinstance(item, dict) else item)


def _same(item: Json, last: Json) -> bool:
    return all(item.get(name, last.get(name)) == last.get(name) for name in ("index", "type", "id"))
