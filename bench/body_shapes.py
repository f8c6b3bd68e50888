"""Seeded generator of the shapes that a JSON body can have: `python -m bench.body_shapes [--count N] [--mib N]`.

No list of kinds: each seed draws a route, where in its body the content stands, and what that is made of (letters of
one to four bytes, escapes, secrets, base64, numbers, nesting, widths, names), and fills that up to the size. Every body
is sent once, since the next one of a caller is another one too; the dearest are printed, by memory above idle and by
the longest block of the loop.

Before them, small bodies of other seeds are sent: what the first requests of a process make (imports, compiled patterns
and their states, threads) stays, and is no cost of a body. `--cold` leaves that out.
"""

import argparse
import base64
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from tests.support.loop_block import MeasuredGateway

Json = dict[str, Any]
MAX_TIMES, MAX_BLOCK_S = 8.0, 0.05
"""Of a body of 1 MB: memory above idle as a multiple of its bytes, and the longest block of the loop; a larger
body may hold it for as much longer."""
FLOOR_BYTES = 4 << 20
"""What a request may take however small its body is: Python takes memory in arenas of 1 MiB, glibc in other holes of
the heap than those just freed, and a window of JSON, a chunk that is scanned and the buffers of two connections are
there once. Measured: bodies of .1 to .25 MB take .5 to 3.5 MB."""
_WARM_UP_SEEDS, _WARM_UP_BYTES = range(9_000_000, 9_000_060), 1 << 16
"""Of the bodies before the first that is measured. Measured: idle memory grows by 5 MB with them, and by less than .1
MB with each of the next 60 bodies."""
_ALPHABETS = (
    "abcdefghij klmno pqrst", "äöüßéèñ çøå", "пример текста на языке", "中文字符樣本書", "😀🚀🎉🧪 🦀",
    "\x00\x01\n\t\\\"/",
    "0123456789", "0123456789 -.()", "<>&;%=+", "{}[],:\"", "ab😀", "a\u200b\u202e\U000e0041",
)  # fmt: skip
_SECRETS = (
    "ghp_{:036d}", "+1 202 555 {:04d}", "user{}@example-firma.de", "10.2.{}.7", "password: hunter{}",
    "4539 1488 0343 6467",
    "Authorization: Bearer {:040x}", "DE89 3704 0044 0532 0130 00", "api_key={:032x}",
)  # fmt: skip


