"""Bodies with every field that chat and responses bodies are known to have, and some that nobody has heard of.

`places` finds every string and property name in one, `with_value` puts a value there: so a test tries all of them.
"""

import copy
from collections.abc import Iterator
from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Order",
    "description": "An order of a shop",
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"], "default": "small", "examples": ["large"]},
        "kind": {"const": "fruit", "$comment": "only these"},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$", "format": "uuid"},
        "more": {"$ref": "#/$defs/more", "enum": [{"deep": "value"}]},
    },
    "required": ["size", "kind"],
    "$defs": {"more": {"type": "string", "description": "The rest"}},
}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)

CHAT_REQUEST: dict[str, Any] = {
    "model": "SvcLLM",
    "messages": [
        {"role": "system", "content": "Be brief", "name": "operator"},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind"}]},
        {
            "role": "user",
            "name": "alice",
            "content": [
                {"type": "text", "text": "What is it?", "cache_control": {"type": "ephemeral", "note": "keep"}},
                {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRiQAAABXQVZFZm10IBAAAAA=", "format": "wav"}},
                {"type": "file", "file": {"file_data": "data:text/plain;base64,aGVsbG8gdGhlcmU=", "filename": "a.txt"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"},
                 "title": "A title", "context": "About it", "citations": {"style": "long"}},
                {"type": "strange", "thing": {"deep": ["one", {"deeper": "two"}]}},
            ],
        },
        {
            "role": "assistant",
            "content": "Calling",
            "refusal": "no",
            "reasoning": "I think",
            "reasoning_content": "I think so",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "step", "signature": "c2lnbmF0dXJl", "id": "r1", "format": "x-v1"},
                {"type": "reasoning.encrypted", "data": "ZW5jcnlwdGVk", "id": "r2"},
            ],
            "thinking_blocks": [
                {"type": "thinking", "thinking": "hmm", "signature": "c2lnbmF0dXJl"},
                {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
            ],
            "annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.org/a", "title": "A"}}],
            "audio": {"id": "audio_1", "transcript": "Spoken", "data": "UklGRiQAAABXQVZFZm10IBAAAAA="},
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "buy", "arguments": '{"what": "apples"}'}},
                {"id": "call_2", "type": "function", "function": {"name": "sell", "arguments": {"to": ["x"], "a": {}}}},
                {"id": "call_3", "type": "custom", "custom": {"name": "run", "input": "print(1)"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "bought"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "sold"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": '{"a": "b"}'}},
        {"role": "function", "name": "old", "content": "old result"},
        {"role": "user", "content": "And then?"},
    ],
    "tools": [
        {"type": "function", "function": {
            "name": "buy", "description": "Buys things", "parameters": SCHEMA, "strict": False}},
        {"type": "custom", "custom": {
            "name": "run", "description": "Runs", "format": {
                "type": "grammar", "grammar": {"syntax": "lark", "definition": "start: WORD"}}}},
    ],
    "functions": [{"name": "old", "description": "An old one", "parameters": SCHEMA}],
    "tool_choice": {"type": "function", "function": {"name": "buy"}},
    "response_format": {
        "type": "json_schema", "json_schema": {"name": "order", "description": "One order", "schema": SCHEMA}},
    "stop": ["END", "STOP"],
    "metadata": {"customer": "c-17", "Team-Name": "blue"},
    "prediction": {"type": "content", "content": [{"type": "text", "text": "It is"}]},
    "chat_template_kwargs": {"preamble": "words", "thinking": True, "list": ["a", ["b"]]},
    "reasoning_effort": "low",
    "user": "alice",
    "safety_identifier": "s-1",
    "prompt_cache_key": "k-1",
    "service_tier": "auto",
    "modalities": ["text"],
    "audio": {"voice": "alloy", "format": "wav"},
    "logit_bias": {"50256": -100},
    "unknownField": {"nested": [{"x-y": "text"}], "plain": "words", "number": 4},
}  # fmt: skip

