"""Makes the response object and its items, with every required key.

Source: OpenAI API reference (Responses) and the Open Responses specification 2026-04-24, read 2026-11-21. The
specification of this service adds `created` (equal to `created_at`) and, to tool calls, `role` and `content`.
"""

import time
from typing import Any

from gateway.domain import Json
from gateway.random_ids import random_hex
from gateway.wire.chat.answer import other_counts
from gateway.wire.chat.request import flat
from gateway.wire.untrusted_json import count_in, table_in

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Chat's finish reasons of an incomplete answer, and the `incomplete_details.reason` of each."""


def new_id(prefix: str) -> str:
    """`prefix` (`resp`, `msg`, `rs`, `fc`, `call`), an underscore and 48 random hex digits."""
    return f"{prefix}_{random_hex(24)}"


def new_response(body: Json) -> Json:
    """The response object of a checked request at its start: status `in_progress`, empty `output`, no `usage`.

    Its keys are those below; `finish` adds `provider_specific_fields`. Tools, tool choice and format are flat.
    """
    created = int(time.time())
    text, conversation = body.get("text") or {}, body.get("conversation")
    conversation = conversation.get("id") if isinstance(conversation, dict) else conversation
    form = text.get("format") or body.get("response_format") or {"type": "text"}
    return {
        "id": new_id("resp"),
        "object": "response",
        "created": created,
        "created_at": created,
        "completed_at": None,
        "status": "in_progress",
        "incomplete_details": None,
        "model": body["model"],
        "previous_response_id": body.get("previous_response_id"),
        "instructions": body.get("instructions"),
        "output": [],
        "error": None,
        "tools": [_flat_tool(tool) for tool in body.get("tools") or ()],
        "tool_choice": _flat_choice(body.get("tool_choice") or "auto"),
        "truncation": body.get("truncation") or "disabled",
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "text": {**text, "format": flat(form, "json_schema")},
        "top_p": _number(body, "top_p", 1.0),
        "presence_penalty": _number(body, "presence_penalty", 0.0),
        "frequency_penalty": _number(body, "frequency_penalty", 0.0),
        "top_logprobs": body.get("top_logprobs") or 0,
        "temperature": _number(body, "temperature", 1.0),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "usage": None,
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "store": body.get("store") is not False,
        "background": bool(body.get("background")),
        "service_tier": "default",
        "metadata": body.get("metadata") or {},
        "safety_identifier": body.get("safety_identifier"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "conversation": {"id": conversation} if conversation else None,
        "user": body.get("user"),
    }


def is_cut(finish_reason: str | None) -> bool:
    """True for the finish reasons of an answer that ended early: `length`, `content_filter`."""
    return finish_reason in _REASONS


def finish(response: Json, finish_reason: str | None, usage: Json | None, backend: Json | None) -> str:
    """Completes a response object in place. Returns its status: `completed` or `incomplete`.

    `finish_reason` and `usage` are chat's; `backend` goes into `provider_specific_fields` beside `finish_reason`. The
    last item of an incomplete response becomes `incomplete` too.
    """
    reason = _REASONS.get(finish_reason or "")
    status = "incomplete" if reason else "completed"
    response["status"] = status
    response["incomplete_details"] = {"reason": reason} if reason else None
    response["completed_at"] = int(time.time()) if status == "completed" else None
    response["usage"] = usage_object(usage)
    response["provider_specific_fields"] = {**(backend or {}), "finish_reason": finish_reason}
    if reason and response["output"]:
        response["output"][-1]["status"] = "incomplete"
    return status


def usage_object(usage: Json | None) -> Json:
    """`{input_tokens, input_tokens_details: {cached_tokens}, output_tokens, output_tokens_details: {reasoning_tokens},
    total_tokens, …}` of a chat usage; 0 for missing counts. What else the upstream counts is kept."""
    prompt, answer = count_in(usage, "prompt_tokens"), count_in(usage, "completion_tokens")
    details = table_in(usage, "prompt_tokens_details"), table_in(usage, "completion_tokens_details")
    return {
        **other_counts(usage),
        "input_tokens": prompt,
        "input_tokens_details": {**details[0], "cached_tokens": count_in(details[0], "cached_tokens")},
        "output_tokens": answer,
        "output_tokens_details": {**details[1], "reasoning_tokens": count_in(details[1], "reasoning_tokens")},
        "total_tokens": prompt + answer,
    }


def text_part(text: str) -> Json:
    """`{type: "output_text", text, annotations, logprobs}`."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def refusal_part(text: str) -> Json:
    """`{type: "refusal", refusal}`."""
    return {"type": "refusal", "refusal": text}


def message_item(item_id: str, status: str, parts: list[Json]) -> Json:
    """`{id, type: "message", status, role: "assistant", content: parts}`."""
    return {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": parts}


def reasoning_item(item_id: str, status: str, parts: list[Json]) -> Json:
    """`{id, type: "reasoning", status, summary: parts}`.

    The reasoning goes into `summary`, which every client reads: OpenAI and Open Responses have different names for the
    events of raw reasoning text.
    """
    return {"id": item_id, "type": "reasoning", "status": status, "summary": parts}


def summary_part(text: str) -> Json:
    """`{type: "summary_text", text}`."""
    return {"type": "summary_text", "text": text}


def snapshot(item: Json) -> Json:
    """A copy of the item: what is added to the item, or masked in one, does not change the other. The annotations of
    its texts are the same objects, by which their positions are found."""
    return {
        name: [copied_part(part) for part in value] if name in _PARTS and isinstance(value, list) else copied(value)
        for name, value in item.items()
    }


def shown(response: Json, output: list[Json]) -> Json:
    """A response as an event has it: what is masked or restored in the event changes no other one."""
    fields = {name: copied(value) if value else value for name, value in response.items() if name != "output"}
    return {**fields, "output": output}


_PARTS = ("content", "summary")


def copied_part(part: Any) -> Any:
    """A part whose annotations are the same objects."""
    if not isinstance(part, dict):
        return copied(part)
    return {**part, "logprobs": copied(part["logprobs"])} if part.get("logprobs") else dict(part)


def copied(value: Any) -> Any:
    """A copy of all that may be changed in a value."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def without_text(item: Json) -> None:
    """Removes everything that the model wrote from an item, in place."""
    for name in ("content", "summary"):
        if name in item:
            item[name] = []
    for name in ("arguments", "input", "action", "operation"):
        if name in item:
            item[name] = type(item[name])()


def call_item(item_id: str, status: str, call: Json) -> Json:
    """`{id, type: "function_call", status, call_id, name, arguments, role, content}`.

    `call` is `{call_id, name, arguments}`; `role` and `content` are additions of this service's specification.
    """
    return {"id": item_id, "type": "function_call", "status": status, **call, "role": "assistant", "content": []}


def _number(body: Json, name: str, default: float) -> Any:
    value = body.get(name)
    return default if value is None else value


def _flat_tool(tool: Json) -> Json:
    """A function tool as `{type, name, description, parameters, strict}`, from the nested or the flat form."""
    if tool["type"] != "function":
        return tool
    inner = tool.get("function") or tool
    fields = {name: inner.get(name) for name in ("name", "description", "parameters", "strict")}
    return {"type": "function", **fields}


def _flat_choice(choice: Any) -> Any:
    """A tool_choice as `{type: "function", name}`, from the nested or the flat form; strings unchanged."""
    if not isinstance(choice, dict):
        return choice
    if isinstance(choice.get("tools"), list):
        return {**choice, "tools": [_flat_choice(tool) for tool in choice["tools"]]}
    return flat(choice)
