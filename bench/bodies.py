"""What large bodies cost a whole gateway, with sanitization on: `python -m bench.bodies [--mib N ...]`.

For each route and size it prints the longest block of the event loop, the CPU time and the peak of memory above idle.
Up to 8 MB a body is a conversation of an agent: turns, tool calls and their results. A larger one holds an image, whose
base64 is what is beyond 1 MB. Then come bodies with as many members of one kind as there may be in 8 MB.
Bounds: 50 ms at 1 MB and 150 ms at any size; six times the bytes and 64 MB.
"""

import argparse
import base64
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain, product
from pathlib import Path
from typing import Any

import orjson

from bench.loop_block import SETTINGS, Cost, MeasuredGateway

MIB = 1 << 20
ROUTES = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "native stream": "/v1/responses",
}
NATIVE = """
[[models]]
name = "native"
[[models.upstreams]]
base_url = "{upstream}"
model = "m"
responses = "native"
"""
"""A model whose upstream speaks /responses itself."""
_WORDS = (  # noqa: SIM905  a list of forty strings is no easier to read
    "the file has a function that reads each line and returns what it found def main self value return import список "
    "слов 文件 café items = [0, 1, 2] /usr/share/doc 2026-11-22 if not None: for name in items: raise ValueError(name) "
).split()
_MOST_TURNS = 400
"""A request may have 2,000 items, and a turn is up to three."""
_VALUES = "write to ops@posthaus.com or call +1 202 555 0143, "


