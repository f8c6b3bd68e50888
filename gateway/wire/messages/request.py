"""Translates a messages request into a chat request. Fields are taken over by name; whatever is not named stays here.

Sources: Anthropic API reference (Messages), SDK anthropic 2.12, and what Claude Code 2.1.330 sends (recorded
2026-11-22). Pure functions.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.chat.request import THINKING
from gateway.wire.messages.chat_builder import ChatBuilder
from gateway.wire.messages.error import NO_THREADS
from gateway.wire.messages.tools import chat_tool, forced_kind, offered_tools, set_choice
from gateway.wire.parameters import EFFORTS
from gateway.wire.untrusted_json import table_in, texts_in

_BILLING = "x-anthropic-billing-header:"
"""Beginning of a first system block of Claude Code. It changes with every version, so that no prompt cache would hit,
and tells a model nothing."""
_TIERS = {"standard_only": "default"}
"""Values of `service_tier` that chat has under another name."""
_NAMED_SCHEMAS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_SCHEMAS = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else")
"""Words of JSON Schema with schemas by name, and with one or a list of them."""
_NOTHING: Mapping[str, Json] = MappingProxyType({})
_SAME = ("temperature", "top_p", "top_k")
_NOT_HERE = {
    "mcp_servers": "servers that a caller names are not called here; connect them in the client",
    "container": "there are no containers here; leave it out",
    "thread": "conversations are not kept here; send the whole history in messages",
}
_CODES = {"thread": NO_THREADS}


def to_chat(
    body: Json, max_images: int, recalled: Mapping[str, Json] = _NOTHING, carrier: Carrier = NO_CARRIER
) -> Json:
    """The chat body of a checked messages body. Raises InvalidRequest, the message naming the block.

    `metadata.user_id` becomes `user`, which goes on as a keyed hash. Hosted tools are left out of the tools and of the
    choice: see `hosted_search.web_wish`. `recalled`: what the server's calls of the history gave the model,
    `{name, arguments, output}` by the id of their block; calls without are left out. `carrier` opens what thinking
    blocks hold.
    """
    refuse_unserved(body)
    conversation = _conversation(body, ChatBuilder(recalled, carrier))
    chat: Json = {"model": body["model"], "messages": conversation.finished(max_images)}
    chat |= {name: body[name] for name in _SAME if body.get(name) is not None}
    if (limit := body.get("max_tokens")) is not None:
        chat["max_tokens"] = limit
    if stops := body.get("stop_sequences"):
        chat["stop"] = stops
    if thinking_display(body) is not None:
        chat[THINKING] = table_in(body, "thinking").get("budget_tokens") or 1
    user = (body.get("metadata") or {}).get("user_id")
    if isinstance(user, str) and user:
        chat["user"] = user
    _set_output(chat, body)
    tools = offered_tools(body.get("tools") or (), conversation.referenced, conversation.changes)
    if tools:
        chat["tools"] = [chat_tool(tool) for tool in tools]
    if not forced_kind(body):
        set_choice(chat, body.get("tool_choice"), {tool["name"] for tool in tools})
    if body.get("stream"):
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat


def refuse_unserved(body: Json) -> None:
    """Raises InvalidRequest for a field that asks for what is not here: servers, containers, kept conversations."""
    for name, reason in _NOT_HERE.items():
        if body.get(name):
            raise InvalidRequest(f"{name}: {reason}", param=name, code=_CODES.get(name))


def thinking_display(body: Json) -> str | None:
    """How the caller wants to see thoughts: `summarized`, `omitted` (blocks without text), or None: not at all."""
    thinking = body.get("thinking") or {}
    if thinking.get("type") in (None, "disabled"):
        return None
    return "omitted" if thinking.get("display") == "omitted" else "summarized"


def _conversation(body: Json, conversation: ChatBuilder) -> ChatBuilder:
    conversation.add_system(_without_billing(body.get("system")), "system")
    messages: list[Json] = body["messages"]
    last_user = max((number for number, each in enumerate(messages) if each["role"] == "user"), default=-1)
    for number, message in enumerate(messages):
        is_over = message.get("clear_at") == "next_user_message" and number < last_user
        if not (message["role"] == "system" and is_over):
            conversation.add(message, f"messages[{number}]")
    return conversation


def _without_billing(system: Any) -> Any:
    if isinstance(system, list) and system and str(system[0].get("text") or "").startswith(_BILLING):
        return system[1:]
    return system


def json_kind(body: Json) -> str:
    """The kind of JSON that a request wants; empty for none (`wire.chat.json_answer`)."""
    form = table_in(table_in(body, "output_config"), "format") or table_in(body, "output_format")
    return "json_schema" if form.get("type") == "json_schema" else ""


def _set_output(chat: Json, body: Json) -> None:
    """`reasoning_effort` and `response_format`, from `output_config` (and `output_format`, its older name)."""
    config = body.get("output_config") or {}
    effort = config.get("effort")
    if (body.get("thinking") or {}).get("type") == "disabled":
        chat["reasoning_effort"] = "none"  # in the upstream's own words: `wire.parameters`
    elif effort is not None:
        if effort not in EFFORTS:
            raise InvalidRequest(f"output_config.effort: must be {', '.join(EFFORTS)}", param="output_config.effort")
        chat["reasoning_effort"] = effort
    if json_kind(body):
        form = table_in(config, "format") or body["output_format"]
        schema = form.get("schema") or {}
        named = {"name": "output", "schema": schema, "strict": _demands_all(schema)}
        chat["response_format"] = {"type": "json_schema", "json_schema": named}
    if tier := body.get("service_tier"):
        chat["service_tier"] = _TIERS.get(tier, tier)


def _demands_all(root: Any) -> bool:
    """Whether every object that a schema describes has all its members and no others: servers refuse strict schemas
    with optional ones."""
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, list):
            waiting += schema
        elif isinstance(schema, dict):
            is_open = schema.get("additionalProperties", False) is not False
            if is_open or not table_in(schema, "properties").keys() <= set(texts_in(schema, "required")):
                return False
            waiting += [each for name in _NAMED_SCHEMAS for each in table_in(schema, name).values()]
            waiting += [schema[name] for name in _SCHEMAS if name in schema]
    return True
