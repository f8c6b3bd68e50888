"""Makes the message object of an answer: its envelope, stop reasons and usage.

Source: Anthropic API reference (Messages), SDK anthropic 2.12, read 2026-11-22. `provider_specific_fields` is an
addition of ours, as on the other model routes.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from gateway.domain import Json
from gateway.random_ids import random_hex
from gateway.wire.chat.answer import other_counts
from gateway.wire.token_estimate import tokens_in
from gateway.wire.untrusted_json import count_in, joined_text, table_in

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
"""Chat's finish reasons, and the stop reason of each. None, an upstream that does not say why it ended, stays None."""


def new_id(prefix: str) -> str:
    """`prefix` (`msg`, `toolu`, `srvtoolu`), an underscore and 32 random hex digits."""
    return f"{prefix}_{random_hex(16)}"


def new_message(model: str) -> Json:
    """`{id, type: "message", role, model, content: [], stop_reason: null, stop_sequence: null, usage}`."""
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_object(None),
    }


def usage_object(usage: Json | None) -> Json:
    """`{input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens}` of a chat usage.

    As in this API, `input_tokens` leaves out those that were read from a cache or written to one. What else the
    upstream counts is kept.
    """
    prompt, details = count_in(usage, "prompt_tokens"), table_in(usage, "prompt_tokens_details")
    cached = min(prompt, count_in(details, "cached_tokens"))
    written = min(prompt - cached, count_in(details, "cache_write_tokens"))
    return {
        **other_counts(usage),
        "input_tokens": prompt - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": count_in(usage, "completion_tokens"),
    }


def stop_fields(finish_reason: str | None, matched: Any, stops: list[str]) -> Json:
    """`{stop_reason, stop_sequence}`. `matched`: what an upstream says ended the answer (vLLM, SGLang)."""
    if finish_reason == "stop" and isinstance(matched, str) and matched in stops:
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": _REASONS.get(finish_reason or ""), "stop_sequence": None}


QUICK_CHARS = 2_048
"""Characters that are looked at for an estimate that a count follows."""


def token_estimate(chat: Json, *sample_chars: int) -> int:
    """About how many tokens a chat body has, at least 1: of its texts, calls and tools, without images."""
    tools = [orjson.dumps(chat["tools"]).decode()] if chat.get("tools") else []
    return max(1, round(tokens_in([*_texts(chat["messages"]), *tools], *sample_chars)))


def _texts(messages: list[Json]) -> Iterator[str]:
    for message in messages:
        yield joined_text(message.get("content"), "\n")
        yield from (call["function"]["arguments"] for call in message.get("tool_calls") or ())