def agent_turns(size: int, seed: int = 1, values: str = _VALUES) -> list[tuple[str, str, str]]:
    """Turns of an agent, `(what it says, what it calls, the result)`, of about `size` bytes in all. `values`: what each
    result begins with."""
    draw, turns, left = random.Random(seed), list[tuple[str, str, str]](), size
    usual = max(60, size // 7 // _MOST_TURNS)
    while left > 0:
        result = values + " ".join(draw.choices(_WORDS, k=draw.randrange(usual // 2, 2 * usual))) + "\n"
        said = " ".join(draw.choices(_WORDS, k=30))
        call = orjson.dumps({"path": f"/src/file{len(turns)}.py", "offset": len(turns), "pattern": said[:40]}).decode()
        turns.append((said, call, result))
        left -= len(result.encode()) + len(said.encode()) + len(call) + 300
    return turns


def tool_list(count: int = 60) -> list[dict[str, Any]]:
    """Function tools as coding agents declare them, `{name, description, parameters}`."""
    fields = {f"field{number}": {"type": "string", "description": "what is read here " * 8} for number in range(8)}
    schema = {"type": "object", "properties": fields, "required": ["field0"]}
    return [{"name": f"tool{number}", "description": "does one thing " * 30, "parameters": schema}
            for number in range(count)]  # fmt: skip


def image(size: int, seed: int = 1) -> str:
    """Base64 of about `size` characters that begins as a PNG does."""
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(seed).randbytes(size * 3 // 4)).decode()


def body(route: str, size: int, seed: int = 1) -> bytes:
    """A body of about `size` bytes for one of ROUTES."""
    text_size = size if size <= 8 * MIB else MIB
    turns = agent_turns(max(text_size - 80_000, 10_000), seed)
    picture = image(size - text_size, seed) if size > text_size else ""
    make = {"chat": chat, "messages": _messages}.get(route, _responses)
    value = make(turns, picture)
    if route == "native stream":
        value |= {"model": "native", "stream": True}
    return orjson.dumps(value)


def chat(turns: list[tuple[str, str, str]], picture: str, tools: int = 60) -> dict[str, Any]:
    """A chat body of these turns, with so many tools."""
    messages: list[Any] = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Go on."}]
    for number, (said, call, result) in enumerate(turns):
        function = {"name": "tool0", "arguments": call}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": said, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
    if picture:
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + picture}}
        messages.append({"role": "user", "content": [{"type": "text", "text": "See:"}, part]})
    return {"model": "SvcLLM", "messages": messages, "tools": [{"type": "function", "function": each}
            for each in tool_list(tools)]}  # fmt: skip


def _responses(turns: list[tuple[str, str, str]], picture: str) -> dict[str, Any]:
    items: list[Any] = [{"role": "user", "content": "Go on."}]
    for number, (said, call, result) in enumerate(turns):
        content = [{"type": "output_text", "text": said}]
        items.append({"type": "message", "role": "assistant", "content": content})
        called = {"call_id": f"call_{number}", "name": "tool0", "arguments": call}
        items.append({"type": "function_call", **called})
        items.append({"type": "function_call_output", "call_id": f"call_{number}", "output": result})
    if picture:
        part = {"type": "input_image", "image_url": "data:image/png;base64," + picture}
        items.append({"role": "user", "content": [{"type": "input_text", "text": "See:"}, part]})
    return {"model": "SvcLLM", "instructions": "You are an agent.", "input": items,
            "tools": [{"type": "function", **each} for each in tool_list()]}  # fmt: skip


def _messages(turns: list[tuple[str, str, str]], picture: str) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "Go on."}]
    for number, (said, call, result) in enumerate(turns):
        used = {"type": "tool_use", "id": f"toolu_{number}", "name": "tool0", "input": orjson.loads(call)}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": said}, used]})
        told = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
        messages.append({"role": "user", "content": [told]})
    if picture:
        source = {"type": "base64", "media_type": "image/png", "data": picture}
        messages[-1]["content"].append({"type": "image", "source": source})
    return {"model": "SvcLLM", "max_tokens": 100, "messages": messages,
            "tools": [{"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
                      for each in tool_list()]}  # fmt: skip


def native_events(size: int = 1000) -> list[dict[str, Any]]:
    """The events of a stream of an upstream that speaks /responses: one item with a text of `size` characters."""
    part = {"type": "output_text", "text": "word " * (size // 5), "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": part["text"]},
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def measure(gateway: MeasuredGateway, route: str, size: int, times: int = 3) -> tuple[Cost, int]:
    """The least costly of some requests, each with a body of its own, and the bytes of a body."""
    raws = [body(route, size, seed) for seed in range(1, times + 1)]
    with gateway.streaming(*native_events()) if route == "native stream" else nullcontext():
        return _measured(gateway, route, raws)


def _measured(gateway: MeasuredGateway, route: str, raws: list[bytes]) -> tuple[Cost, int]:
    costs = [gateway.send(ROUTES[route], raw) for raw in raws]
    return min(costs, key=lambda cost: cost.block_s), len(raws[0])


DENSE = {
    "empty lists": ("[%s]", "[]", 99_000), "objects": ("[%s]", '{"a b":"x y"}', 49_000),
    "strings": ("[%s]", '"ab"', 99_000), "long strings": ("[%s]", '"%76d "', 99_000),
    "deep lists": ("[%s]", "[[[[1]]]]", 24_000), "members": ("{%s}", '"a %d":"x y"', 99_000),
    "names": ("{%s}", '"%d":null', 399_000), "number names": ("{%s}", '"a %d":1', 399_000),
    "object names": ("[%s]", '{"%d a":1,"b%d":2,"c%d":3,"e%d":4}', 99_000),
    "numbers": ("[%s]", "7", 999_000), "long numbers": ("[%s]", "453914880%d", 520_000),
    "nulls": ("[%s]", "null", 1_600_000),
}  # fmt: skip
"""What may be most of in 8 MB: (list or object of members, a member in which `%d` is its number, how many)."""


def dense_bodies() -> Iterator[tuple[str, str, bytes]]:
    """`(name, route, body)` of bodies of as much as there may be, and of JSON in the output of a tool."""
    for name, (holder, member, count) in DENSE.items():
        members = ",".join([member % ((number,) * member.count("%")) for number in range(count)])
        asked = b'{"model":"SvcLLM","messages":[{"role":"user","content":"x"}],"more":%b}'
        yield name, "chat", asked % (holder % members).encode()
    output = '[{"type":"input_image"}' + ",[]" * 2_600_000 + "]"
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    items = [{"role": "user", "content": "x"}, call, {"type": "function_call_output", "call_id": "a", "output": output}]
    yield "tool's JSON", "responses", orjson.dumps({"model": "SvcLLM", "input": items})


def main() -> int:
    """Prints a row for each route and size, and for each dense body; 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, nargs="+", default=[1, 8, 26])
    sizes, failed = parser.parse_args().mib, False
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder), SETTINGS + NATIVE) as gateway:
        print(f"{'route':14}{'MB':>6}{'status':>8}{'block ms':>10}{'CPU ms':>8}{'memory MB':>11}{'times':>7}")
        rows = (
            (route, size, *measure(gateway, route, size * MIB - (64 << 10))) for size, route in product(sizes, ROUTES)
        )
        dense = ((name, 8, *_measured(gateway, route, [raw] * 2)) for name, route, raw in dense_bodies())
        for route, size, cost, length in chain(rows, dense):
            fits = cost.block_s < (0.05 if size <= 1 else 0.15) and cost.memory_bytes < 6 * length + 64 * MIB
            failed = failed or not fits or cost.status != 200
            print(
                f"{route:14}{length / 1e6:6.1f}{cost.status:8}{cost.block_s * 1e3:10.0f}{cost.cpu_s * 1e3:8.0f}"
                f"{cost.memory_bytes / 1e6:11.0f}{cost.memory_bytes / length:7.1f}{'' if fits else '  !'}"
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
