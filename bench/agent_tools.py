"""Tools and formats as agents declare them, of about `size` bytes: for `bench.agent_bodies`."""

import json
import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Made = tuple[str, Json]
CHAT, RESPONSES, MESSAGES, EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"
_TEXT = """the of a to in file function returns value when user request error line test path list name string number
option default must not be empty directory search replace command output server client message content tool result
index key config update create delete read write open close check parse format type array object boolean query page
limit offset filter sort order time date start end size count total average maximum minimum first last next previous
"""
WORDS = _TEXT.split()
_CODE = """    for item in items:
        if item.is_valid() and item.size > limit:
            results.append(transform(item, depth + 1))
    return sorted(results, key=lambda each: each.name)
"""


def prose(rng: random.Random, size: int) -> str:
    words = rng.choices(WORDS, k=max(1, size // 6))
    return " ".join(words).capitalize() + "."


def code(rng: random.Random, size: int) -> str:
    lines = [f"def step_{rng.randrange(10_000)}(items, limit, depth):\n{_CODE}" for _ in range(size // 230 + 1)]
    return "\n".join(lines)


def _names(rng: random.Random, count: int) -> list[str]:
    return [f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{number}" for number in range(count)]


def _property(rng: random.Random, levels: int, described: float) -> Json:
    """The schema of one parameter, as people and generators write them."""
    kind = rng.choice(("string", "string", "string", "integer", "boolean", "array", "object" if levels else "number"))
    schema: Json = {"type": kind}
    if rng.random() < described:
        schema["description"] = prose(rng, rng.choice((30, 80, 200)))
    if kind == "array":
        schema["items"] = _property(rng, levels - 1, 0) if levels > 0 else {"type": "string"}
    elif kind == "object":
        schema |= _object(rng, rng.randrange(2, 7), levels - 1, described)
    elif kind == "string" and rng.random() < 0.2:
        schema["enum"] = rng.sample(WORDS, 4)
    if rng.random() < 0.2:
        schema["title"] = rng.choice(WORDS).title()
    return schema


def _object(rng: random.Random, count: int, levels: int, described: float) -> Json:
    names = _names(rng, count)
    properties = {name: _property(rng, levels, described) for name in names}
    return {"type": "object", "properties": properties, "required": names[: count // 2], "additionalProperties": False}


def _functions(rng: random.Random, size: int, described: float) -> list[Json]:
    made: list[Json] = []
    while size > 0 and len(made) < 300:
        one: Json = {"name": f"{rng.choice(WORDS)}_{len(made)}", "description": prose(rng, 200)}
        one["parameters"] = _object(rng, rng.randrange(3, 12), 3, described)
        size -= len(json.dumps(one))
        made.append(one)
    while size > 0:  # few tools more than a request may have: those there are grow
        grown = rng.choice(made)["parameters"]["properties"]
        more = _object(rng, 20, 3, described)["properties"]
        grown |= {f"{name}_{len(grown)}": schema for name, schema in more.items()}
        size -= len(json.dumps(more))
    return made


def asking(**more: Any) -> Json:
    return {"model": "SvcLLM", "messages": [{"role": "user", "content": "Go on."}], **more}


def chat_tools(described: float) -> Callable[[random.Random, int], Made]:
    return lambda rng, size: (
        CHAT,
        asking(tools=[{"type": "function", "function": each} for each in _functions(rng, size, described)]),
    )


def tools_of_responses(rng: random.Random, size: int) -> Made:
    tools = [{"type": "function", "strict": False, **each} for each in _functions(rng, size, 0.7)]
    return RESPONSES, {"model": "SvcLLM", "input": "Go on.", "tools": tools}


def tools_of_messages(rng: random.Random, size: int) -> Made:
    tools = [
        {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
        for each in _functions(rng, size, 0.7)
    ]
    return MESSAGES, {**asking(tools=tools), "max_tokens": 900}


def response_format(rng: random.Random, size: int) -> Made:
    schema = _object(rng, max(3, size // 220), 2, 0.5)
    return CHAT, asking(
        response_format={"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": schema}}
    )
