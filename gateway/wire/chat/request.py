"""A caller's chat request as an upstream takes it: today's names, today's roles, nothing that names a host or a key.

Source: OpenAI API reference (chat completions, legacy functions), read 2026-11-21. Deliberately knows no HTTP. The
caller's body is not changed: what must differ is copied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest

_HOST_OR_CREDENTIAL = frozenset({
    "api_base", "base_url", "api_key", "apikey", "api_version", "api_type", "api_host", "api_url", "authorization",
    "host", "endpoint", "url", "callback_url", "webhook_url", "proxy", "proxies", "headers", "extra_headers",
    "default_headers", "extra_body", "extra_query", "organization", "custom_llm_provider", "custom_host", "provider",
    "token", "access_token", "litellm_params", "fallbacks", "model_list", "deployment_id", "credentials",
})  # fmt: skip
_CREDENTIAL_PREFIXES = ("aws_", "azure_", "vertex_", "litellm_", "x-portkey", "portkey_")
_PLAIN_ROLES = ("user", "assistant", "system")
_JSON_ONLY = "Answer with one valid JSON object and nothing else: no prose, no code fence."


@dataclass(frozen=True, slots=True)
class UpstreamOptions:
    """What one upstream wants: its model's name, fields to add, whether it can force JSON itself.

    `fingerprint` stands in its answers as `system_fingerprint` when it sends none of its own worth showing.
    """

    model: str
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    json_object: bool = True
    fingerprint: str = ""


def to_upstream(body: Json, options: UpstreamOptions, *, user: str | None = None) -> Json:
    """The body to send. `user` is the keyed hash that stands for the caller's `user`. Raises InvalidRequest."""
    sent = without_hosts(body)
    sent["model"] = options.model
    messages = body["messages"]
    plain = all(map(_is_plain, messages))
    if not plain:
        sent["messages"] = [_message(message) for message in messages]
    if "user" in sent:
        sent.pop("user")
        if user is not None:
            sent["user"] = user
    if (most := sent.pop("max_completion_tokens", None)) is not None:
        sent["max_tokens"] = most
    _functions_as_tools(sent)
    if not plain and any(_is_old_call(message) for message in sent["messages"]):
        sent["messages"] = _paired(sent["messages"])
    if "tools" in sent:
        sent["tools"] = [nested_tool(tool) for tool in sent["tools"] or ()]
        if not sent["tools"]:
            sent.pop("tools")
    if "tool_choice" in sent:
        sent["tool_choice"] = nested_choice(sent["tool_choice"])
    if needs_json_check(body, options):
        sent.pop("response_format")
        sent["messages"] = [*_instructed(sent["messages"])]
    if body.get("stream"):
        sent["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
    else:
        sent.pop("stream_options", None)
    for name in [name for name, value in sent.items() if value is None]:
        del sent[name]
    sent.update(options.extra_body)
    return sent


def needs_json_check(body: Json, options: UpstreamOptions) -> bool:
    """The caller wants a JSON object and the upstream cannot force one."""
    return not options.json_object and (body.get("response_format") or {}).get("type") == "json_object"


def is_legacy(body: Json) -> bool:
    """The caller speaks of `functions`, so it is answered with `function_call`."""
    return bool(body.get("functions")) and not body.get("tools")


def nested_tool(tool: Any) -> Any:
    """`{type, name, parameters}` (the responses route's form) as `{type, function: {...}}`."""
    if not isinstance(tool, dict) or "function" in tool or tool.get("type", "function") != "function":
        return tool
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {n: tool[n] for n in names if tool.get(n) is not None}}


def nested_choice(choice: Any) -> Any:
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice


def without_hosts(body: Json) -> Json:
    """A copy without any field that would name a host or a credential."""
    return {name: value for name, value in body.items() if not _forbidden(name)}


def _forbidden(name: str) -> bool:
    lower = name.lower()
    return lower in _HOST_OR_CREDENTIAL or lower.startswith(_CREDENTIAL_PREFIXES)


def _is_plain(message: Json) -> bool:
    """Nothing in it needs mending: most messages of most requests."""
    return message["role"] in _PLAIN_ROLES and type(message.get("content")) is str and "function_call" not in message