def text(rng: random.Random, size: int) -> str:
    """A string of about `size` bytes of JSON, made of one or two repeated pieces."""
    if size < 40:
        return "".join(rng.choices(rng.choice(_ALPHABETS), k=max(1, size // 3)))
    kind = rng.randrange(6)
    if kind == 0:
        return base64.b64encode(rng.randbytes(max(1, size * 3 // 4))).decode()
    if kind == 1:
        form = rng.choice(_SECRETS)
        piece = "".join(
            form.format(rng.randrange(1000)) + rng.choice((" ", "\n", ",", " and ")) for _ in range(min(50, size // 40))
        )
    elif kind == 2:
        piece = orjson.dumps(value(rng, min(size, 3000), 4)).decode()
    else:
        letters = rng.choice(_ALPHABETS)
        piece = "".join(rng.choice(letters) for _ in range(min(size // 3, rng.choice((3, 60, 2000)))))
    once = rng.choice(("", "😀", "я", rng.choice(_SECRETS).format(7)))
    return once + piece * (size // max(1, len(orjson.dumps(piece)) - 2))


def value(rng: random.Random, size: int, depth: int) -> Any:
    """A JSON value of about `size` bytes."""
    if size < 40 or depth == 0:
        return rng.choice((
            lambda: rng.randrange(10), lambda: rng.randrange(10**9), rng.random, lambda: True, lambda: None,
            lambda: text(rng, size), lambda: text(rng, size), lambda: [], lambda: {},
        ))()  # fmt: skip
    if rng.random() < 0.2:
        return text(rng, size)
    width = min(rng.choice((1, 2, 5, 30, 300, 20_000, size // 12)), size // 8) or 1
    below = depth - 1 if rng.random() < 0.8 else rng.randrange(depth)
    if rng.random() < 0.5:
        return [value(rng, size // width - 1, below) for _ in range(width)]
    name: Callable[[int], str] = rng.choice((
        lambda n: f"k{n}", lambda n: f"{rng.getrandbits(64):x}", lambda n: f"ghp_{rng.getrandbits(140):036x}",
        lambda n: f"user{n}@example-firma.de", lambda n: "я" * 5 + str(n), lambda n: "n" * 200 + str(n),
    ))  # fmt: skip
    return {name(number): value(rng, size // width - 8, below) for number in range(width)}


def _content(rng: random.Random, size: int) -> Any:
    parts = rng.choice((0, 0, 1, 3, 50, 1900))
    if not parts:
        return text(rng, size)
    return [{"type": "text", "text": text(rng, size // parts)} for _ in range(parts)]


def _messages(rng: random.Random, size: int) -> list[Json]:
    count = rng.choice((1, 1, 2, 30, 1000))
    return [{"role": rng.choice(("user", "assistant", "system")), "content": _content(rng, size // count)}
            for _ in range(count)]  # fmt: skip


def _chat(rng: random.Random, size: int) -> Json:
    body: Json = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}], "stream": rng.random() < 0.2}
    place = rng.randrange(7)
    if place < 2:
        body["messages"] = _messages(rng, size)
    elif place == 2:
        body[rng.choice(("extra", "metadata_of_mine", "thinking", "prediction"))] = value(rng, size, 6)
    elif place == 3:
        count = rng.choice((1, 5, 100))
        given = {"type": "object", "properties": value(rng, size // count, 5)}
        parameters = [{"name": f"f{i}", "description": text(rng, 80), "parameters": given} for i in range(count)]
        body["tools"] = [{"type": "function", "function": each} for each in parameters]
    else:
        count = rng.choice((1, 1, 20))
        arguments = orjson.dumps(value(rng, size // count * 4 // 5, 5)).decode()
        calls = [
            {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": arguments}} for i in range(count)
        ]
        results = [{"role": "tool", "tool_call_id": f"c{i}", "content": "ok"} for i in range(count)]
        body["messages"] += [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
    return body


def _responses(rng: random.Random, size: int) -> Json:
    body: Json = {"model": "SvcLLM", "input": "hi"}
    place = rng.randrange(4)
    if place == 0:
        body["input"] = text(rng, size)
    elif place == 1:
        body["instructions"] = text(rng, size)
    elif place == 2:
        count = rng.choice((1, 10, 900))
        outputs = [
            {"type": "function_call_output", "call_id": f"c{i}", "output": text(rng, size // count)}
            for i in range(count)
        ]
        calls = [{"type": "function_call", "call_id": f"c{i}", "name": "f", "arguments": "{}"} for i in range(count)]
        body["input"] = [{"role": "user", "content": "hi"}, *calls, *outputs]
    else:
        form = {"type": "object", "properties": value(rng, size, 5)}
        body["text"] = {"format": {"type": "json_schema", "name": "a", "schema": form}}
    return body


def _anthropic(rng: random.Random, size: int) -> Json:
    body: Json = {"model": "SvcLLM", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    if rng.random() < 0.5:
        body["messages"] = [{"role": "user", "content": _content(rng, size)}]
    else:
        use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": value(rng, size, 6)}}
        result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
        body["messages"] += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return body


def _calls(rng: random.Random, size: int) -> Any:
    def call(number: int, part: int) -> Json:
        name = rng.choice(("websearch-search", "websearch-extract", "websearch-crawl", "nothing"))
        arguments = {"query": text(rng, part)} if rng.random() < 0.5 else {"query": "a", "urls": value(rng, part, 4)}
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    count = rng.choice((1, 1, 5, 50))
    made = [call(number, size // count) for number in range(count)]
    return made if count > 1 else made[0]


_ROUTES: tuple[tuple[str, Callable[[random.Random, int], Any]], ...] = (
    ("/v1/chat/completions", _chat), ("/v1/responses", _responses), ("/v1/messages", _anthropic),
    ("/tools/websearch/mcp", _calls),
)  # fmt: skip


def shape(seed: int, size: int) -> tuple[str, bytes]:
    """(path, JSON) of about `size` bytes, at most a quarter more; the same for the same seed and size."""
    rng = random.Random(seed)
    path, make = rng.choices(_ROUTES, (4, 2, 1, 2))[0]
    body = make(rng, size)
    has_escapes = rng.random() < 0.2
    raw = orjson.dumps(body)
    return path, json.dumps(body).encode() if has_escapes else raw


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--mib", type=float, default=1.0)
    parser.add_argument("--cold", action="store_true", help="in a process that has served next to nothing")
    options = parser.parse_args()
    size, rows = int(options.mib * (1 << 20)), []
    print(f"{'seed':>6}{'MB':>7}{'status':>7}{'memory':>9}{'block ms':>10}{'CPU ms':>8}  route")
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder)) as gateway:
        for seed in () if options.cold else _WARM_UP_SEEDS:
            gateway.post(*shape(seed, _WARM_UP_BYTES))
        for seed in range(options.seed, options.seed + options.count):
            path, raw = shape(seed, size)
            if len(raw) > size // 4:
                cost = gateway.send(path, raw)
                times, block_s = cost.memory_bytes / len(raw), cost.block_s
                rows.append((times, block_s / max(1.0, len(raw) / (1 << 20)), cost.memory_bytes > FLOOR_BYTES))
                if times > MAX_TIMES * 0.8 or block_s > MAX_BLOCK_S * 0.6 or cost.cpu_s > 1 or cost.status >= 500:
                    print(
                        f"{seed:6}{len(raw) / 1e6:7.2f}{cost.status:7}{times:8.1f}x{block_s * 1e3:10.1f}"
                        f"{cost.cpu_s * 1e3:8.0f}  {path}",
                        flush=True,
                    )
    dear = [is_above_floor for times, _, is_above_floor in rows if times > MAX_TIMES]
    blocks = sum(block_s > MAX_BLOCK_S for _, block_s, _ in rows)
    print(f"{len(rows)} bodies: {len(dear)} above {MAX_TIMES:g}x, {sum(dear)} of them above {FLOOR_BYTES >> 20} MiB; "
          f"{blocks} above {MAX_BLOCK_S * 1e3:g} ms")  # fmt: skip


if __name__ == "__main__":
    main()
