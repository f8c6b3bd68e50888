"""Requests of unusual shapes that hold `KEY` or `CARD`: `REQUESTS`, `{name: (path, body)}`."""

import base64
import json
from typing import Any
from urllib.parse import quote

KEY = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"  # a made-up key of a real form
CARD = "4539148803436467"
SAID = f"the key is {KEY} ok"
USER = {"role": "user", "content": "hello"}

Case = tuple[str, dict[str, Any]]


def chat(**more: Any) -> Case:
    return "/v1/chat/completions", {"model": "SvcLLM", "messages": [USER], **more}


def turns(*messages: dict[str, Any]) -> Case:
    return chat(messages=[USER, *messages])


def called(arguments: str, **more: Any) -> Case:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": arguments}, **more}
    return turns({"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "ok"})


def response(*items: Any, **more: Any) -> Case:
    return "/v1/responses", {"model": "SvcLLM", "input": [{"role": "user", "content": "x"}, *items], **more}


def message(*blocks: Any, **more: Any) -> Case:
    content = [{"type": "text", "text": "x"}, *blocks]
    body = {"model": "SvcLLM", "max_tokens": 50, "messages": [{"role": "user", "content": content}], **more}
    return "/v1/messages", body


def embed(texts: Any, **more: Any) -> Case:
    return "/v1/embeddings", {"model": "Vectors", "input": texts, **more}


def image(url: str) -> Case:
    return turns({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})


REQUESTS: dict[str, Case] = {
    "UTF-16 in a data URL": image(
        "data:text/plain;charset=utf-16;base64," + base64.b64encode(SAID.encode("utf-16")).decode()
    ),
    "a data URL with a parameter": image(
        "data:text/csv;header=present;base64," + base64.b64encode(SAID.encode()).decode()
    ),
    "a data URL of JSON, percent-encoded": image("data:application/json," + quote(json.dumps({"a": SAID}))),
    "the fragment of a picture's address": image(f"https://pictures.example.org/a.png#access_token={KEY}"),
    "base64 of base64": chat(
        messages=[{"role": "user", "content": base64.b64encode(base64.b64encode(SAID.encode())).decode()}]
    ),
    "full-width letters": chat(messages=[{"role": "user", "content": "".join(chr(ord(c) + 0xFEE0) for c in KEY)}]),
    "entities of HTML": chat(messages=[{"role": "user", "content": "".join(f"&#{ord(c)};" for c in KEY)}]),
    "quoted-printable": chat(messages=[{"role": "user", "content": "".join(f"={ord(c):02X}" for c in KEY)}]),
    "percent-encoded twice": chat(
        messages=[{"role": "user", "content": quote(quote(SAID, safe=""), safe="").replace("ghp_", "ghp%255F")}]
    ),
    "a soft hyphen between": chat(messages=[{"role": "user", "content": "\u00ad".join(KEY)}]),
    "a combining mark between": chat(messages=[{"role": "user", "content": "\u034f".join(KEY)}]),
    "JSON in a key of arguments": called(json.dumps({json.dumps({"k": KEY}): 1})),
    "arguments that are no JSON": called(f"q={KEY}&x=1"),
    "arguments cut off": called('{"q": "' + KEY),
    "a number in arguments": called('{"card": ' + CARD + "}"),
    "an unknown field of a call": called("{}", extra_content={"google": {"note": SAID}}),
    "a developer's message": turns({"role": "developer", "content": [{"type": "text", "text": SAID}]}),
    "an answer that was heard": turns({"role": "assistant", "audio": {"id": KEY}}),
    "an unknown role": turns({"role": "observation", "content": SAID}),
    "reasoning with details": turns(
        {"role": "assistant", "content": "a", "reasoning_details": [{"type": "x.y", "data": {"z": SAID}}]}
    ),
    "the seed of a tool's schema": chat(
        tools=[
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "parameters": {
                        "type": "object",
                        "dependentRequired": {"a": [KEY]},
                        "properties": {"a": {"not": {"const": KEY}}},
                    },
                },
            }
        ]
    ),
    "allowed tools": chat(
        tools=[{"type": "function", "function": {"name": "f"}}],
        tool_choice={
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": KEY}}]},
        },
    ),
    "the place of a searcher": chat(
        web_search_options={"user_location": {"type": "approximate", "approximate": {"region": SAID}}}
    ),
    "a text typed by a computer call": response(
        {
            "type": "computer_call",
            "call_id": "c",
            "id": "i",
            "status": "completed",
            "pending_safety_checks": [{"id": "s", "code": "x", "message": SAID}],
            "action": {"type": "type", "text": SAID},
        }
    ),
    "a patch": response(
        {
            "type": "apply_patch_call",
            "call_id": "c",
            "status": "completed",
            "operation": {"type": "update_file", "path": f"/srv/{KEY}.env", "diff": f"+TOKEN={KEY}"},
        }
    ),
    "the output of an interpreter": response(
        {
            "type": "code_interpreter_call",
            "id": "c",
            "container_id": "k",
            "status": "completed",
            "code": f"print('{KEY}')",
            "outputs": [{"type": "logs", "logs": SAID}],
        }
    ),
    "results of a file search": response(
        {
            "type": "file_search_call",
            "id": "f",
            "status": "completed",
            "queries": [SAID],
            "results": [{"file_id": "x", "filename": "a", "text": SAID, "attributes": {"owner": SAID}}],
        }
    ),
    "a query of a web search": response(
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": SAID}}
    ),
    "a call of a server's tool": response(
        {
            "type": "mcp_call",
            "id": "m",
            "name": "f",
            "server_label": "s",
            "arguments": json.dumps({"a": KEY}),
            "output": SAID,
            "error": SAID,
        }
    ),
    "a picture that was made": response(
        {"type": "image_generation_call", "id": "g", "status": "completed", "result": SAID}
    ),
    "an item's reference": response({"type": "item_reference", "id": KEY}),
    "an approval": response(
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True, "reason": SAID}
    ),
    "the output of a shell": response(
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [{"stdout": SAID, "stderr": SAID, "outcome": {"type": "exit", "exit_code": 0}}],
        }
    ),
    "hidden thinking": message(system=SAID, thinking={"type": "enabled", "budget_tokens": 1024}),
    "a document of blocks": message(
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": SAID}]}}
    ),
    "a server's token": message(mcp_servers=[{"type": "url", "url": f"https://m.example/?key={KEY}", "name": "m"}]),
    "an upload to a container": message({"type": "container_upload", "file_id": KEY}),
    "a tool's examples": message(
        tools=[{"name": "f", "input_schema": {"type": "object"}, "input_examples": [{"a": KEY}]}]
    ),
    "a list of texts": embed(["a", SAID, ["b"]]),
    "a text for vectors": embed(SAID),
    "a user of vectors": embed("x", user=KEY),
    "an unknown field for vectors": embed("x", encoding_hints={"a": [SAID]}),
}
