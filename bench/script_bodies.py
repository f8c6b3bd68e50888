"""Seeded generators of request bodies of letters of all scripts and of all ways to write them, in few texts and in
many, on their own and beside images and numbers. Part of `bench.hostile_bodies`.

Python takes one, two or four bytes for each character of a string, as its widest one needs: so one emoji in a text of
ASCII makes four bytes of each. Most kinds here have such texts where the gateway joins, copies or decodes them again.
"""

import base64
import random
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from bench.dense_bodies import CHAT, EMBEDDINGS, MCP, MESSAGES, RESPONSES, Made

Json = dict[str, Any]
Maker = Callable[[random.Random, int], Made]
_HELLO: list[Json] = [{"role": "user", "content": "hi"}]
_ROW = 1_900
"""Messages and items in a row: about as many as there may be."""
_SCRIPTS = {
    "Chinese": (0x4E00, 0x9FA5),
    "Arabic": (0x0621, 0x064A),
    "Korean": (0xAC00, 0xD7A3),
    "emoji": (0x1F600, 0x1F64F),
    "mathematical letters": (0x1D400, 0x1D454),
    "full-width letters": (0xFF21, 0xFF5A),
    "combining marks": (0x0300, 0x036F),
    "zero-width characters": (0x200B, 0x200F),
}


def _ascii(rng: random.Random, size: int) -> str:
    """A text of `size` ASCII characters, words of a line that comes again with a number."""
    line = " ".join("".join(rng.choices("abcdefghijklmnop", k=rng.randrange(2, 9))) for _ in range(200))
    count = size // len(line) + 1
    return "".join(f"{number} {line}\n" for number in range(count))[:size]


def _wide(rng: random.Random, size: int) -> str:
    """An ASCII text with one emoji: four bytes a character in Python."""
    return _ascii(rng, max(1, size - 4)) + "\U0001f600"


def _chat(messages: list[Json], **more: object) -> Made:
    return CHAT, orjson.dumps({"model": "SvcLLM", "messages": messages, **more})


def _user(content: object) -> Made:
    return _chat([{"role": "user", "content": content}])


def _responses(items: object, **more: object) -> Made:
    return RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items, **more})


def _messages(messages: list[Json], **more: object) -> Made:
    return MESSAGES, orjson.dumps({"model": "SvcLLM", "max_tokens": 9, "messages": messages, **more})


def _raw(content: bytes) -> Made:
    return CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"%b"}]}' % content


