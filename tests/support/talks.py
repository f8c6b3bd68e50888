"""Conversations as clients hold them, on chat, responses and messages: what was answered goes back with the next turn.

Read from the wire by hand, so that a test sees fields that an official client would hide. A `careful` client hands back
documented fields alone, as Codex, Claude Code and most frameworks do; any other hands back all that it got, as a
program does that appends the answer to its list.
"""

from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.support.asking import posting
from tests.support.gateways import Gateway

ROUTES = ("chat", "responses", "chained", "messages")
"""`chained`: the responses route by `previous_response_id`."""
TOOLS = ("weather", "read_file", "grep", "list_dir", "list_all")
_SCHEMA = {"type": "object", "properties": {}}
_PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages"}
_DOCUMENTED = {
    "chat": {"role", "content", "tool_calls", "refusal"},
    "call": {"id", "type", "function"},
    "message": {"type", "role", "content", "id", "status"},
    "reasoning": {"type", "summary", "encrypted_content"},
    "function_call": {"type", "call_id", "name", "arguments"},
    "text": {"type", "text"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input"},
}


@dataclass
class Turn:
    """One answer. `calls`: (id, name, arguments). `end`: the route's own word. `raw`: the whole answer, or the last
    event with all of it; of a failed one its error. `events`: of a stream."""

    status: int
    raw: Any
    text: str = ""
    thoughts: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    end: Any = None
    events: list[Any] = field(default_factory=list)
    headers: Any = None


class Talk:
    """One conversation. `more`: fields of every request."""

    def __init__(
        self, server: Gateway, route: str, *, stream: bool = False, careful: bool = False, **more: Any
    ) -> None:
        self._server, self._route, self._stream, self._careful = server, route, stream, careful
        self._path = _PATHS.get(route, "/v1/responses")
        self._more = {**_tools(route), **more}
        self._items: list[Any] = []
        self._new: list[Any] = []
        self._previous: str | None = None
        self.last = Turn(0, None)
        self._key = server.key

    def move_to(self, server: Gateway, key: str) -> None:
        """Go on with another gateway, or with another key."""
        self._server, self._key = server, key

    async def say(self, text: str) -> Turn:
        """The answer to what a user says."""
        return await self._ask([{"role": "user", "content": text}])

    async def give(self, *outputs: str) -> Turn:
        """The answer to the results of the last answer's calls, in their order."""
        pairs = list(zip(self.last.calls, outputs, strict=True))
        if self._route == "chat":
            return await self._ask([{"role": "tool", "tool_call_id": call[0], "content": out} for call, out in pairs])
        if self._route == "messages":
            blocks = [{"type": "tool_result", "tool_use_id": call[0], "content": out} for call, out in pairs]
            return await self._ask([{"role": "user", "content": blocks}])
        kind = "function_call_output"
        return await self._ask([{"type": kind, "call_id": call[0], "output": out} for call, out in pairs])

    async def _ask(self, new: list[Any]) -> Turn:
        self._items += new
        body: dict[str, Any] = {"model": "SvcLLM", "stream": self._stream, **self._more}
        if self._route in _PATHS:
            body["messages"] = self._items
        elif self._route == "chained" and self._previous:
            body |= {"input": new, "previous_response_id": self._previous}
        else:
            body["input"] = self._items
        self.last = await self.post(body)
        if self.last.status == 200 and not self.last.raw.get("error"):
            self._keep(self.last.raw)
        return self.last

    async def post(self, body: Any) -> Turn:
        """The answer to a body."""
        async with posting(self._server, self._path, body, self._key) as answer:
            raw = await answer.read()
            if not body.get("stream") or answer.status != 200:
                return self._read(answer.status, orjson.loads(raw), [], answer.headers)
            lines = (line[5:].strip() for line in raw.split(b"\n") if line.startswith(b"data:"))
            events = [orjson.loads(line) for line in lines if line != b"[DONE]"]
            whole = {"chat": whole_chat, "messages": whole_message}.get(self._route, whole_response)(events)
            return self._read(answer.status, whole, events, answer.headers)

    def _read(self, status: int, raw: Any, events: list[Any], headers: Any) -> Turn:
        turn = Turn(status, raw, events=events, headers=headers)
        if status != 200 or raw.get("error"):
            return turn
        reader = {"chat": _read_chat, "messages": _read_message}.get(self._route, read_response)
        reader(turn, raw)
        return turn

    def _keep(self, raw: Any) -> None:
        if self._route == "chat":
            message = raw["choices"][0]["message"]
            self._items.append(self._of(message, "chat"))
        elif self._route == "messages":
            blocks = [self._of(block, block["type"]) for block in raw["content"]]
            self._items.append({"role": "assistant", "content": blocks})
        else:
            self._previous = raw["id"]
            self._items += [self._of(item, item["type"]) for item in raw["output"]]

    def _of(self, value: Any, kind: str) -> Any:
        if not self._careful:
            return value
        kept = {name: each for name, each in value.items() if name in _DOCUMENTED[kind]}
        if kept.get("tool_calls"):
            kept["tool_calls"] = [self._of(call, "call") for call in kept["tool_calls"]]
        return kept


def _tools(route: str) -> dict[str, Any]:
    if route == "chat":
        return {"tools": [{"type": "function", "function": {"name": name, "parameters": _SCHEMA}} for name in TOOLS]}
    if route == "messages":
        return {"tools": [{"name": name, "input_schema": _SCHEMA} for name in TOOLS], "max_tokens": 400}
    more = {"include": ["reasoning.encrypted_content"]} if route == "responses" else {}
    stored = {"store": route == "chained", **more}
    return {"tools": [{"type": "function", "name": name, "parameters": _SCHEMA} for name in TOOLS], **stored}


def _read_chat(turn: Turn, raw: Any) -> None:
    choice = raw["choices"][0]
    message = choice["message"]
    turn.text, turn.thoughts = message.get("content") or "", message.get("reasoning_content") or ""
    calls = message.get("tool_calls") or ()
    turn.calls = [(call["id"], call["function"]["name"], _decoded(call["function"]["arguments"])) for call in calls]
    turn.end = choice["finish_reason"]


def _read_message(turn: Turn, raw: Any) -> None:
    for block in raw["content"]:
        if block["type"] == "text":
            turn.text += block["text"]
        elif block["type"] == "thinking":
            turn.thoughts += block["thinking"]
        elif block["type"] == "tool_use":
            turn.calls.append((block["id"], block["name"], block["input"]))
    turn.end = raw["stop_reason"]


def read_response(turn: Turn, raw: Any) -> None:
    """Reads a response object."""
    for item in raw["output"]:
        if item["type"] == "message":
            turn.text += "".join(part.get("text", "") for part in item["content"])
        elif item["type"] == "reasoning":
            turn.thoughts += "".join(part["text"] for part in item["summary"])
        elif item["type"] == "function_call":
            turn.calls.append((item["call_id"], item["name"], _decoded(item["arguments"])))
    details = raw.get("incomplete_details")
    turn.end = details["reason"] if details else raw["status"]


def _decoded(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments


def whole_chat(events: list[Any]) -> Any:
    """The completion that chunks spell, as SDKs add them up; `{error}` where one of them is an error."""
    message: dict[str, Any] = {}
    whole: dict[str, Any] = {"choices": [{"message": message, "finish_reason": None}]}
    for event in events:
        if "error" in event:
            return {"error": event["error"]}
        whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for choice in event["choices"]:
            add_up(message, choice["delta"])
            whole["choices"][0] |= {n: v for n, v in choice.items() if n not in ("delta", "index") and v is not None}
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    return whole


def add_up(total: dict[str, Any], delta: dict[str, Any]) -> None:
    """Adds a delta: strings are joined but for ids, types and roles; list members with an index are one by it."""
    for name, value in delta.items():
        old = total.get(name)
        if isinstance(old, str) and isinstance(value, str) and name not in ("role", "id", "type"):
            total[name] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            add_up(old, value)
        elif isinstance(value, list) and name == "tool_calls":
            calls = total.setdefault(name, [])
            for call in value:
                same = next((each for each in calls if each.get("index") == call.get("index")), None)
                if same is None:
                    calls.append(dict(call, function=dict(call.get("function") or {})))
                else:
                    add_up(same, {key: each for key, each in call.items() if key != "index"})
        elif isinstance(old, list) and isinstance(value, list):
            old += value
        elif value is not None or old is None:
            total[name] = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value


def whole_message(events: list[Any]) -> Any:
    """The message that the events of a stream spell."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for event in events:
        kind = event["type"]
        if kind == "error":
            return {"error": event["error"]}
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
            message["content"].append(dict(event["content_block"]))
        elif kind == "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            if delta["type"] == "input_json_delta":
                inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
            else:
                add_up(block, {name: value for name, value in delta.items() if name != "type"})
        elif kind == "message_delta":
            message |= event["delta"]
            message["usage"] = {**message["usage"], **event["usage"]}
    for index, text in inputs.items():
        message["content"][index]["input"] = orjson.loads(text or "{}")
    assert events and events[-1]["type"] == "message_stop"
    return message


def whole_response(events: list[Any]) -> Any:
    """The response of a stream's last event; `{error}` where it failed."""
    last = events[-1]
    if last["type"] in ("error", "response.failed"):
        return {"error": last["response"]["error"] if "response" in last else last["error"]}
    assert last["type"] in ("response.completed", "response.incomplete"), last["type"]
    return last["response"]
