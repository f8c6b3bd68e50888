"""Seeded generators of the large requests that agents really send: `python -m bench.agent_bodies [--mib N ...]`.

Histories of thousands of messages, tools with large schemas, calls with inputs, tables, code, token ids. Each makes
`(path, JSON)` of about `size` bytes as the SDKs encode it. All must pass: the command sends each to a gateway of its
own and prints its status, the longest block of the loop, CPU and memory (`tests/support/loop_block.py`).
"""

import argparse
import base64
import json
import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import agent_tools
from bench.agent_tools import CHAT, EMBEDDINGS, MESSAGES, RESPONSES, WORDS, Json, Made, asking, code, prose
from tests.support.loop_block import MeasuredGateway


def _id(rng: random.Random) -> str:
    return f"call_{rng.getrandbits(96):024x}"


def _history(parts: bool) -> Callable[[random.Random, int], Made]:
    """1,900 short turns; `parts`: their content is a list of text parts."""

    def make(rng: random.Random, size: int) -> Made:
        messages: list[Json] = []
        count = min(1900, size // 90)
        for number in range(count):
            text = prose(rng, rng.randrange(10, max(20, 2 * size // count)))
            content = [{"type": "text", "text": text}] if parts else text
            messages.append({"role": "assistant" if number % 2 else "user", "content": content})
        return CHAT, {"model": "SvcLLM", "messages": [*messages, {"role": "user", "content": "Go on."}]}

    return make


def _calls(rng: random.Random, size: int) -> Made:
    """An agent's calls and their results in chat's form."""
    count = min(900, max(1, size // 900))
    messages: list[Json] = [{"role": "user", "content": "Fix the tests."}]
    for _ in range(count):
        given = {"path": f"src/{rng.choice(WORDS)}.py", "line": rng.randrange(900), "text": code(rng, 100)}
        call = {"id": _id(rng), "type": "function", "function": {"name": "edit", "arguments": json.dumps(given)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": code(rng, size // count - 600)})
    return CHAT, {"model": "SvcLLM", "messages": messages}


def _small_calls(rng: random.Random, size: int) -> Made:
    """Calls of a few bytes, several at once, with results of a word."""
    messages: list[Json] = [{"role": "user", "content": "Count."}]
    while size > 0 and len(messages) < 1990:
        calls = [
            {"id": _id(rng), "type": "function", "function": {"name": "add", "arguments": f'{{"n":{number}}}'}}
            for number in range(8)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": each["id"], "content": "ok"} for each in calls]
        size -= 8 * 190
    return CHAT, {"model": "SvcLLM", "messages": messages[: 1 + (len(messages) - 1) // 9 * 9]}


def _claude_code(rng: random.Random, size: int) -> Made:
    """Tool uses with inputs and results in blocks, cache marks among them."""
    count = min(900, max(1, size // 1200))
    messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": "Fix it."}]}]
    for number in range(count):
        given: Json = {"file_path": f"/src/{rng.choice(WORDS)}.py", "old_string": code(rng, 200), "new_string": "x"}
        if number % 7 == 0:
            todos = [{"content": prose(rng, 40), "status": "pending", "id": str(each)} for each in range(9)]
            given = {"todos": todos}
        use = {"type": "tool_use", "id": f"toolu_{rng.getrandbits(96):024x}", "name": "Edit", "input": given}
        said = {"type": "text", "text": prose(rng, 60)}
        messages.append({"role": "assistant", "content": [said, use]})
        result = [{"type": "text", "text": code(rng, max(10, size // count - 700))}]
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": result}]}
        )
    return MESSAGES, {"model": "SvcLLM", "max_tokens": 900, "messages": messages}


def _inputs(rng: random.Random, size: int) -> Made:
    """Calls whose inputs are tables: rows of small values, as of a spreadsheet."""
    count = min(300, max(1, size // 4000))
    messages: list[Json] = [{"role": "user", "content": "Fill the table."}]
    for _ in range(count):
        rows = [
            {"id": rng.randrange(10**6), "name": rng.choice(WORDS), "price": round(rng.random(), 2), "paid": True}
            for _ in range(max(1, size // count // 70))
        ]
        use = {"type": "tool_use", "id": f"toolu_{rng.getrandbits(96):024x}", "name": "rows", "input": {"rows": rows}}
        messages.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": "ok"}
        messages.append({"role": "user", "content": [result]})
    return MESSAGES, {"model": "SvcLLM", "max_tokens": 900, "messages": messages}


def _codex(rng: random.Random, size: int) -> Made:
    """Items of a responses history: reasoning, calls, outputs, messages."""
    count = min(600, max(1, size // 1500))
    items: list[Json] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}]
    for _ in range(count):
        call_id = _id(rng)
        secret = base64.b64encode(rng.randbytes(240)).decode()
        arguments = json.dumps({"command": ["bash", "-lc", f"rg -n {rng.choice(WORDS)} src"], "timeout": 1000})
        items += [
            {"type": "reasoning", "id": f"rs_{rng.getrandbits(96):024x}", "summary": [], "encrypted_content": secret},
            {"type": "function_call", "call_id": call_id, "name": "shell", "arguments": arguments},
            {"type": "function_call_output", "call_id": call_id, "output": code(rng, size // count - 700)},
        ]
    return RESPONSES, {"model": "SvcLLM", "input": items, "store": False}


def _parts_of_items(rng: random.Random, size: int) -> Made:
    items = [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": prose(rng, rng.randrange(20, max(30, size // 2000)))}] * 2,
        }
        for _ in range(min(1900, size // 200))
    ]
    return RESPONSES, {"model": "SvcLLM", "input": items}


def _document(alphabet: str) -> Callable[[random.Random, int], Made]:
    def make(rng: random.Random, size: int) -> Made:
        count = size // len("".join(alphabet).encode()) * len(alphabet)
        words = ["".join(rng.choices(alphabet, k=rng.randrange(2, 9))) for _ in range(4000)]
        text = " ".join(rng.choice(words) for _ in range(count // 6))
        return CHAT, {"model": "SvcLLM", "messages": [{"role": "user", "content": text}]}

    return make


def _csv(rng: random.Random, size: int) -> Made:
    rows = [f"{n};{rng.choice(WORDS)};{rng.random():.3f};{rng.randrange(999)};2026-01-02" for n in range(size // 34)]
    return CHAT, {"model": "SvcLLM", "messages": [{"role": "user", "content": "\n".join(rows)}]}


def _json_result(rng: random.Random, size: int) -> Made:
    """One result of a tool that is a JSON document of its own."""
    rows = [
        {"id": n, "title": prose(rng, 40), "score": rng.random(), "tags": rng.sample(WORDS, 3)}
        for n in range(size // 190)
    ]
    call = {"id": _id(rng), "type": "function", "function": {"name": "list", "arguments": "{}"}}
    return CHAT, {
        "model": "SvcLLM",
        "messages": [
            {"role": "user", "content": "List."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(rows)},
        ],
    }


def _images(rng: random.Random, size: int) -> Made:
    parts: list[Json] = [{"type": "text", "text": "Compare."}]
    for _ in range(4):
        url = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n" + rng.randbytes(size * 3 // 16)).decode()
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return CHAT, {"model": "SvcLLM", "messages": [{"role": "user", "content": parts}]}


def _texts_to_embed(rng: random.Random, size: int) -> Made:
    count = min(2000, max(1, size // 400))
    return EMBEDDINGS, {"model": "vectors", "input": [prose(rng, size // count) for _ in range(count)]}


def _tokens_to_embed(rng: random.Random, size: int) -> Made:
    tokens = [[rng.randrange(100_000) for _ in range(500)] for _ in range(min(2000, size // 3000 + 1))]
    return EMBEDDINGS, {"model": "vectors", "input": tokens}


def _options(rng: random.Random, size: int) -> Made:
    metadata = {f"k{n}": prose(rng, 400) for n in range(16)}
    bias = {str(rng.randrange(200_000)): -100 for _ in range(300)}
    return CHAT, asking(logit_bias=bias, metadata=metadata, extra_context=prose(rng, size))


KINDS: Mapping[str, Callable[[random.Random, int], Made]] = {
    "tools, described": agent_tools.chat_tools(0.9),
    "tools, half described": agent_tools.chat_tools(0.5),
    "tools, hardly described": agent_tools.chat_tools(0.1),
    "tools of responses": agent_tools.tools_of_responses,
    "tools of messages": agent_tools.tools_of_messages,
    "a response format": agent_tools.response_format,
    "a history of texts": _history(False),
    "a history of parts": _history(True),
    "calls and results": _calls,
    "small calls at once": _small_calls,
    "tool uses in blocks": _claude_code,
    "inputs of tables": _inputs,
    "items of an agent": _codex,
    "parts of items": _parts_of_items,
    "a German document": _document("abcdefghijklmnopqrstuvwxyzäöüß"),
    "a Chinese document": _document("中文字符樣本書的一是在不了有和人這"),
    "a chat with emoji": _document("abcdefghij klmn 😀🚀"),
    "a table of text": _csv,
    "a result of JSON": _json_result,
    "images": _images,
    "texts to embed": _texts_to_embed,
    "tokens to embed": _tokens_to_embed,
    "many options": _options,
}
"""What makes a request of each kind, of a random source and a size in bytes."""


def body(kind: str, seed: int, size: int, *, has_escapes: bool = False) -> tuple[str, bytes]:
    """(path, JSON) of a kind; the same for the same seed and size. Small kinds stop at what a route takes.
    `has_escapes`: as SDKs of Python encode it by default, with blanks and escapes; else as JavaScript does."""
    path, made = KINDS[kind](random.Random(f"{kind} {seed}"), size)
    if has_escapes:
        return path, json.dumps(made).encode()
    return path, json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, nargs="+", default=[0.2, 1.0, 3.0, 8.0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", help="only kinds with this in their name")
    options = parser.parse_args()
    print(f"{'kind':28}{'MB':>7}{'status':>8}{'block ms':>10}{'CPU ms':>9}{'memory':>9}")
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder)) as gateway:
        for number, kind in enumerate(KINDS):
            for mib in options.mib:
                if options.kind in kind:
                    path, raw = body(kind, options.seed, int(mib * (1 << 20)), has_escapes=number % 2 == 0)
                    cost = gateway.send(path, raw)
                    print(
                        f"{kind:28}{len(raw) / 1e6:7.2f}{cost.status:8}{cost.block_s * 1e3:10.1f}"
                        f"{cost.cpu_s * 1e3:9.0f}{cost.memory_bytes / len(raw):8.1f}x"
                        + ("" if cost.status in (200, 502) else f"  {cost.answer[:200]!r}"),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
