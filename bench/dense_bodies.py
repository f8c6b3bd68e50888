"""Seeded generators of request bodies whose values are many and small, on every route that takes JSON.

What honest clients send is among them: schemas of tools, token ids for embeddings, histories of short messages. Each
makes `(path, JSON)` of about `size` bytes. `bench.hostile_bodies` sends them.
"""

import random
from collections.abc import Callable, Mapping

import orjson

Made = tuple[str, bytes]
CHAT, RESPONSES, MCP = "/v1/chat/completions", "/v1/responses", "/tools/websearch/mcp"
MESSAGES, EMBEDDINGS = "/v1/messages", "/v1/embeddings"
_HELLO = [{"role": "user", "content": "hi"}]
_SHORT = ("a", "of", "the", "yes", "no", "ok", "7", "")


def _chat(**more: object) -> Made:
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": _HELLO, **more})


def _unknown(item: Callable[[random.Random, int], object], item_bytes: int) -> Callable[[random.Random, int], Made]:
    """A chat body with a list of such items, each different, in a field that nobody knows."""
    return lambda rng, size: _chat(extra=[item(rng, number) for number in range(size // item_bytes)])


def _mixed(rng: random.Random, number: int) -> object:
    return rng.choice((True, None, number, rng.random(), "", f"{number:x}", [], {}, [number], {"k": number}, [[], [1]]))


def _leaves(size: int) -> dict[str, object]:
    return {"type": "object", "properties": {f"field_{i:05}": {"type": "string"} for i in range(size // 31)}}


def _deep_schema(rng: random.Random, levels: int) -> dict[str, object]:
    if not levels:
        return {"type": rng.choice(("string", "integer", "boolean"))}
    names = [f"{rng.getrandbits(24):x}" for _ in range(3)]
    return {"type": "object", "required": names[:1], "properties": {n: _deep_schema(rng, levels - 1) for n in names}}


def _deep_tools(rng: random.Random, size: int) -> Made:
    one = {"name": "deep", "parameters": _deep_schema(rng, 6)}
    tools = [
        {"type": "function", "function": {**one, "name": f"deep_{i}"}} for i in range(size // len(orjson.dumps(one)))
    ]
    return _chat(tools=tools[:256])


def _format(rng: random.Random, size: int) -> Made:
    return _chat(response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": _leaves(size)}})


def _format_of_responses(rng: random.Random, size: int) -> Made:
    form = {"type": "json_schema", "name": "a", "schema": _leaves(size)}
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": "hi", "text": {"format": form}})


def _tools_of_responses(rng: random.Random, size: int) -> Made:
    tools = [{"type": "function", "name": f"tool_{i}", "parameters": _leaves(size // 100)} for i in range(100)]
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": "hi", "tools": tools})


def _tools_of_messages(rng: random.Random, size: int) -> Made:
    tools = [{"name": f"tool_{i}", "input_schema": _leaves(size // 100)} for i in range(100)]
    return _messages(_HELLO, tools=tools)


def _messages(messages: list[object] | list[dict[str, str]], **more: object) -> Made:
    return MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": messages, **more})


def _parts(kind: str, rng: random.Random, size: int) -> list[object]:
    """Messages of as many short parts as there may be in one."""
    one = size // (len(kind) + 26)
    parts = [{"type": kind, "text": rng.choice(_SHORT)} for _ in range(min(one, 1990))]
    return [{"role": "user", "content": parts} for _ in range(max(1, one // len(parts)))]


def _blocks(rng: random.Random, size: int) -> Made:
    return _messages(_parts("text", rng, size))


def _tool_uses(rng: random.Random, size: int) -> Made:
    """Calls of a history: their inputs are objects here, of tiny values."""
    given: dict[str, object] = {f"{rng.getrandbits(20):x}": rng.choice((1, True, "x", [], {})) for _ in range(200)}
    count = size // (len(orjson.dumps(given)) + 170)
    turns = [
        ({"role": "assistant", "content": [{"type": "tool_use", "id": f"t{i}", "name": "f", "input": given}]},
         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "ok"}]})
        for i in range(count)
    ]  # fmt: skip
    return _messages([*_HELLO, *(each for turn in turns for each in turn)][:2000])


def _parts_of_items(rng: random.Random, size: int) -> Made:
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": _parts("input_text", rng, size)})


def _short_items(rng: random.Random, size: int) -> Made:
    items = [{"role": "user", "content": rng.choice(_SHORT) or "x"} for _ in range(1999)]
    pad = "x" * max(0, size - 75_000)
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items, "instructions": pad})


def _metadata(rng: random.Random, size: int) -> Made:
    return _chat(metadata={f"{rng.getrandbits(32):x}": f"{rng.getrandbits(16):x}" for _ in range(size // 18)})


def _embeddings(value: object) -> Made:
    return EMBEDDINGS, orjson.dumps({"model": "vectors", "input": value})


def _tokens(rng: random.Random, size: int) -> Made:
    return _embeddings([rng.randrange(100_000) for _ in range(min(size // 6, 99_999))])


def _emoji(rng: random.Random, size: int) -> Made:
    """One character that makes Python hold all others in four bytes each."""
    message = {"role": "user", "content": "\U0001f600" + "word " * (size // 5)}
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": [message]})


def _token_lists(rng: random.Random, size: int) -> Made:
    return _embeddings([[rng.randrange(100_000) for _ in range(500)] for _ in range(size // 2950)])


def _short_texts(rng: random.Random, size: int) -> Made:
    return _embeddings([f"{rng.getrandbits(16):x}" for _ in range(2000)] + ["word " * max(1, (size - 14_000) // 5)])


def _call(arguments: object) -> object:
    params = {"name": "websearch-search", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _arguments(rng: random.Random, size: int) -> Made:
    mixed = [_mixed(rng, number) for number in range(size // 6)]
    return MCP, orjson.dumps(_call({"query": "a", "include_domains": mixed}))


def _nested_arguments(rng: random.Random, size: int) -> Made:
    return MCP, orjson.dumps(
        _call({"query": "a", "filters": [{"a": {"b": number % 10}} for number in range(size // 16)]})
    )


def _pings(rng: random.Random, size: int) -> Made:
    return MCP, orjson.dumps([{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in range(size // 46)])


DENSE: Mapping[str, Callable[[random.Random, int], Made]] = {
    "booleans": _unknown(lambda rng, number: rng.random() < 0.5, 6),
    "floats": _unknown(lambda rng, number: round(rng.random(), 3), 6),
    "different numbers": _unknown(lambda rng, number: 1000 + number, 6),
    "lists in lists": _unknown(lambda rng, number: [[number % 10], []], 9),
    "empty objects": _unknown(lambda rng, number: {}, 3),
    "long keys": _unknown(lambda rng, number: {f"{rng.getrandbits(160):040x}": 1}, 47),
    "short keys": _unknown(lambda rng, number: {f"{number:x}": 1}, 11),
    "escaped short strings": lambda rng, size: (
        CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],"extra":["%b"]}'
        % b'","'.join([b"\\u%04x" % rng.randrange(0x100, 0xD000) for _ in range(size // 9)])),
    "a long text with an emoji": lambda rng, size: _chat(extra="\U0001f600" + "word " * (size // 5)),
    "a message with an emoji": _emoji,
    "wide short strings": _unknown(lambda rng, number: chr(rng.randrange(0x1F300, 0x1F600)), 7),
    "values of all kinds": _unknown(_mixed, 6),
    "tools of deep schemas": _deep_tools,
    "a response format": _format,
    "a text format": _format_of_responses,
    "tools of responses": _tools_of_responses,
    "tools of messages": _tools_of_messages,
    "short blocks": _blocks,
    "calls with inputs": _tool_uses,
    "parts of input items": _parts_of_items,
    "short items and a long text": _short_items,
    "metadata": _metadata,
    "one list of tokens": _tokens,
    "lists of tokens": _token_lists,
    "short texts to embed": _short_texts,
    "arguments of all kinds": _arguments,
    "nested arguments": _nested_arguments,
    "a batch of pings": _pings,
}  # fmt: skip
"""What makes a body of each kind, by name: of a random source and a size in bytes."""
