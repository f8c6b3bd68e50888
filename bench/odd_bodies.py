"""Seeded generators of request bodies that a tester of limits would think of: JSON in JSON, broken files, numbers and
names without end, items of every type. Part of `bench.hostile_bodies`.
"""

import base64
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from bench.dense_bodies import CHAT, EMBEDDINGS, MCP, MESSAGES, RESPONSES, Made

Json = dict[str, Any]
_HELLO = [{"role": "user", "content": "hi"}]
_LETTERS = "abcdefghij klmno pqrst uvwxyz, äöü жук 中文 😀👩‍👩‍👧 e\u0301 \u202eabc\u202c \u200b"


def _words(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(_LETTERS, k=max(1, size * 2 // 3)))


def _chat(**more: object) -> Made:
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": _HELLO, **more})


def _user(content: object) -> Made:
    return _chat(messages=[{"role": "user", "content": content}])


def _raw_chat(field: bytes) -> Made:
    return CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],%b}' % field


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
        {"type": "function", "function": {"name": f"tool_{i}", "description": _words(rng, size // count // 2),
         "parameters": {"type": "object", "properties": {
             f"field {rng.getrandbits(32):x}": {"type": "string", "description": _words(rng, 60)}
             for _ in range(size // count // 300)}}}} for i in range(count)
    ]  # fmt: skip
    return _chat(tools=tools)


def _alternatives(rng: random.Random, size: int) -> Made:
    one = len(orjson.dumps(_any_of(rng, 40)))
    count = max(1, min(512, size // (one * 4)))
    tools: list[Json] = [
        {"type": "function", "name": f"t{i}", "description": _words(rng, size // count * 3 // 4),
         "parameters": {"type": "object", "properties": {"a": _any_of(rng, 40)}}} for i in range(count)
    ]  # fmt: skip
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": "hi", "tools": tools})


def _broken_images(rng: random.Random, size: int) -> Made:
    """Data URLs that are no base64, cut off, wrapped, of no type, or of text."""

    def url(part: int) -> str:
        raw = rng.choice((
            lambda: rng.randbytes(part * 3 // 4), lambda: b"\x89PNG\r\n\x1a\n" + bytes(part * 3 // 4),
            lambda: _words(rng, part * 3 // 4).encode(),
        ))()  # fmt: skip
        data = base64.b64encode(raw).decode()
        data = rng.choice((data, data[:-1], data + "==", data.replace("A", "*"), "\n".join((data[:76], data[76:]))))
        return f"data:{rng.choice(('image/png', 'image/jpeg', 'image/svg+xml', 'text/plain', ''))};base64,{data}"

    parts = [{"type": "image_url", "image_url": {"url": url(size // 8)}} for _ in range(8)]
    return _user(parts)


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


def _text_urls(rng: random.Random, size: int) -> Made:
    data = base64.b64encode(_words(rng, size * 3 // 8).encode()).decode()
    file = {"type": "file", "file": {"filename": "a.txt", "file_data": f"data:text/plain;base64,{data}"}}
    image = {"type": "image_url", "image_url": {"url": f"data:text/html,{_words(rng, size // 2)}"}}
    return _user([file, image])


def _json_in_json(levels: int) -> Callable[[random.Random, int], Made]:
    """Arguments of calls that are JSON inside of JSON: each level doubles the backslashes of the one below."""

    def make(rng: random.Random, size: int) -> Made:
        count = 100
        leaves = max(1, size // count // 130 >> levels)
        given: object = {"q": [{f"k{i}": _words(rng, 60)} for i in range(leaves)]}
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
    text = orjson.dumps([{"a": [1, {"b": _words(rng, 30)}]} for _ in range(size // 120)]).decode()[: -rng.randrange(40)]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    return _chat(messages=[*_HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}])


def _mixed_letters(rng: random.Random, size: int) -> Made:
    return CHAT, json.dumps(
        {"model": "SvcLLM", "messages": [{"role": "user", "content": _words(rng, size // 6)} for _ in range(4)]}
    ).encode()


def _lone_surrogates(rng: random.Random, size: int) -> Made:
    return _raw_chat(b'"extra":"%b"' % (b"\\ud83d \\ude00 x\\udc00" * (size // 22)))


def _digits(rng: random.Random, count: int) -> bytes:
    return b"7" + bytes(rng.choices(b"0123456789", k=count - 1))


def _long_numbers(rng: random.Random, size: int) -> Made:
    numbers = [_digits(rng, 10_000) for _ in range(8)]
    return _raw_chat(b'"extra":[%b]' % b",".join(numbers[i % 8] for i in range(size // 10_000)))


def _exact_numbers(rng: random.Random, size: int) -> Made:
    numbers = [b"0." + _digits(rng, 10_000) for _ in range(8)] + [b"1e-%d" % rng.randrange(400) for _ in range(8)]
    return _raw_chat(b'"extra":[%b]' % b",".join(numbers[i % 16] for i in range(size // 5_000)))


def _wide_numbers(rng: random.Random, size: int) -> Made:
    return _raw_chat(b'"extra":[%b]' % b",".join(b"%.17g" % rng.uniform(-1e300, 1e300) for _ in range(size // 24)))


def _twice(rng: random.Random, size: int) -> Made:
    """Every field again and again; the last one counts."""
    texts = [orjson.dumps([{"role": "user", "content": _words(rng, size // 9)}]) for _ in range(8)]
    return CHAT, b'{"model":"SvcLLM",%b}' % b",".join(b'"messages":%b' % text for text in texts)


def _mark(rng: random.Random, size: int) -> Made:
    return CHAT, b"\xef\xbb\xbf" + _user(_words(rng, size))[1]


def _two_byte_letters(rng: random.Random, size: int) -> Made:
    return CHAT, _user(_words(rng, size // 2))[1].decode().encode("utf-16")


def _parts(letters: int) -> Callable[[random.Random, int], Made]:
    """Content parts by the ten thousand, in few messages."""

    def make(rng: random.Random, size: int) -> Made:
        count = size // (28 + letters)
        parts = [{"type": "text", "text": _words(rng, letters)} for _ in range(min(count, 1900))]
        last = [{"role": "user", "content": parts[: len(parts) // 2]}] if count < 1900 else []
        messages = [{"role": "user", "content": parts} for _ in range(count // len(parts))]
        return _chat(messages=messages + last, stream=rng.random() < 0.5)

    return make


def _items(rng: random.Random, size: int) -> Made:
    """Input items of every type that a responses request may have."""

    def text(part: str = "input_text") -> list[Json]:
        return [{"type": part, "text": _words(rng, 200)}]

    made: tuple[Callable[[int], Json], ...] = (
        lambda i: {"type": "message", "role": "user", "content": text()},
        lambda i: {"type": "message", "role": "assistant", "id": f"msg_{i}", "status": "completed",
                   "content": [{"type": "output_text", "text": _words(rng, 200), "annotations": []}]},
        lambda i: {"type": "reasoning", "id": f"rs_{i}", "summary": text("summary_text"),
                   "encrypted_content": base64.b64encode(rng.randbytes(400)).decode()},
        lambda i: {"type": "web_search_call", "id": f"ws_{i}", "status": "completed",
                   "action": {"type": "search", "query": _words(rng, 50)}},
        lambda i: {"type": "file_search_call", "id": f"fs_{i}", "status": "completed", "queries": [_words(rng, 40)],
                   "results": [{"file_id": "f", "text": _words(rng, 200), "score": 0.5}]},
        lambda i: {"type": "image_generation_call", "id": f"ig_{i}", "status": "completed",
                   "result": base64.b64encode(rng.randbytes(300)).decode()},
        lambda i: {"type": "code_interpreter_call", "id": f"ci_{i}", "status": "completed", "container_id": "c",
                   "code": _words(rng, 200), "outputs": [{"type": "logs", "logs": _words(rng, 100)}]},
        lambda i: {"type": "mcp_list_tools", "id": f"ml_{i}", "server_label": "s",
                   "tools": [{"name": "t", "input_schema": _any_of(rng, 2)}]},
        lambda i: {"type": "item of the future", "id": f"x_{i}", "data": {"a": [_words(rng, 100)]}},
    )  # fmt: skip
    items: list[Json] = []
    size_so_far = 0
    while size_so_far < size and len(items) < 1900:
        item = rng.choice(made)(len(items))
        call = {"type": "function_call", "call_id": f"c{len(items)}", "name": "f", "arguments": '{"a":"b"}'}
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": _words(rng, 100)}
        items += [item, call, output]
        size_so_far += len(orjson.dumps([item, call, output]))
    items.append({"role": "user", "content": _words(rng, max(1, size - size_so_far))})
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items})


def _blocks(rng: random.Random, size: int) -> Made:
    """Blocks of every type that a messages request may have."""
    made: tuple[Callable[[], Json], ...] = (
        lambda: {"type": "text", "text": _words(rng, 200), "cache_control": {"type": "ephemeral"}},
        lambda: {"type": "document", "title": "t", "citations": {"enabled": True},
                 "source": {"type": "text", "media_type": "text/plain", "data": _words(rng, 300)}},
        lambda: {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}] * 5}},
        lambda: {"type": "search_result", "source": "https://a.example", "title": _words(rng, 20),
                 "content": [{"type": "text", "text": _words(rng, 100)}]},
    )  # fmt: skip
    thought = {"type": "thinking", "thinking": _words(rng, 300), "signature": base64.b64encode(bytes(99)).decode()}
    turns: list[Json] = []
    while len(turns) < 1900 and len(turns) * 2_000 < size:
        turns.append({"role": "user", "content": [rng.choice(made)() for _ in range(12)]})
        turns.append({"role": "assistant", "content": [thought, {"type": "text", "text": _words(rng, 200)}]})
    body = {"model": "SvcLLM", "max_tokens": 9, "system": [{"type": "text", "text": _words(rng, 99)}] * 50}
    return MESSAGES, orjson.dumps({**body, "messages": [*turns, *_HELLO]})


def _large_inputs(rng: random.Random, size: int) -> Made:
    """One call of a history whose input is all of the body, with some letters beyond U+FFFF."""
    given = {f"row {i}": [_words(rng, 150), i, {"a": None}] for i in range(size // 200)}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": given}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    messages = [*_HELLO, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": messages})


def _rpc_batch(rng: random.Random, size: int) -> Made:
    def message(number: int) -> object:
        return rng.choice((
            lambda: {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {"cursor": _words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"reason": _words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "id": f"{number}", "result": {"a": _words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {
                "protocolVersion": "2025-03-26", "clientInfo": {"name": "a", "version": _words(rng, 400)},
                "capabilities": {f"c{i}": {} for i in range(30)}}},
            lambda: {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
                "name": "websearch-extract", "arguments": {"urls": ["https://a.example/" + "b" * 900]},
                "_meta": {"progressToken": _words(rng, 300)}}},
            lambda: [number],
        ))()  # fmt: skip

    return MCP, orjson.dumps([message(number) for number in range(max(1, size // 1_200))])


def _call_of(arguments: Callable[[random.Random, int], Json]) -> Callable[[random.Random, int], Made]:
    def make(rng: random.Random, size: int) -> Made:
        params = {"name": "websearch-search", "arguments": arguments(rng, size)}
        return MCP, orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    return make


def _long_names(rng: random.Random, size: int) -> Made:
    names = {f"{number} {_words(rng, 9_000)}": "v" for number in range(size // 9_000)}
    return _chat(metadata_of_mine=names)


def _long_fields(rng: random.Random, size: int) -> Made:
    """Texts without end where a word is expected."""
    text = _words(rng, size // 8)
    return CHAT, orjson.dumps({
        "model": rng.choice(("SvcLLM", text)), "messages": [{"role": "user", "name": text, "content": text}],
        "user": text, "stop": [text], "seed": 1, "tool_choice": {"type": "function", "function": {"name": text}},
        "metadata": {text: text},
    })  # fmt: skip


def _bias(rng: random.Random, size: int) -> Made:
    return _chat(
        logit_bias={str(rng.randrange(200_000)): -100 for _ in range(size // 14)}, extra="word " * (size // 10)
    )


def _texts_to_embed(rng: random.Random, size: int) -> Made:
    inputs = [_words(rng, size // 2000) for _ in range(2000)]
    return EMBEDDINGS, orjson.dumps({"model": "vectors", "input": inputs, "encoding_format": "base64"})


def _brackets_in_text(rng: random.Random, size: int) -> Made:
    return _user("".join(rng.choice('[]{},:"\\ \n\t') for _ in range(2_000)) * (size // 2_600))


def _spaces(rng: random.Random, size: int) -> Made:
    return CHAT, b" \n\t\r" * (size // 8) + _user("hi")[1] + b"\n" * (size // 2)


ODD: Mapping[str, Callable[[random.Random, int], Made]] = {
    "hundreds of tools": _tools,
    "schemas of alternatives": _alternatives,
    "broken images": _broken_images,
    "screenshots of results": _images_of_results,
    "data URLs of text": _text_urls,
    "arguments of JSON in JSON": _json_in_json(1),
    "arguments of JSON in JSON in JSON": _json_in_json(4),
    "arguments that were cut": _cut_arguments,
    "letters of all kinds, escaped": _mixed_letters,
    "lone surrogates": _lone_surrogates,
    "numbers of 10,000 digits": _long_numbers,
    "fractions of 10,000 digits": _exact_numbers,
    "numbers of any size": _wide_numbers,
    "fields again and again": _twice,
    "a byte order mark": _mark,
    "UTF-16": _two_byte_letters,
    "parts of some words": _parts(60),
    "parts of a sentence": _parts(200),
    "items of all types": _items,
    "blocks of all types": _blocks,
    "one large input": _large_inputs,
    "a batch of all messages": _rpc_batch,
    "a query without end": _call_of(lambda rng, size: {"query": _words(rng, size)}),
    "arguments of long names": _call_of(lambda rng, size: {_words(rng, size // 2): _words(rng, size // 3)}),
    "names without end": _long_names,
    "words without end": _long_fields,
    "biases": _bias,
    "wide texts to embed": _texts_to_embed,
    "brackets in a text": _brackets_in_text,
    "nothing but space": _spaces,
}  # fmt: skip
"""What makes a body of each kind, by name: of a random source and a size in bytes."""
