"""Seeded generators of request bodies that cost more than they look: tiny values, many texts, escapes, wrong types.

`body(kind, seed, size)` makes one of about `size` bytes. `python -m bench.hostile_bodies [--mib N] [--seed N]` sends
each kind to a gateway of its own and prints the longest block of its event loop, its CPU and its memory: the peak of
the resident memory above what was resident before it came, freed memory having been given back to the system. Each
round sends a new body, as a caller's next one is. The first of a kind also fills caches that stay (`first`); the most
of all further rounds is `memory`. See `tests/support/loop_block.py`.
"""

import argparse
import base64
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson

from bench.dense_bodies import DENSE, Made
from bench.file_bodies import FILES
from bench.history_bodies import HISTORIES
from bench.odd_bodies import ODD
from bench.script_bodies import SCRIPTS
from tests.support.loop_block import Cost, MeasuredGateway

_TEXT = """the gateway answers every request with one status and says what was wrong with it mail to ops@posthaus.com or
call +49 30 1234567 before 2026-11-22 at 10.0.0.5 with card 4539 1488 0343 6467 and token sk-live-0a1b2c3d4e5f
which nobody should send in a prompt but people do all the time (see the page on limits) and that is why"""
_WORDS = _TEXT.split()
_CHAT, _RESPONSES, _MCP = "/v1/chat/completions", "/v1/responses", "/tools/websearch/mcp"


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, and the route it is for."""

    path: str
    raw: bytes


def prose(rng: random.Random, size: int) -> str:
    """About `size` characters of words with some personal data, no two lines alike."""
    words = [rng.choice(_WORDS) for _ in range(min(size // 5 + 1, 20_000))]
    paragraph = " ".join(words)
    lines = (f"{number} {paragraph}\n" for number in range(size // len(paragraph) + 1))
    return "".join(lines)[:size]


def _field(value: bytes) -> Body:
    """A chat body with `value` in a field that nobody knows."""
    return Body(_CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],"extra":%b}' % value)


def _repeated(item: Callable[[random.Random], bytes]) -> Callable[[random.Random, int], Body]:
    """A chat body with a list of such items in an unknown field; a thousand different ones, again and again."""

    def make(rng: random.Random, size: int) -> Body:
        run = b",".join(item(rng) for _ in range(1000))
        return _field(b"[" + b",".join([run] * (size // (len(run) + 1) + 1)) + b"]")

    return make


def _chat(messages: list[object], **more: object) -> Body:
    return Body(_CHAT, orjson.dumps({"model": "SvcLLM", "messages": messages, **more}))


def _content(raw: bytes) -> Body:
    """A chat body whose one message is this JSON string, without its quotes."""
    return Body(_CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"%b"}]}' % raw)


def _many_messages(rng: random.Random, size: int) -> Body:
    return _chat([{"role": "user", "content": prose(rng, size // 1900)} for _ in range(1900)])


def _many_parts(rng: random.Random, size: int) -> Body:
    parts = [{"type": "text", "text": rng.choice(_WORDS)} for _ in range(min(size // 36, 1999))]
    messages = [{"role": "user", "content": parts} for _ in range(min(size // (36 * len(parts)) + 1, 60))]
    return _chat([*messages])


def _hundred_messages(rng: random.Random, size: int) -> Body:
    return _chat([{"role": "user", "content": prose(rng, size // 100)} for _ in range(100)])


def _keys(rng: random.Random, size: int) -> Body:
    return _field(b"{" + b",".join(b'"%x":1' % rng.getrandbits(40) for _ in range(size // 15)) + b"}")


def _same_key(rng: random.Random, size: int) -> Body:
    return _field(b"{" + b",".join([b'"twice":[]'] * (size // 11)) + b"}")


def _nested(rng: random.Random, size: int) -> Body:
    tower = b"[" * 95 + b"]" * 95
    return _field(b"[" + b",".join([tower] * (size // 191 + 1)) + b"]")


def _too_deep(rng: random.Random, size: int) -> Body:
    return _field(b"[" * (size // 2) + b"]" * (size // 2))


def _unicode(rng: random.Random, size: int) -> Body:
    return _content("".join(rng.choice("äßπЖ中文字😀é") for _ in range(1000)).encode() * (size // 2600 + 1))


def _percent_signs(rng: random.Random, size: int) -> Body:
    url = "data:text/html," + f"%4{rng.randrange(10)}%2" * (size // 5)
    return _chat([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}])


def _wrong_messages(rng: random.Random, size: int) -> Body:
    items = b",".join([b'{"role":7,"content":[1]}'] * min(size // 25, 1999))
    filler = b'"' + b"x" * max(0, size - len(items)) + b'"'
    return Body(_CHAT, b'{"model":"SvcLLM","messages":[%b],"extra":%b}' % (items, filler))


def _wrong_input(rng: random.Random, size: int) -> Body:
    return Body(_RESPONSES, b'{"model":"SvcLLM","input":[%b]}' % b",".join([b"[[7]]"] * (size // 6)))


def _tool_schemas(rng: random.Random, size: int) -> Body:
    def schema(number: int) -> object:
        fields = {f"field_{number}_{i}": {"type": "string", "description": prose(rng, 120)} for i in range(40)}
        return {"type": "object", "properties": fields, "required": list(fields)}

    one = len(orjson.dumps(schema(0))) + 60
    tools = [
        {"type": "function", "function": {"name": f"tool_{number}", "parameters": schema(number)}}
        for number in range(min(size // one + 1, 120))
    ]
    return _chat([{"role": "user", "content": "hi"}], tools=tools)


def _tool_calls(rng: random.Random, size: int) -> Body:
    """Arguments are JSON in a string: each one is a document of its own."""
    arguments = orjson.dumps({f"k{i}": rng.choice(_WORDS) for i in range(40)}).decode()
    count = min(size // (len(arguments) * 5 // 4 + 90), 1900)
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": arguments}} for i in range(count)
    ]
    return _chat([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": calls[:128]}])


def _large_arguments(rng: random.Random, size: int) -> Body:
    """One call whose arguments are a document of hundreds of thousands of small texts."""
    arguments = orjson.dumps([rng.choice(_WORDS) + str(i) for i in range(size // 14)]).decode()
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return _chat([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}])


def _arguments_of_lists(rng: random.Random, size: int) -> Body:
    """One call whose arguments are a document of tiny values, which are no values of the body."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f"[{'[],' * (size // 3)}[]]"}}
    return _chat([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}])


def _unknown_arguments(rng: random.Random, size: int) -> Body:
    params = {"name": "websearch-search", "arguments": {f"{rng.getrandbits(32):x}": 1 for _ in range(size // 12)}}
    return Body(_MCP, orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))


def _secret_names(rng: random.Random, size: int) -> Body:
    """An object of free names, each of which is to be masked: two scans each, so at most 20,000."""
    names = {f"ghp_{rng.getrandbits(144):036x}": "v" for _ in range(min(size // 48, 20_000))}
    return _field(orjson.dumps({"arguments": names}))


def _old_calls(rng: random.Random, size: int) -> Body:
    """Results of the functions interface, each to be matched to one of thousands of open calls."""
    calls = [{"id": "", "function": {"name": "g"}}] * min(size // 900 // 45, 100)
    turn = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}, "tool_calls": calls},
        {"role": "function", "name": "f", "content": "x"},
    ]
    return _chat([{"role": "user", "content": "hi"}, *turn * 900])


def _image(rng: random.Random, size: int) -> Body:
    url = "data:image/png;base64," + base64.b64encode(rng.randbytes(size * 3 // 4)).decode()
    return _chat([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}])


def _input_items(rng: random.Random, size: int) -> Body:
    items = [{"type": "message", "role": "user", "content": prose(rng, 400)} for _ in range(min(size // 450, 1900))]
    return Body(_RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items}))


def _calls_and_outputs(rng: random.Random, size: int) -> Body:
    count = min(size // 150, 950)
    calls = [{"type": "function_call", "call_id": f"c{i}", "name": "f", "arguments": "{}"} for i in range(count)]
    output = prose(rng, max(60, size // count - 150))
    outputs = [{"type": "function_call_output", "call_id": f"c{i}", "output": output} for i in range(count)]
    items = [{"type": "message", "role": "user", "content": "hi"}, *calls, *outputs[::-1]]
    return Body(_RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items}))


def _batch(rng: random.Random, size: int) -> Body:
    def call(number: int) -> object:
        domains = [f"{rng.getrandbits(140):035x}.example.org" for _ in range(size // 50 // 50)]
        arguments = {"query": prose(rng, 1500), "include_domains": domains[:300], "exclude_domains": domains[300:450]}
        params = {"name": "websearch-search", "arguments": arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    return Body(_MCP, orjson.dumps([call(number) for number in range(50)]))


def _wrong_arguments(rng: random.Random, size: int) -> Body:
    arguments = {"query": [7] * (size // 100), "include_domains": [[]] * (size // 150)}
    params = {"name": "websearch-search", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Body(_MCP, orjson.dumps([call] * 50))


def _made(make: Callable[[random.Random, int], Made], rng: random.Random, size: int) -> Body:
    return Body(*make(rng, size))


KINDS: Mapping[str, Callable[[random.Random, int], Body]] = {
    "empty lists": _repeated(lambda rng: b"[]"),
    "small objects": _repeated(lambda rng: b'{"a":%d}' % rng.randrange(10)),
    "numbers": _repeated(lambda rng: b"%.17g" % rng.random()),
    "digits": _repeated(lambda rng: b"%d" % rng.randrange(10)),
    "short strings": _repeated(lambda rng: b'"%x"' % rng.getrandbits(16)),
    "many keys": _keys,
    "one key again and again": _same_key,
    "nested to the limit": _nested,
    "nested too deep": _too_deep,
    "empty messages": lambda rng, size: Body(_CHAT, b'{"model":"SvcLLM","messages":[%b{}]}' % (b"{}," * (size // 3))),
    "many messages": _many_messages,
    "a hundred messages": _hundred_messages,
    "many parts": _many_parts,
    "one long text": lambda rng, size: _chat([{"role": "user", "content": prose(rng, size)}]),
    "escaped nulls": lambda rng, size: _content(b"\\u0000" * (size // 6)),
    "escaped quotes": lambda rng, size: _content(b'\\"' * (size // 2)),
    "escaped pairs": lambda rng, size: _content(b"\\ud83d\\ude00" * (size // 12)),
    "unicode": _unicode,
    "digits in a text": lambda rng, size: _content(b"%d " % rng.randrange(10**9) * (size // 10)),
    "values to mask alone": lambda rng, size: _content(b"call +1 202 555 %04d " % rng.randrange(10**4) * (size // 21)),
    "percent signs of a data URL": _percent_signs,
    "wrong messages": _wrong_messages,
    "wrong input": _wrong_input,
    "tools with large schemas": _tool_schemas,
    "tool calls": _tool_calls,
    "one call of many arguments": _large_arguments,
    "one call of empty lists": _arguments_of_lists,
    "unknown arguments": _unknown_arguments,
    "secrets as names": _secret_names,
    "old calls": _old_calls,
    "an image": _image,
    "input items": _input_items,
    "calls and outputs": _calls_and_outputs,
    "a batch of searches": _batch,
    "a batch of wrong searches": _wrong_arguments,
    "not JSON": lambda rng, size: Body(_CHAT, b"[" + b'{"a":[' * (size // 6)),
    **{name: partial(_made, make) for kinds in (DENSE, FILES, ODD, HISTORIES, SCRIPTS) for name, make in kinds.items()},
}  # fmt: skip


def body(kind: str, seed: int, size: int) -> Body:
    """The body of a kind in KINDS, the same for the same seed and size; about `size` bytes, some kinds less."""
    return KINDS[kind](random.Random(f"{kind} {seed}"), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, default=1.0, help="size of each body")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", help="only kinds with this pattern in their name")
    parser.add_argument("--rounds", type=int, default=3, help="how many of each are sent")
    options = parser.parse_args()
    print(f"{'kind':36}{'MB':>7}{'status':>8}{'block ms':>10}{'CPU ms':>9}{'first':>9}{'memory':>9}")
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder)) as gateway:
        size = int(options.mib * (1 << 20))
        for kind in filter(re.compile(options.kind).search, KINDS):
            costs: list[Cost] = []
            for number in range(options.rounds):
                each = body(kind, options.seed + number, size)
                costs.append(gateway.send(each.path, each.raw))
                sent_bytes = len(each.raw)
            block_s, cpu_s = max(cost.block_s for cost in costs), min(cost.cpu_s for cost in costs)
            first_bytes = costs[0].memory_bytes
            memory_bytes = max((cost.memory_bytes for cost in costs[1:]), default=first_bytes)
            print(
                f"{kind:36}{sent_bytes / 1e6:7.2f}{costs[-1].status:8}{block_s * 1e3:10.1f}"
                f"{cpu_s * 1e3:9.0f}{first_bytes / sent_bytes:8.1f}x{memory_bytes / sent_bytes:8.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