def _message(message: Json) -> Json:
    """One message with today's role and parts. Most messages pass as they are."""
    role, content = message["role"], message.get("content")
    changed: Json = {}
    if role == "developer":
        changed["role"] = "system"
    if isinstance(content, list) and any(_is_foreign(part) for part in content):
        changed["content"] = [_part(part) for part in content]
    return {**message, **changed} if changed else message


def _is_foreign(part: Any) -> bool:
    return isinstance(part, dict) and (
        part.get("type") not in ("text", "image_url") or isinstance(part.get("image_url"), str)
    )


def _part(part: Any) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": part.get("text", "")}
    if kind in ("input_image", "image_url") and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"]}
        if part.get("detail"):
            image["detail"] = part["detail"]
        return {"type": "image_url", "image_url": image}
    return part


def _functions_as_tools(sent: Json) -> None:
    """Legacy `functions`, `function_call` and role `function` in the form of tools, which every upstream takes."""
    functions = sent.pop("functions", None)
    if functions and not sent.get("tools"):
        sent["tools"] = [{"type": "function", "function": each} for each in functions]
    choice = sent.pop("function_call", None)
    if choice is not None and "tool_choice" not in sent and sent.get("tools"):
        named = isinstance(choice, dict)
        sent["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}} if named else choice


def _is_old_call(message: Json) -> bool:
    role = message["role"]
    return role == "function" or "function_call" in message or (role == "tool" and not message.get("tool_call_id"))


def _paired(messages: list[Json]) -> list[Json]:
    """Calls and their results bound by ids; a result nobody asked for becomes a marked user message."""
    paired: list[Json] = []
    open_calls: list[tuple[str, str]] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if isinstance(message.get("function_call"), dict):
            call = {"id": f"call_{number}", "type": "function", "function": message["function_call"]}
            message = {name: value for name, value in message.items() if name != "function_call"}
            message["tool_calls"] = [*(message.get("tool_calls") or ()), call]
            message.setdefault("content", None)
        elif "function_call" in message:
            message = {name: value for name, value in message.items() if name != "function_call"}
        for call in message.get("tool_calls") or ():
            open_calls.append((call.get("id", ""), (call.get("function") or {}).get("name", "")))
        if role in ("function", "tool"):
            message = _result(message, open_calls)
        paired.append(message)
    return paired


def _result(message: Json, open_calls: list[tuple[str, str]]) -> Json:
    given, name = message.get("tool_call_id"), message.get("name")
    found = next((call for call in open_calls if call[0] == given), None) if given else None
    if found is None and not given:
        named = (call for call in open_calls if name and call[1] == name)
        found = next(named, open_calls[0] if open_calls else None)
    if found is not None:
        open_calls.remove(found)
    if found is None and not given:
        return {"role": "user", "content": f"[result of {name or 'a tool'}]\n{_text_of(message.get('content'))}"}
    result = {"role": "tool", "tool_call_id": given or (found[0] if found else ""), "content": message.get("content")}
    return {**result, "name": name} if name else result


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _instructed(messages: list[Json]) -> list[Json]:
    first = messages[0]
    if first["role"] == "system" and isinstance(first.get("content"), str):
        return [{**first, "content": f"{first['content']}\n\n{_JSON_ONLY}"}, *messages[1:]]
    return [{"role": "system", "content": _JSON_ONLY}, *messages]


def image_urls(body: Json) -> list[tuple[str, Json]]:
    """The `image_url` objects of all messages, to be read or replaced in place, each after the name of its field.

    Raises InvalidRequest.
    """
    found: list[tuple[str, Json]] = []
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        if isinstance(content, list):
            for place, part in enumerate(content):
                if isinstance(part, dict) and part.get("type") == "image_url":
                    image = part.get("image_url")
                    if isinstance(image, str):
                        image = {"url": image}
                    where = f"messages[{index}].content[{place}].image_url"
                    if not isinstance(image, dict) or not isinstance(image.get("url"), str):
                        raise InvalidRequest(f"{where}: must be an object with a url", param=where)
                    found.append((f"{where}.url", image))
    return found
