"""Seeded generator of the shapes that answers of an upstream can have: `python -m bench.answer_shapes [--count N]`.

As `bench.body_shapes`, for what comes from the other side: each seed draws an interface, whether a stream was asked,
the fields that a large value stands in, and what that is made of. In streams the value is one event between small
ones, or is cut into many. The dearest are printed, by memory above idle and by the longest block of the loop.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.body_shapes import MAX_BLOCK_S, MAX_TIMES, text, value
from tests.support.loop_block import SETTINGS, MeasuredGateway

Json = dict[str, Any]
NATIVE = """
[[models]]
name = "Native"
[[models.upstreams]]
base_url = "{upstream}"
model = "m"
responses = "native"
"""
_PLACES = ("text", "text", "reasoning", "refusal", "arguments", "logprobs", "logprobs", "unknown", "annotations")
ROUTES: dict[str, tuple[str, Json]] = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "logprobs": True}),
    "responses": ("/v1/responses", {"input": "hi", "store": False}),
    "stored": ("/v1/responses", {"input": "hi", "store": True}),
    "native": ("/v1/responses", {"input": [{"role": "user", "content": "hi"}], "store": False}),
    "messages": ("/v1/messages", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}),
}


def tokens(rng: random.Random, size: int) -> tuple[list[Json], str]:
    """(log probabilities of about `size` bytes, the text that they spell)."""
    words = [rng.choice((" a", "the", "я", "中", "😀", "\n", " ghp_", "0", "a@posthaus.org ")) for _ in range(50)]
    with_bytes, alternatives = rng.random() < 0.7, rng.choice((0, 0, 5, 20))

    def token(word: str) -> Json:
        return {"token": word, "logprob": -rng.random()} | ({"bytes": list(word.encode())} if with_bytes else {})

    made: list[Json] = []
    one = {**token(words[0]), "top_logprobs": [token(word) for word in words[:alternatives]]}
    for number in range(size // len(orjson.dumps(one)) or 1):
        made.append({**token(words[number % 50]), "top_logprobs": [token(word) for word in words[:alternatives]]})
    return made, "".join(each["token"] for each in made)


def _message(rng: random.Random, size: int) -> tuple[Json, Any]:
    """(a chat message, or a delta; its `logprobs`)."""
    place, message = rng.choice(_PLACES), {"role": "assistant", "content": "hi"}
    if place == "logprobs":
        made, spelt = tokens(rng, size)
        message["content"] = spelt if rng.random() < 0.7 else "hi"
        return message, {"content": made, "refusal": None}
    if place == "arguments":
        arguments = orjson.dumps({"a": value(rng, size * 4 // 5, 5)}).decode()
        count = rng.choice((1, 1, 30))
        function = {"name": "f", "arguments": arguments if count == 1 else arguments[: size // count]}
        calls = [{"index": i, "id": f"c{i}", "type": "function", "function": function} for i in range(count)]
        return {**message, "content": None, "tool_calls": calls}, None
    if place in ("unknown", "annotations"):
        return {**message, place: value(rng, size, 6)}, None
    name = {"text": "content", "reasoning": "reasoning_content"}.get(place, place)
    return {**message, name: text(rng, size)}, None


def chat_events(rng: random.Random, size: int) -> Iterator[Json]:
    """The chunks of a chat stream."""
    cut = rng.choice((1, 1, 1, 3, 100, 2_000))
    for _ in range(cut):
        delta, logprobs = _message(rng, size // cut)
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        yield {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
    yield {"id": "c", "object": "chat.completion.chunk",
           "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}  # fmt: skip


def item_of(place: str, value: str) -> Json:
    """An output item of /responses with a text in one place: text, reasoning, refusal or arguments."""
    if place == "arguments":
        arguments = orjson.dumps({"a": value}).decode()
        return {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": arguments}
    if place == "reasoning":
        return {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": value}]}
    part: Json = {"type": "output_text", "text": value, "annotations": []}
    part = part if place == "text" else {"type": "refusal", "refusal": value}
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}


def _item(rng: random.Random, size: int) -> Json:
    message, logprobs = _message(rng, size)
    if message.get("tool_calls"):
        function = message["tool_calls"][0]["function"]
        return {"type": "function_call", "id": "fc", "call_id": "c", **function, "status": "completed"}
    if "reasoning_content" in message:
        part = {"type": "reasoning_text", "text": message["reasoning_content"]}
        return {"type": "reasoning", "id": "rs", "summary": [], "content": [part]}
    part = {"type": "output_text", "text": message["content"], "annotations": []}
    part |= {"logprobs": logprobs["content"]} if logprobs else {}
    part |= {name: message[name] for name in ("unknown", "annotations", "refusal") if name in message}
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}


def native_events(rng: random.Random, size: int) -> Iterator[Json]:
    """The events of a /responses stream: the large item in the last of them, or in several."""
    times = rng.choice((1, 1, 3))
    item = _item(rng, size // times)
    yield {"type": "response.created", "response": {"id": "r", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
    part = (item.get("content") or [{}])[0]
    place = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    if times > 1 and part.get("type") == "output_text":
        yield {"type": "response.output_text.delta", **place, "delta": part["text"],
               "logprobs": part.get("logprobs", [])}  # fmt: skip
    if times > 1:
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}}


def shape(seed: int, size: int) -> tuple[str, Json, bool, list[Json]]:
    """(path, request, whether it asks for a stream, the upstream's events or its one answer)."""
    rng = random.Random(seed)
    kind = rng.choice(tuple(ROUTES))
    path, asked = ROUTES[kind]
    request = {"model": "Native" if kind == "native" else "SvcLLM", **asked}
    if rng.random() < 0.6:
        events = native_events(rng, size) if kind == "native" else chat_events(rng, size)
        return path, {**request, "stream": True}, True, list(events)
    if kind == "native":
        return path, request, False, [{"id": "r", "status": "completed", "output": [_item(rng, size)]}]
    message, logprobs = _message(rng, size)
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs}
    return path, request, False, [{"id": "c", "object": "chat.completion", "choices": [choice]}]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--mib", type=float, default=1.0)
    parser.add_argument("--all", action="store_true", help="print all, not only the dear ones")
    options = parser.parse_args()
    size, rows = int(options.mib * (1 << 20)), []
    print(f"{'seed':>6}{'MB':>7}{'status':>7}{'memory':>9}{'block ms':>10}{'CPU ms':>8}  route")
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder), SETTINGS + NATIVE) as gateway:
        for seed in range(options.seed, options.seed + options.count):
            path, request, is_stream, answers = shape(seed, size)
            if sum(len(orjson.dumps(each)) for each in answers) < size // 4:
                continue
            with gateway.streaming(*answers) if is_stream else gateway.answering(answers[0]) as sent:
                cost = gateway.send(path, orjson.dumps(request))
            times, allowed_s = cost.memory_bytes / sent, MAX_BLOCK_S * max(1.0, sent / (1 << 20))
            rows.append((times, cost.block_s, allowed_s))
            if options.all or times > MAX_TIMES * 0.8 or cost.block_s > allowed_s * 0.6 or cost.cpu_s > sent / 1e6:
                failure = cost.answer[-160:] if cost.status >= 500 or b'"error"' in cost.answer[-400:] else b""
                print(
                    f"{seed:6}{sent / 1e6:7.2f}{cost.status:7}{times:8.1f}x{cost.block_s * 1e3:10.1f}"
                    f"{cost.cpu_s * 1e3:8.0f}  {path} {request['model']}{' stream' if is_stream else ''}"
                    f" {failure.decode(errors='replace')}",
                    flush=True,
                )
    over = sum(times > MAX_TIMES or block_s > allowed_s for times, block_s, allowed_s in rows)
    print(f"{len(rows)} answers, {over} of them above {MAX_TIMES:g}x or {MAX_BLOCK_S * 1e3:g} ms a MB")


if __name__ == "__main__":
    main()
