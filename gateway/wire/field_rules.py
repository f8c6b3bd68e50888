"""What a string of a model route is, by the name of its field and by its form. The one table of what is skipped.

Every string that no rule here names is free text and masked in place, so a field that nobody has heard of is covered.

| skipped, not scanned                  | rule            | reason                                                |
|---------------------------------------|-----------------|-------------------------------------------------------|
| a lower-case word in a structural place | `is_plain_word` | roles, types, tool names: nothing is found in a word |
| prefix and digits as an id            | `is_made_id`    | ids that we and most upstreams make: always new       |
| tokens that a model service has made  | `OPAQUE`        | only it can read them; one changed byte voids them    |
| numbers below nine digits, and times  | `NUMBERS_KEPT`  | no value of a detector is shorter; times are none     |

Sources: OpenAI API reference (chat, responses), Anthropic's messages, OpenRouter's `reasoning_details`, Gemini's
`thought_signature`, read 2026-11-21.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.domain import SEALED

STRUCTURAL = frozenset({
    "id", "call_id", "tool_call_id", "item_id", "tool_use_id", "response_id", "previous_response_id", "file_id",
    "container_id", "connector_id", "approval_request_id", "previous_item_id", "server_label", "name", "namespace",
    "type", "role", "object", "status", "finish_reason", "format", "detail", "effort", "media_type", "mime_type",
    "stop", "required", "enum", "const", "pattern", "$ref", "$schema", "$id", "$anchor", "system_fingerprint",
    "service_tier",
})  # fmt: skip
"""Fields whose strings other parts of a body, a schema or a program refer to: a mask in one would break the call."""
FIXED_BELOW = frozenset(("enum", "const"))
"""Structural fields that may hold objects: all below them is structural too."""
FREE_BELOW = frozenset(("arguments", "input"))
"""Objects whose fields the caller's own tools define: names in them say nothing, keys and values are free text."""
FREE_VALUES_BELOW = frozenset(("metadata", "variables"))
"""Objects whose values are free text, and whose keys are structural."""
FLOWING = frozenset(("text", "content", "refusal", "thinking", "transcript", "summary", "output_text"))
"""Fields that hold a piece of running text, which the next item of the same list may continue."""
URLS = frozenset(("url", "image_url", "file_url", "server_url", "uri", "video_url"))
"""Fields with a web address that is to be fetched."""
PAST = re.compile(r"\.(?:annotations|citations|action)\b")
"""In the path of an address of a request: it was cited or opened in an earlier answer, so nobody fetches it again."""
ENCODED = frozenset(("data", "file_data", "b64_json", "partial_image_b64", "result", *URLS))
"""Fields that may hold base64 or a data URL: of binary data it is skipped, of text it is read."""
NUMBERS_KEPT = frozenset(("seed", "created", "created_at", "completed_at", "expires_at", "started_at", "index"))
"""Fields with a time in seconds, or with a number that upstreams want as a number."""
MIN_NUMBER = 100_000_000
"""Smallest integer scanned, as in JSON documents (`sanitize.slot_mask`); no value of a detector is shorter."""

ALONE = FLOWING | {"instructions", "input", "output", "arguments", "reasoning_content", "reasoning", "description"}
"""Fields whose strings are scanned alone, whatever their length: running text, which the guardrail reads too."""
MAX_GROUPED_CHARS = 128
"""Most characters of a string that is scanned together with others; longer ones are scanned alone."""
GROUP_CHARS = 4_096
"""Most characters of strings that are scanned together; the fixed cost of a scan is 40 µs."""

OPAQUE: Mapping[str, frozenset[str] | None] = {
    "encrypted_content": None,
    "signature": frozenset(("thinking", "reasoning", "reasoning.text", "reasoning.encrypted", "signature_delta")),
    "thought_signature": None,
    "data": frozenset(("redacted_thinking", "reasoning.encrypted")),
}
"""{field: the `type` of the object that holds it, None for any}: tokens made by a model service, to be sent
back as they are. They must look like one, too (`is_opaque`)."""
MAX_OPAQUE_CHARS = 1_048_576
"""Most characters of an opaque token (the longest are some 100 KB); a longer one is scanned as names are."""

USUAL_NAMES = frozenset((
    "role", "content", "type", "text", "id", "object", "created", "model", "choices", "index", "message", "delta",
    "finish_reason", "logprobs", "usage", "prompt_tokens", "completion_tokens", "total_tokens", "refusal", "messages",
    "temperature", "max_tokens", "stream", "tools", "function", "name", "description", "parameters", "properties",
    "output", "input", "status", "item_id", "output_index", "content_index", "sequence_number",
))  # fmt: skip
"""Names that most bodies have: bare words, found faster in a set than by `is_plain_word`."""

_PLAIN_WORD = re.compile(r"[a-z_]{1,20}")
"""Bare words of at most 20 characters: no key has so few and letters of one case only, nor has any number letters."""
_ID_PREFIX = (
    r"(?:chatcmpl|cmpl|resp|cmp|conv|msg|item|call|fc|ctc|rs|ws|fs|ci|ig|cu|lsh|sh|apc|tsc|mcp|mcpl|mcpr|"
    r"evt|req|run|gen|file|toolu|srvtoolu|audio)[-_](?:tool[-_])?"
)
_MADE_ID = re.compile(
    rf"(?:{_ID_PREFIX})?[0-9a-f]{{24,48}}|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}|{_ID_PREFIX}[0-9]{{1,5}}"
)
"""The prefixes are those of ids of the sources above: any word would let keys pass that are made of a prefix and
hexadecimal digits (`shpat_…`, `key-…`). Up to five digits (`chatcmpl-417` of Ollama) are fewer than any number has."""
_TOKEN = re.compile(r"[A-Za-z0-9+/=_.:-]+")
is_plain_word = _PLAIN_WORD.fullmatch
"""Whether a key or a structural string is a bare word, in which nothing can be found."""
is_made_id = _MADE_ID.fullmatch
"""Whether an id is a model service's prefix and 24 to 48 hexadecimal digits, as `new_id` makes them, a UUID, or the
prefix and up to five digits."""


def is_signed(block: Any) -> bool:
    """Whether a block of thoughts has a signature that the gateway has not made."""
    signature = block.get("signature") if isinstance(block, dict) else None
    return isinstance(signature, str) and bool(signature) and not signature.startswith((SEALED, "sig_"))


def is_opaque(field: str, value: str, holder: Any) -> bool:
    """Whether a field is listed in OPAQUE for this object, and its value is one token without blanks, not too long."""
    if field not in OPAQUE or len(value) > MAX_OPAQUE_CHARS:
        return False
    kinds = OPAQUE[field]
    if kinds is not None and not (isinstance(holder, dict) and holder.get("type") in kinds):
        return False
    return _TOKEN.fullmatch(value) is not None