def _script(first: int, last: int) -> Maker:
    """One text of letters of a script, with a space now and then."""

    def make(rng: random.Random, size: int) -> Made:
        letters = [chr(rng.randint(first, last)) if rng.randrange(8) else " " for _ in range(4_000)]
        run = "".join(letters)
        return _user(run * (size // len(run.encode())))

    return make


def _escaped(first: int, last: int, spared: float = 0.0) -> Maker:
    """One text of escapes, a pair of them for a letter beyond U+FFFF; the share `spared` is written as it is."""

    def make(rng: random.Random, size: int) -> Made:
        def written(letter: str) -> bytes:
            units = letter.encode("utf-16-be")
            codes = [f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)]
            return letter.encode() if rng.random() < spared else "".join(codes).encode()

        run = b"".join(written(chr(rng.randint(first, last))) for _ in range(2_000))
        return _raw(run * (size // len(run)))

    return make


def _one_pair(rng: random.Random, size: int) -> Made:
    """ASCII and, at its end, one emoji as a pair of escapes."""
    return _raw(_ascii(rng, size).replace("\n", " ").encode() + b"\\ud83d\\ude00")


def _values_beside_an_emoji(rng: random.Random, size: int) -> Made:
    """A value to be masked in every line of a text with an emoji."""
    lines = [f"write to {rng.getrandbits(40):x}@posthaus.com, she knows more about it" for _ in range(1_000)]
    text = "\n".join(lines)
    return _user(text * (size // len(text)) + "\U0001f600")


def _row_of(role: str, path: str) -> Maker:
    """Messages of one role with an emoji each, which become one message elsewhere."""

    def make(rng: random.Random, size: int) -> Made:
        row = [{"role": role, "content": _wide(rng, max(8, size // _ROW - 35))} for _ in range(_ROW)]
        return _responses([*_HELLO, *row]) if path == RESPONSES else _messages([*_HELLO, *row])

    return make


def _parts_of(role: str, path: str) -> Maker:
    """One message of text parts with an emoji each, which become one text elsewhere."""

    def make(rng: random.Random, size: int) -> Made:
        kind = "text" if path == MESSAGES else "output_text" if role == "assistant" else "input_text"
        parts = [{"type": kind, "text": _wide(rng, max(8, size // _ROW - 35))} for _ in range(_ROW)]
        message = {"role": role, "content": parts}
        if path == MESSAGES:
            return _messages([*_HELLO, message])
        return _responses([*_HELLO, {"type": "message", **message}])

    return make


def _system_blocks(rng: random.Random, size: int) -> Made:
    blocks = [{"type": "text", "text": _wide(rng, max(8, size // _ROW - 35))} for _ in range(_ROW)]
    return _messages(_HELLO, system=blocks)


def _instruction_items(rng: random.Random, size: int) -> Made:
    items = [{"role": "developer", "content": _wide(rng, max(8, size // _ROW - 35))} for _ in range(_ROW)]
    return _responses("hi", instructions=items)


def _outputs(rng: random.Random, size: int) -> Made:
    """Results of calls in parts, one of which has an emoji."""
    count = 300
    calls = [{"type": "function_call", "call_id": f"c{i}", "name": "f", "arguments": "{}"} for i in range(count)]
    parts = [{"type": "input_text", "text": _ascii(rng, size // count // 6)} for _ in range(5)]
    last = {"type": "input_text", "text": _wide(rng, max(8, size // count // 6 - 40))}
    outputs = [{"type": "function_call_output", "call_id": f"c{i}", "output": [*parts, last]} for i in range(count)]
    return _responses([*_HELLO, *calls, *outputs])


def _searched_row(rng: random.Random, size: int) -> Made:
    """Answers in a row of a caller who wants web searches: the gateway's own loop asks the model."""
    row = [{"role": "assistant", "content": _wide(rng, max(8, size // 190 - 35))} for _ in range(190)]
    return _responses([*_HELLO, *row, *_HELLO], tools=[{"type": "web_search"}])


def _wide_arguments(rng: random.Random, size: int) -> Made:
    """Calls whose arguments are JSON with an emoji."""
    arguments = orjson.dumps({f"k{i}": _wide(rng, size // 128 // 22) for i in range(20)}).decode()
    calls = [{"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": arguments}} for i in range(128)]
    results = [{"role": "tool", "tool_call_id": f"c{i}", "content": "ok"} for i in range(128)]
    return _chat([*_HELLO, {"role": "assistant", "content": None, "tool_calls": calls}, *results])


def _wide_names(rng: random.Random, size: int) -> Made:
    """Names of a thousand letters, each with an emoji."""
    return _chat(_HELLO, extra={f"{number} {_wide(rng, 1_000)}": number for number in range(size // 1_020)})


def _long_name(rng: random.Random, size: int) -> Made:
    return _chat(_HELLO, extra={_wide(rng, size): 1})


def _same_long_name(rng: random.Random, size: int) -> Made:
    """One member again and again, each time with another long text: the last one stays."""
    members = b",".join(b'"twice":%b' % orjson.dumps(_wide(rng, 20_000)) for _ in range(size // 20_010 + 1))
    return CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],"extra":{%b}}' % members


def _long_numbers(digits: int) -> Maker:
    """Fractions of so many digits."""

    def make(rng: random.Random, size: int) -> Made:
        run = b",".join(b"0." + b"".join(b"%d" % rng.randrange(10) for _ in range(digits)) for _ in range(20))
        numbers = b",".join([run] * (size // len(run)))
        return CHAT, b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],"extra":[%b]}' % numbers

    return make


def _images_and_texts(rng: random.Random, size: int) -> Made:
    """An image, a text with an emoji, and so on."""
    one = size // 16
    parts: list[Json] = []
    for _ in range(8):
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.randbytes(one * 3 // 4)).decode()
        parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})
        parts.append({"type": "text", "text": _wide(rng, one)})
    return _user(parts)


def _log_probabilities(rng: random.Random, size: int) -> Made:
    """An answer of a model as it came, put back into the history with its log probabilities."""
    token = {"token": " a", "bytes": [32, 97], "logprob": -0.5}
    place = {**token, "top_logprobs": [{**token, "logprob": -rng.random()} for _ in range(5)]}
    places = [place] * (size // len(orjson.dumps(place)))
    return _chat([*_HELLO, {"role": "assistant", "content": "a", "logprobs": {"content": places}}, *_HELLO])


def _deep_tool(rng: random.Random, size: int) -> Made:
    """Tools whose parameters are nested to the limit, with a description on each level."""
    schema: Json = {"type": "string"}
    for level in range(40):
        schema = {"type": "object", "description": _ascii(rng, 40), "properties": {f"level {level}": schema}}
    one = len(orjson.dumps(schema)) + 100
    count = max(1, min(512, size // (one + 3_000)))
    text = _wide(rng, max(8, size // count - one))
    tools = [
        {"type": "function", "function": {"name": f"f{i}", "description": text, "parameters": schema}}
        for i in range(count)
    ]
    return _chat(_HELLO, tools=tools)


def _tiny_parts(rng: random.Random, size: int) -> Made:
    """Input items of many parts of one letter."""
    parts = [{"type": "input_text", "text": rng.choice("abc😀")} for _ in range(60)]
    one = len(orjson.dumps(parts)) + 60
    items = [{"type": "message", "role": "user", "content": parts} for _ in range(max(1, min(_ROW, size // one)))]
    return _responses(items)


def _search_results(rng: random.Random, size: int) -> Made:
    """Blocks of search results with an emoji each, which become texts."""
    blocks = [
        {"type": "search_result", "source": f"https://a.example/{i}", "title": _wide(rng, 60),
         "content": [{"type": "text", "text": _wide(rng, max(8, size // 200 - 200))}]} for i in range(200)
    ]  # fmt: skip
    return _messages([{"role": "user", "content": blocks}])


def _wide_texts_to_embed(rng: random.Random, size: int) -> Made:
    texts = [_wide(rng, max(8, size // 60 - 10)) for _ in range(60)]
    return EMBEDDINGS, orjson.dumps({"model": "vectors", "input": texts})


def _markup(rng: random.Random, size: int) -> Made:
    """Character references and percent signs with an emoji: what a sanitizer may want to decode."""
    run = "".join(f"&#{rng.randrange(33, 900)};&amp;%{rng.randrange(20, 99)}" for _ in range(500))
    return _user(run * (size // len(run)) + "\U0001f600")


def _encoded_lines(rng: random.Random, size: int) -> Made:
    """Lines of base64 of texts, each of which may hide a value, and an emoji."""
    lines = [base64.b64encode(f"mail {rng.getrandbits(50):x}@posthaus.com".encode()).decode() for _ in range(400)]
    text = "\n".join(lines)
    return _user(text * (size // len(text)) + "\U0001f600")


def _wide_query(rng: random.Random, size: int) -> Made:
    """A call of a web tool with unknown arguments: long texts with an emoji."""
    arguments = {"query": "weather", **{f"more {i}": _wide(rng, size // 41) for i in range(40)}}
    params = {"name": "websearch-search", "arguments": arguments}
    return MCP, orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


SCRIPTS: Mapping[str, Maker] = {
    **{name: _script(*ends) for name, ends in _SCRIPTS.items()},
    "ASCII, escaped": _escaped(0x41, 0x5A),
    "Chinese, escaped": _escaped(0x4E00, 0x9FA5),
    "Chinese, half of it escaped": _escaped(0x4E00, 0x9FA5, 0.5),
    "emoji, half of them escaped": _escaped(0x1F600, 0x1F64F, 0.5),
    "one escaped pair": _one_pair,
    "values to mask beside an emoji": _values_beside_an_emoji,
    "answers with an emoji each": _row_of("assistant", RESPONSES),
    "system messages with an emoji each": _row_of("system", RESPONSES),
    "users' messages with an emoji each": _row_of("user", MESSAGES),
    "answers with an emoji each to messages": _row_of("assistant", MESSAGES),
    "parts of an answer with an emoji each": _parts_of("assistant", RESPONSES),
    "parts of a question with an emoji each": _parts_of("user", RESPONSES),
    "blocks of an answer with an emoji each": _parts_of("assistant", MESSAGES),
    "blocks of a question with an emoji each": _parts_of("user", MESSAGES),
    "system blocks with an emoji each": _system_blocks,
    "instructions with an emoji each": _instruction_items,
    "outputs in parts with an emoji": _outputs,
    "answers of which one is searched for": _searched_row,
    "arguments with an emoji each": _wide_arguments,
    "names with an emoji each": _wide_names,
    "one name of the whole size": _long_name,
    "one name with many long texts": _same_long_name,
    "fractions of 400 digits": _long_numbers(400),
    "images and texts in turn": _images_and_texts,
    "log probabilities of a history": _log_probabilities,
    "tools nested to the limit": _deep_tool,
    "input items of tiny parts": _tiny_parts,
    "search results with an emoji each": _search_results,
    "texts to embed with an emoji each": _wide_texts_to_embed,
    "character references and an emoji": _markup,
    "encoded lines and an emoji": _encoded_lines,
    "a search with wide arguments": _wide_query,
}
"""What makes a body of each kind, by name: of a random source and a size in bytes."""
