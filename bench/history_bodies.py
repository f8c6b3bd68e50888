"""Seeded generators of conversations, tools and items of every type, as deep and as many as a request may have, with
JSON inside of JSON. Part of `bench.hostile_bodies`.
"""

import base64
import random
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from bench.dense_bodies import CHAT, MESSAGES, RESPONSES, Made
from bench.odd_bodies import words

Json = dict[str, Any]
_HELLO = [{"role": "user", "content": "hi"}]


def _chat(**more: object) -> Made:
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": _HELLO, **more})


def _any_of(rng: random.Random, levels: int) -> Json:
    """A schema in which each level is an alternative of the one above."""
    schema: Json = {"type": "string", "pattern": "^(a+)+$"}
    for _ in range(levels):
        word = rng.choice(("anyOf", "oneOf", "allOf"))
        schema = {word: [{"type": "null"}, {"not": {"const": f"{rng.getrandbits(40):x}"}}, schema]}
    return schema


def _tools(rng: random.Random, size: int) -> Made:
    """As many tools as there may be, half of the size in their schemas, half in what describes them."""
    count = 512
    tools = [
        {"type": "function", "function": {"name": f"tool_{i}", "description": words(rng, size // count // 2),
         "parameters": {"type": "object", "properties": {
             f"field {rng.getrandbits(32):x}": {"type": "string", "description": words(rng, 60)}
             for _ in range(size // count // 300)}}}} for i in range(count)
    ]  # fmt: skip
    return _chat(tools=tools)


def _alternatives(rng: random.Random, size: int) -> Made:
    one = len(orjson.dumps(_any_of(rng, 40)))
    count = max(1, min(512, size // (one * 4)))
    tools: list[Json] = [
        {"type": "function", "name": f"t{i}", "description": words(rng, size // count * 3 // 4),
         "parameters": {"type": "object", "properties": {"a": _any_of(rng, 40)}}} for i in range(count)
    ]  # fmt: skip
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": "hi", "tools": tools})


def _images_of_results(rng: random.Random, size: int) -> Made:
    """Screenshots in the results of tools, of which only the last are sent on."""
    count = 100
    turns: list[Json] = [*_HELLO]
    for i in range(count):
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.randbytes(size * 3 // 4 // count)).decode()
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        turns.append({"role": "assistant", "content": [{"type": "tool_use", "id": f"t{i}", "name": "f", "input": {}}]})
        turns.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{i}", "content": [image]}]})
    return MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": turns})


def _json_in_json(levels: int) -> Callable[[random.Random, int], Made]:
    """Arguments of calls that are JSON inside of JSON: each level doubles the backslashes of the one below."""

    def make(rng: random.Random, size: int) -> Made:
        count = 100
        leaves = max(1, size // count // 130 >> levels)
        given: object = {"q": [{f"k{i}": words(rng, 60)} for i in range(leaves)]}
        for _ in range(levels):
            given = {"data": orjson.dumps(given).decode()}
        text = orjson.dumps(given).decode()
        one = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
        calls = [{**one, "id": f"c{i}"} for i in range(count)]
        results = [{"role": "tool", "tool_call_id": f"c{i}", "content": text[: 40 * i]} for i in range(count)]
        last = {"role": "assistant", "content": None, "tool_calls": calls}
        return _chat(messages=[*_HELLO, last, *results])

    return make


def _cut_arguments(rng: random.Random, size: int) -> Made:
    text = orjson.dumps([{"a": [1, {"b": words(rng, 30)}]} for _ in range(size // 120)]).decode()[: -rng.randrange(40)]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    return _chat(messages=[*_HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}])


def _parts(letters: int) -> Callable[[random.Random, int], Made]:
    """Content parts by the ten thousand, in few messages."""

    def make(rng: random.Random, size: int) -> Made:
        count = size // (28 + letters)
        parts = [{"type": "text", "text": words(rng, letters)} for _ in range(min(count, 1900))]
        last = [{"role": "user", "content": parts[: len(parts) // 2]}] if count < 1900 else []
        messages = [{"role": "user", "content": parts} for _ in range(count // len(parts))]
        return _chat(messages=messages + last, stream=rng.random() < 0.5)

    return make


def _items(rng: random.Random, size: int) -> Made:
    """Input items of every type that a responses request may have."""

    def text(part: str = "input_text") -> list[Json]:
        return [{"type": part, "text": words(rng, 200)}]

    made: tuple[Callable[[int], Json], ...] = (
        lambda i: {"type": "message", "role": "user", "content": text()},
        lambda i: {"type": "message", "role": "assistant", "id": f"msg_{i}", "status": "completed",
                   "content": [{"type": "output_text", "text": words(rng, 200), "annotations": []}]},
        lambda i: {"type": "reasoning", "id": f"rs_{i}", "summary": text("summary_text"),
                   "encrypted_content": base64.b64encode(rng.randbytes(400)).decode()},
        lambda i: {"type": "web_search_call", "id": f"ws_{i}", "status": "completed",
                   "action": {"type": "search", "query": words(rng, 50)}},
        lambda i: {"type": "file_search_call", "id": f"fs_{i}", "status": "completed", "queries": [words(rng, 40)],
                   "results": [{"file_id": "f", "text": words(rng, 200), "score": 0.5}]},
        lambda i: {"type": "image_generation_call", "id": f"ig_{i}", "status": "completed",
                   "result": base64.b64encode(rng.randbytes(300)).decode()},
        lambda i: {"type": "code_interpreter_call", "id": f"ci_{i}", "status": "completed", "container_id": "c",
                   "code": words(rng, 200), "outputs": [{"type": "logs", "logs": words(rng, 100)}]},
        lambda i: {"type": "mcp_list_tools", "id": f"ml_{i}", "server_label": "s",
                   "tools": [{"name": "t", "input_schema": _any_of(rng, 2)}]},
        lambda i: {"type": "item of the future", "id": f"x_{i}", "data": {"a": [words(rng, 100)]}},
    )  # fmt: skip
    items: list[Json] = []
    size_so_far = 0
    while size_so_far < size and len(items) < 1900:
        item = rng.choice(made)(len(items))
        call = {"type": "function_call", "call_id": f"c{len(items)}", "name": "f", "arguments": '{"a":"b"}'}
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": words(rng, 100)}
        items += [item, call, output]
        size_so_far += len(orjson.dumps([item, call, output]))
    items.append({"role": "user", "content": words(rng, max(1, size - size_so_far))})
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items})


def _blocks(rng: random.Random, size: int) -> Made:
    """Blocks of every type that a messages request may have."""
    made: tuple[Callable[[], Json], ...] = (
        lambda: {"type": "text", "text": words(rng, 200), "cache_control": {"type": "ephemeral"}},
        lambda: {"type": "document", "title": "t", "citations": {"enabled": True},
                 "source": {"type": "text", "media_type": "text/plain", "data": words(rng, 300)}},
        lambda: {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}] * 5}},
        lambda: {"type": "search_result", "source": "https://a.example", "title": words(rng, 20),
                 "content": [{"type": "text", "text": words(rng, 100)}]},
    )  # fmt: skip
    thought = {"type": "thinking", "thinking": words(rng, 300), "signature": base64.b64encode(bytes(99)).decode()}
    turns: list[Json] = []
    while len(turns) < 1900 and len(turns) * 2_000 < size:
        turns.append({"role": "user", "content": [rng.choice(made)() for _ in range(12)]})
        turns.append({"role": "assistant", "content": [thought, {"type": "text", "text": words(rng, 200)}]})
    body = {"model": "SvcLLM", "max_tokens": 9, "system": [{"type": "text", "text": words(rng, 99)}] * 50}
    return MESSAGES, orjson.dumps({**body, "messages": [*turns, *_HELLO]})


def _large_inputs(rng: random.Random, size: int) -> Made:
    """One call of a history whose input is all of the body, with some letters beyond U+FFFF."""
    given = {f"row {i}": [words(rng, 150), i, {"a": None}] for i in range(size // 200)}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": given}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    messages = [*_HELLO, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": messages})


def _row(path: str, role: str) -> Callable[[random.Random, int], Made]:
    """As many messages of one role as there may be, which are one message elsewhere."""

    def make(rng: random.Random, size: int) -> Made:
        row = [{"role": role, "content": words(rng, size // 1900 - 35)} for _ in range(1900)]
        if path == RESPONSES:
            return path, orjson.dumps({"model": "SvcLLM", "input": [*_HELLO, *row]})
        return path, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": [*_HELLO, *row]})

    return make


def _unknown_items(rng: random.Random, size: int) -> Made:
    """Items that are left out, each with a warning of its own."""
    items = [{"type": f"future {number}", "text": words(rng, size // 1900)} for number in range(1900)]
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": [*_HELLO, *items]})


HISTORIES: Mapping[str, Callable[[random.Random, int], Made]] = {
    "hundreds of tools": _tools,
    "schemas of alternatives": _alternatives,
    "screenshots of results": _images_of_results,
    "arguments of JSON in JSON": _json_in_json(1),
    "arguments of JSON in JSON in JSON": _json_in_json(4),
    "arguments that were cut": _cut_arguments,
    "parts of some words": _parts(60),
    "parts of a sentence": _parts(200),
    "items of all types": _items,
    "blocks of all types": _blocks,
    "one large input": _large_inputs,
    "a row of answers to responses": _row(RESPONSES, "assistant"),
    "a row of answers to messages": _row(MESSAGES, "assistant"),
    "a row of requests to messages": _row(MESSAGES, "user"),
    "a row of system messages": _row(RESPONSES, "system"),
    "items that nobody knows": _unknown_items,
}  # fmt: skip
"""What makes a body of each kind, by name: of a random source and a size in bytes."""
