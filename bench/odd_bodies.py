"""Seeded generators of request bodies that a tester of limits would think of: broken files, numbers and names without
end, marks and encodings, fields said again. Part of `bench.hostile_bodies`.
"""

import base64
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from bench.dense_bodies import CHAT, EMBEDDINGS, MCP, Made

Json = dict[str, Any]
_HELLO = [{"role": "user", "content": "hi"}]
_LETTERS = "abcdefghij klmno pqrst uvwxyz, äöü жук 中文 😀👩‍👩‍👧 e\u0301 \u202eabc\u202c \u200b"


def words(rng: random.Random, size: int) -> str:
    """A text of about `size` bytes of letters of all kinds."""
    return "".join(rng.choices(_LETTERS, k=max(1, size * 2 // 3)))


def _chat(**more: object) -> Made:
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": _HELLO, **more})


def _user(content: object) -> Made:
    return _chat(messages=[{"role": "user", "content": content}])


def _raw_chat(field: bytes) -> Made:
    return CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],%b}' % field


def _broken_images(rng: random.Random, size: int) -> Made:
    """Data URLs that are no base64, cut off, wrapped, of no type, or of text."""

    def url(part: int) -> str:
        raw = rng.choice((
            lambda: rng.randbytes(part * 3 // 4), lambda: b"\x89PNG\r\n\x1a\n" + bytes(part * 3 // 4),
            lambda: words(rng, part * 3 // 4).encode(),
        ))()  # fmt: skip
        data = base64.b64encode(raw).decode()
        data = rng.choice((data, data[:-1], data + "==", data.replace("A", "*"), "\n".join((data[:76], data[76:]))))
        return f"data:{rng.choice(('image/png', 'image/jpeg', 'image/svg+xml', 'text/plain', ''))};base64,{data}"

    parts = [{"type": "image_url", "image_url": {"url": url(size // 8)}} for _ in range(8)]
    return _user(parts)


def _text_urls(rng: random.Random, size: int) -> Made:
    data = base64.b64encode(words(rng, size * 3 // 8).encode()).decode()
    file = {"type": "file", "file": {"filename": "a.txt", "file_data": f"data:text/plain;base64,{data}"}}
    image = {"type": "image_url", "image_url": {"url": f"data:text/html,{words(rng, size // 2)}"}}
    return _user([file, image])


def _mixed_letters(rng: random.Random, size: int) -> Made:
    return CHAT, json.dumps(
        {"model": "SvcLLM", "messages": [{"role": "user", "content": words(rng, size // 6)} for _ in range(4)]}
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
    texts = [orjson.dumps([{"role": "user", "content": words(rng, size // 9)}]) for _ in range(8)]
    return CHAT, b'{"model":"SvcLLM",%b}' % b",".join(b'"messages":%b' % text for text in texts)


def _mark(rng: random.Random, size: int) -> Made:
    return CHAT, b"\xef\xbb\xbf" + _user(words(rng, size))[1]


def _two_byte_letters(rng: random.Random, size: int) -> Made:
    return CHAT, _user(words(rng, size // 2))[1].decode().encode("utf-16")


def _rpc_batch(rng: random.Random, size: int) -> Made:
    def message(number: int) -> object:
        return rng.choice((
            lambda: {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {"cursor": words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"reason": words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "id": f"{number}", "result": {"a": words(rng, 900)}},
            lambda: {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {
                "protocolVersion": "2025-03-26", "clientInfo": {"name": "a", "version": words(rng, 400)},
                "capabilities": {f"c{i}": {} for i in range(30)}}},
            lambda: {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
                "name": "websearch-extract", "arguments": {"urls": ["https://a.example/" + "b" * 900]},
                "_meta": {"progressToken": words(rng, 300)}}},
            lambda: [number],
        ))()  # fmt: skip

    return MCP, orjson.dumps([message(number) for number in range(max(1, size // 1_200))])


def _call_of(arguments: Callable[[random.Random, int], Json]) -> Callable[[random.Random, int], Made]:
    def make(rng: random.Random, size: int) -> Made:
        params = {"name": "websearch-search", "arguments": arguments(rng, size)}
        return MCP, orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    return make


def _long_names(rng: random.Random, size: int) -> Made:
    names = {f"{number} {words(rng, 9_000)}": "v" for number in range(size // 9_000)}
    return _chat(metadata_of_mine=names)


def _long_fields(rng: random.Random, size: int) -> Made:
    """Texts without end where a word is expected."""
    text = words(rng, size // 8)
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
    inputs = [words(rng, size // 2000) for _ in range(2000)]
    return EMBEDDINGS, orjson.dumps({"model": "vectors", "input": inputs, "encoding_format": "base64"})


def _brackets_in_text(rng: random.Random, size: int) -> Made:
    return _user("".join(rng.choice('[]{},:"\\ \n\t') for _ in range(2_000)) * (size // 2_600))


def _spaces(rng: random.Random, size: int) -> Made:
    return CHAT, b" \n\t\r" * (size // 8) + _user("hi")[1] + b"\n" * (size // 2)


ODD: Mapping[str, Callable[[random.Random, int], Made]] = {
    "broken images": _broken_images,
    "data URLs of text": _text_urls,
    "letters of all kinds, escaped": _mixed_letters,
    "lone surrogates": _lone_surrogates,
    "numbers of 10,000 digits": _long_numbers,
    "fractions of 10,000 digits": _exact_numbers,
    "numbers of any size": _wide_numbers,
    "fields again and again": _twice,
    "a byte order mark": _mark,
    "UTF-16": _two_byte_letters,
    "a batch of all messages": _rpc_batch,
    "a query without end": _call_of(lambda rng, size: {"query": words(rng, size)}),
    "arguments of long names": _call_of(lambda rng, size: {words(rng, size // 2): words(rng, size // 3)}),
    "names without end": _long_names,
    "words without end": _long_fields,
    "biases": _bias,
    "wide texts to embed": _texts_to_embed,
    "brackets in a text": _brackets_in_text,
    "nothing but space": _spaces,
}  # fmt: skip
"""What makes a body of each kind, by name: of a random source and a size in bytes."""