RESPONSES_REQUEST: dict[str, Any] = {
    "model": "SvcLLM",
    "instructions": "Be brief",
    "input": [
        {"role": "user", "content": "Hello"},
        {"type": "message", "role": "user", "id": "msg_1", "status": "completed", "content": [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": PIXEL, "detail": "low"},
        ]},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5jcnlwdGVk",
         "summary": [{"type": "summary_text", "text": "I think"}],
         "content": [{"type": "reasoning_text", "text": "I think so"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "It is", "annotations": [{"type": "file_citation", "filename": "f.txt"}]},
            {"type": "refusal", "refusal": "no"},
        ]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "buy", "arguments": '{"what": "apples"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "bought"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "run", "input": "print(1)"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "1"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "strange", "thing": {"deep": ["one"]}},
    ],
    "tools": [
        {"type": "function", "name": "buy", "description": "Buys things", "parameters": SCHEMA},
    ],
    "tool_choice": {"type": "function", "name": "buy"},
    "text": {"format": {"type": "json_schema", "name": "order", "schema": SCHEMA}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "metadata": {"customer": "c-17"},
    "prompt": {"id": "pmpt_1", "variables": {"city": "Bern"}},
    "prompt_cache_key": "k-1",
    "safety_identifier": "s-1",
    "user": "alice",
    "include": ["reasoning.encrypted_content"],
    "unknownField": {"nested": [{"x-y": "text"}]},
}  # fmt: skip

LOGPROBS = {"content": [{"token": "It", "logprob": -0.1, "bytes": [73, 116], "top_logprobs": [
    {"token": "That", "logprob": -2.0, "bytes": None}]}], "refusal": None}  # fmt: skip

CHAT_ANSWER: dict[str, Any] = {
    "id": "chatcmpl-up1", "object": "chat.completion", "created": 1700000000, "model": "up-model",
    "system_fingerprint": "fp_1", "service_tier": "default", "citations": ["https://example.org/b"],
    "x_info": {"region": "eu"},
    "choices": [
        {
            "index": 0, "finish_reason": "stop", "logprobs": LOGPROBS, "matched_stop": "END",
            "extraField": {"a": ["b"]}, "message": {
                "role": "assistant", "content": "It is", "refusal": "no", "reasoning_content": "I think",
                "reasoning_details": [{"type": "reasoning.text", "text": "step", "signature": "c2ln", "id": "r1"}],
                "annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.org", "title": "A"}}],
                "audio": {"id": "audio_1", "transcript": "Spoken", "data": "UklGRiQAAABXQVZFZm10IBAAAAA="},
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "buy", "arguments": '{"what": "x"}'}}],
                "provider_specific_fields": {"thought": "inner"}, "images": [{"image_url": {"url": PIXEL}}],
                "Odd-Field": "words",
            },
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "note": "counted"},
}  # fmt: skip

RESPONSE_ANSWER: dict[str, Any] = {
    "id": "resp_up1", "object": "response", "created_at": 1700000000, "status": "completed", "model": "up-model",
    "output": [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5jcnlwdGVk",
         "summary": [{"type": "summary_text", "text": "I think"}],
         "content": [{"type": "reasoning_text", "text": "I think so"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "It is", "logprobs": LOGPROBS["content"],
             "annotations": [{"type": "url_citation", "url": "https://example.org", "title": "A", "start_index": 0}]},
            {"type": "refusal", "refusal": "no"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "buy", "arguments": '{"what": "apples"}'},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "image_generation_call", "id": "ig_1", "result": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"},
        {"type": "strange", "id": "st_1", "thing": {"deep": ["one", {"Deep-Key": "two"}]}},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    "tools": [{"type": "function", "name": "buy", "description": "Buys", "parameters": SCHEMA}],
    "x_info": {"region": "eu"},
}  # fmt: skip

Path = tuple[tuple[str, Any], ...]
"""Steps from the root: `("item", key or index)`; a last `("name", key)` is the property name itself."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every string and of every property name in a decoded JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield (*path, ("name", name))
            yield from places(member, (*path, ("item", name)))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from places(member, (*path, ("item", index)))


def with_value(body: Any, path: Path, value: str, *, is_added: bool = True) -> Any:
    """A copy with the value at a place. A property name gets a new neighbour of that name (or is replaced)."""
    changed = copy.deepcopy(body)
    holder = changed
    for _, key in path[:-1]:
        holder = holder[key]
    kind, key = path[-1]
    if kind == "item":
        holder[key] = value
    elif is_added:
        holder[value] = copy.deepcopy(holder[key])
    else:
        members = [(value if name == key else name, member) for name, member in holder.items()]
        holder.clear()
        holder.update(members)
    return changed


def shown(path: Path) -> str:
    """The path as text, for the messages of tests."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}{'!' * (kind == 'name')}" for kind, key in path)
