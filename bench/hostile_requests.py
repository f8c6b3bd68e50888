# ruff: noqa: E501 - a row for each kind
"""Hostile requests of any size, second collection: `python -m bench.hostile_requests [--mb N] [--only NAME …]`.

`REQUESTS` has for each a path and a maker of a body of about N bytes.

They were written without a look at the limits of the gateway: tool schemas of many values and of references to
themselves, schemas of answers, addresses of images of every scheme, histories and messages of many parts, and
JSON-RPC with odd ids, names, keys and batches.
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tests.support.loop_block import MeasuredGateway

Make = Callable[[int], bytes]
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
EMBEDDINGS, MCP = "/v1/embeddings", "/tools/websearch/mcp"
_MODEL = {"model": "SvcLLM"}
_USER = [{"role": "user", "content": "hello"}]


def _times(unit: object, size: int) -> int:
    return max(1, size // (len(orjson.dumps(unit)) + 1))


def _chat(fill: Callable[[int], dict[str, Any]], size: int) -> bytes:
    return orjson.dumps({**_MODEL, "messages": _USER} | fill(size))


def _many(unit: Any, wrap: Callable[[list[Any]], dict[str, Any]], size: int) -> bytes:
    """`wrap` of a list of the unit; `#` in its text becomes a new number each time."""
    raw = orjson.dumps(unit)
    units = b",".join(raw.replace(b"#", b"%d" % number) for number in range(_times(unit, size)))
    whole = orjson.dumps({**_MODEL, **wrap(["@@"])})
    return whole.replace(b'"@@"', units)


def _tool(schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}


def _nested(opening: bytes, closing: bytes, before: bytes, behind: bytes, size: int) -> bytes:
    depth = size // (len(opening) + len(closing))
    return before + opening * depth + b"1" + closing * depth + behind


def _in_schema(raw: str, size: int) -> bytes:
    """A tool whose schema has a member of `raw` said often enough; `#` counts."""
    count = max(1, size // (len(raw) + 5))
    inside = ",".join(raw.replace("#", str(number)) for number in range(count))
    return b'{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":%s}}]}' % inside.join(("{", "}")).encode()  # fmt: skip


def _said(raw: str, before: str, behind: str, size: int) -> bytes:
    return (before + raw * max(1, size // len(raw)) + behind).encode("utf-8", "surrogatepass")


_REFS = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}, {"type": "string"}]}}}
_HEAD = '{"model":"SvcLLM","messages":[{"role":"user","content":"hi"}],'
_CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"websearch-search","arguments":{"query":"a"'


def _messages(unit: dict[str, Any]) -> Make:
    return partial(_many, unit, lambda units: {"messages": units})


def _parts(unit: dict[str, Any]) -> Make:
    return partial(_many, unit, lambda units: {"messages": [{"role": "user", "content": units}]})


def _items(unit: dict[str, Any]) -> Make:
    return partial(_many, unit, lambda units: {"input": units})


def _blocks(unit: dict[str, Any], role: str = "user") -> Make:
    return partial(_many, unit, lambda units: {"max_tokens": 9, "messages": [*_USER, {"role": role, "content": units}]})


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _call(number: str) -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": "f", "arguments": "{}"}}


REQUESTS: dict[str, tuple[str, Make]] = {
    "enum of many": (CHAT, partial(_many, "value #", lambda v: {"messages": _USER, "tools": [_tool({"type": "object", "properties": {"a": {"enum": v}}})]})),
    "many tools": (CHAT, partial(_many, {"type": "function", "function": {"name": "f#", "parameters": _REFS}}, lambda v: {"messages": _USER, "tools": v})),
    "properties": (CHAT, partial(_in_schema, '"p#":{"type":"string","description":"mail a#@posthaus.org"}')),
    "references": (CHAT, partial(_in_schema, '"p#":{"$ref":"#/$defs/p#"}')),
    "patterns": (CHAT, partial(_in_schema, '"patternProperties#":{"^(a+)+$":{"pattern":"(a|a)*b"}}')),
    "schema in schema": (CHAT, lambda size: _nested(b'{"items":', b"}", _HEAD.encode() + b'"tools":[{"type":"function","function":{"name":"f","parameters":', b"}}]}", min(size, 900))),
    "answer schema": (CHAT, partial(_many, {"const": "c#"}, lambda v: {"messages": _USER, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"anyOf": v}}}})),
    "answer schema text": (RESPONSES, partial(_many, {"const": "c#"}, lambda v: {"input": "a", "text": {"format": {"type": "json_schema", "name": "n", "schema": {"anyOf": v}}}})),
    "tool choice": (CHAT, partial(_many, {"type": "function", "function": {"name": "f#"}}, lambda v: {"messages": _USER, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": v}}})),
    "10,000 messages": (CHAT, _messages({"role": "user", "content": "hello #"})),
    "empty messages": (CHAT, _messages({"role": "user", "content": ""})),
    "system messages": (CHAT, _messages({"role": "system", "content": "s#", "name": "n"})),
    "tool results without calls": (CHAT, _messages({"role": "tool", "tool_call_id": "c#", "content": "r"})),
    "calls without results": (CHAT, _messages({"role": "assistant", "content": None, "tool_calls": [_call("c#")]})),
    "one call of many": (CHAT, partial(_many, _call("c#"), lambda v: {"messages": [*_USER, {"role": "assistant", "content": None, "tool_calls": v}]})),
    "calls alike": (CHAT, partial(_many, _call("c"), lambda v: {"messages": [*_USER, {"role": "assistant", "content": None, "tool_calls": v}]})),
    "parts": (CHAT, _parts({"type": "text", "text": "part # "})),
    "empty parts": (CHAT, _parts({"type": "text", "text": ""})),
    "unknown parts": (CHAT, _parts({"type": "x#", "y": {"z": ["mail a#@posthaus.org"]}})),
    "a value over parts": (CHAT, _parts({"type": "text", "text": "4"})),
    "images of http": (CHAT, _parts(_image("http://127.0.0.1:#/a.png"))),
    "images of file": (CHAT, _parts(_image("file:///etc/passwd?#"))),
    "images of ftp": (CHAT, _parts(_image("ftp://127.0.0.1/#"))),
    "images of gopher": (CHAT, _parts(_image("gopher://127.0.0.1:6379/_#"))),
    "images of data": (CHAT, _parts(_image("data:image/png;base64,iVBORw0KGgo#"))),
    "images of text": (CHAT, _parts(_image("data:text/plain,mail%20a#@posthaus.org"))),
    "images of blob": (CHAT, _parts(_image("blob:https://example.org/#"))),
    "images of javascript": (CHAT, _parts(_image("javascript:alert(#)"))),
    "one long data url": (CHAT, lambda size: orjson.dumps({**_MODEL, "messages": [{"role": "user", "content": [_image("data:image/png;base64," + "A" * size)]}]})),
    "data url of percent": (CHAT, lambda size: orjson.dumps({**_MODEL, "messages": [{"role": "user", "content": [_image("data:text/plain," + "%41%25" * (size // 6))]}]})),
    "files": (CHAT, _parts({"type": "file", "file": {"filename": "a#.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}})),
    "audio": (CHAT, _parts({"type": "input_audio", "input_audio": {"data": "AAAA#", "format": "wav"}})),
    "stops": (CHAT, partial(_many, "stop #", lambda v: {"messages": _USER, "stop": v})),
    "biases": (CHAT, partial(_said, '"1":1,', _HEAD + '"logit_bias":{', '"2":2}}')),
    "metadata": (CHAT, lambda size: (_HEAD + '"metadata":{' + ",".join(f'"k{n}":"v{n}"' for n in range(size // 17)) + "}}").encode()),
    "keys alike": (CHAT, partial(_said, '"messages":[],', _HEAD, '"n":1}')),
    "keys of unicode": (CHAT, lambda size: (_HEAD + ",".join(f'"\\ud83d\\ude00\u202e{n}":"\u0000"' for n in range(size // 28)).replace("\0", "\\u0000") + "}").encode()),
    "long key": (CHAT, partial(_said, "k", _HEAD + '"', '":1}')),
    "long number": (CHAT, partial(_said, "9", _HEAD + '"seed":', "}")),
    "long fraction": (CHAT, partial(_said, "9", _HEAD + '"temperature":0.', "}")),
    "long exponent": (CHAT, partial(_said, "9", _HEAD + '"top_p":1e', "}")),
    "blanks": (CHAT, partial(_said, " \n\t", _HEAD, '"n":1}')),
    "escapes": (CHAT, partial(_said, "\\u0041\\/\\n", '{"model":"SvcLLM","messages":[{"role":"user","content":"', '"}]}')),
    "half surrogates": (CHAT, partial(_said, "\\ud800", '{"model":"SvcLLM","messages":[{"role":"user","content":"', '"}]}')),
    "raw surrogates": (CHAT, partial(_said, "\ud800", '{"model":"SvcLLM","messages":[{"role":"user","content":"', '"}]}')),
    "long model": (CHAT, partial(_said, "m", '{"model":"', '","messages":[{"role":"user","content":"hi"}]}')),
    "model of breaks": (CHAT, partial(_said, "\\r\\nX: y", '{"model":"', '","messages":[{"role":"user","content":"hi"}]}')),
    "long role": (CHAT, partial(_said, "r", '{"model":"SvcLLM","messages":[{"role":"', '","content":"hi"}]}')),
    "nested arrays": (CHAT, lambda size: _nested(b"[", b"]", _HEAD.encode() + b'"x":', b"}", size)),
    "items": (RESPONSES, _items({"role": "user", "content": "hello #"})),
    "outputs without calls": (RESPONSES, _items({"type": "function_call_output", "call_id": "c#", "output": "o"})),
    "calls of items": (RESPONSES, _items({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"})),
    "reasoning items": (RESPONSES, _items({"type": "reasoning", "id": "rs_#", "summary": [], "encrypted_content": "AAAA"})),
    "references of items": (RESPONSES, _items({"type": "item_reference", "id": "msg_#"})),
    "image items": (RESPONSES, _items({"role": "user", "content": [{"type": "input_image", "image_url": "http://127.0.0.1/#"}]})),
    "file items": (RESPONSES, _items({"role": "user", "content": [{"type": "input_file", "file_url": "http://127.0.0.1/#"}]})),
    "patches": (RESPONSES, _items({"type": "apply_patch_call", "call_id": "c#", "status": "completed", "operation": {"type": "update_file", "path": "a", "diff": "@@\n-a\n+b\n"}})),
    "hosted tools": (RESPONSES, partial(_many, {"type": "web_search", "filters": {"allowed_domains": ["a#.example"]}}, lambda v: {"input": "a", "tools": v})),
    "domains of a tool": (RESPONSES, partial(_many, "a#.example", lambda v: {"input": "a", "tools": [{"type": "web_search", "filters": {"allowed_domains": v}}]})),
    "remote mcp tools": (RESPONSES, partial(_many, {"type": "mcp", "server_label": "s#", "server_url": "http://127.0.0.1/#"}, lambda v: {"input": "a", "tools": v})),
    "system blocks": (MESSAGES, partial(_many, {"type": "text", "text": "s#"}, lambda v: {"max_tokens": 9, "messages": _USER, "system": v})),
    "text blocks": (MESSAGES, _blocks({"type": "text", "text": "b#", "cache_control": {"type": "ephemeral"}})),
    "tool results": (MESSAGES, _blocks({"type": "tool_result", "tool_use_id": "t#", "content": [{"type": "text", "text": "r"}]})),
    "tool uses": (MESSAGES, _blocks({"type": "tool_use", "id": "t#", "name": "f", "input": {"a": "#"}}, "assistant")),
    "thinking": (MESSAGES, _blocks({"type": "thinking", "thinking": "t#", "signature": "AAAA"}, "assistant")),
    "redacted thinking": (MESSAGES, _blocks({"type": "redacted_thinking", "data": "AAAA#"}, "assistant")),
    "image blocks": (MESSAGES, _blocks({"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/#"}})),
    "documents": (MESSAGES, _blocks({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d#"}, "title": "t", "citations": {"enabled": True}})),
    "search results": (MESSAGES, _blocks({"type": "search_result", "source": "http://a#", "title": "t", "content": [{"type": "text", "text": "r"}]})),
    "server tools": (MESSAGES, partial(_many, {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, lambda v: {"max_tokens": 9, "messages": _USER, "tools": v})),
    "turns": (MESSAGES, partial(_many, {"role": "assistant", "content": "a#"}, lambda v: {"max_tokens": 9, "messages": [*_USER, *v]})),
    "stop sequences": (MESSAGES, partial(_many, "s#", lambda v: {"max_tokens": 9, "messages": _USER, "stop_sequences": v})),
    "texts to embed": (EMBEDDINGS, partial(_many, "text # ", lambda v: {"model": "vectors", "input": v})),
    "one text to embed": (EMBEDDINGS, lambda size: orjson.dumps({"model": "vectors", "input": "a b " * (size // 4)})),
    "tokens to embed": (EMBEDDINGS, partial(_said, "1,", '{"model":"vectors","input":[', "2]}")),
    "lists to embed": (EMBEDDINGS, partial(_said, "[1],", '{"model":"vectors","input":[', "[2]]}")),
    "ids of rpc": (MCP, partial(_said, "9", '{"jsonrpc":"2.0","id":', ',"method":"tools/list"}')),
    "id of text": (MCP, partial(_said, "i", '{"jsonrpc":"2.0","id":"', '","method":"tools/list"}')),
    "id of an object": (MCP, partial(_said, '{"a":1},', '{"jsonrpc":"2.0","id":[', '1],"method":"tools/list"}')),
    "long method": (MCP, partial(_said, "m/", '{"jsonrpc":"2.0","id":1,"method":"', '"}')),
    "batch of lists": (MCP, partial(_said, '{"jsonrpc":"2.0","id":1,"method":"tools/list"},', "[", '{"jsonrpc":"2.0","id":2,"method":"ping"}]')),
    "batch of notes": (MCP, partial(_said, '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},', "[", '{"jsonrpc":"2.0","id":2,"method":"ping"}]')),
    "batch of answers": (MCP, partial(_said, '{"jsonrpc":"2.0","id":1,"result":{}},', "[", '{"jsonrpc":"2.0","id":2,"method":"ping"}]')),
    "batch of nothing": (MCP, partial(_said, "[],", "[", "[]]")),
    "batch in batch": (MCP, lambda size: _nested(b"[", b"]", b"", b"", size)),
    "progress token": (MCP, partial(_said, "t", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":"', '"}}}')),
    "meta keys": (MCP, lambda size: ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{' + ",".join(f'"io.x/k{n}":{n}' for n in range(size // 18)) + "}}}").encode()),
    "cursor": (MCP, partial(_said, "c", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"', '"}}')),
    "tool name": (MCP, partial(_said, "n", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"', '","arguments":{}}}')),
    "arguments alike": (MCP, partial(_said, ',"query":"b"', _CALL, "}}}")),
    "argument keys": (MCP, lambda size: (_CALL + "".join(f',"\u00e9{n}":1' for n in range(size // 12)) + "}}}").encode()),
    "query": (MCP, partial(_said, '\\" OR (', _CALL[:-2], '"}}}')),
    "domains to leave out": (MCP, partial(_said, '"a.example",', _CALL + ',"exclude_domains":[', '"b"]}}}')),
    "urls to extract": (MCP, partial(_said, '"http://a.example/",', _CALL.replace("search-search", "search-extract").replace("search\",\"arguments\":{\"query\":\"a\"", "extract\",\"arguments\":{\"x\":1") + ',"urls":[', '"b"]}}}')),
    "argument as text of JSON": (MCP, partial(_said, '[\\"a\\",', _CALL + ',"include_domains":"', '"}}}')),
    "client capabilities": (MCP, partial(_said, '{"a":', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"},"capabilities":{"experimental":', "}}}")),
}  # fmt: skip
"""By what is odd about it."""


def main() -> None:
    """Send each to a real gateway, and print what it cost."""
    parser = argparse.ArgumentParser(description="hostile requests: status, longest block of the loop, memory")
    parser.add_argument("--mb", type=float, default=1.0, help="size of a body")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder)) as gateway:
        for name, (path, make) in REQUESTS.items():
            if options.only and not any(part in name for part in options.only):
                continue
            body = make(int(options.mb * 1e6))
            cost = gateway.send(path, body)
            times = cost.memory_bytes / len(body)
            print(
                f"{cost.status} {cost.block_s * 1000:6.1f} ms {times:5.1f} x  {len(body) / 1e6:.2f} MB {name}",
                flush=True,
            )


if __name__ == "__main__":
    main()
