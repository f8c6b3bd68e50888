"""Rewrites a caller's chat request for an upstream: current field names and roles, no field that names a host or key.

Source: OpenAI API reference (chat completions, legacy functions), read 2026-11-21. The caller's body is not changed;
the parts that differ are copied.
"""

import itertools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.schemas import load
from gateway.wire.caller_addresses import refuse_addresses, refuse_media
from gateway.wire.parameters import Rules
from gateway.wire.untrusted_json import joined_text, table_in

_HOST_OR_CREDENTIAL = frozenset({
    "api_base", "base_url", "api_key", "apikey", "api_version", "api_type", "api_host", "api_url", "authorization",
    "host", "endpoint", "url", "callback_url", "webhook_url", "proxy", "proxies", "headers", "extra_headers",
    "default_headers", "extra_body", "extra_query", "organization", "custom_llm_provider", "custom_host", "provider",
    "token", "access_token", "litellm_params", "fallbacks", "model_list", "deployment_id", "credentials",
    "data_sources",
})  # fmt: skip
"""Fields by which proxies and client libraries (LiteLLM, Azure, Portkey …) let a caller choose an address or a key: an
upstream that honours one would send the operator's traffic elsewhere."""
_ABOUT_THE_CLIENT = frozenset(("client_metadata",))
"""Fields in which clients tell their own service of themselves (Codex: ids of the installation and paths of the
workspace). They are nobody else's business, and strict upstreams refuse them."""
_USUAL = frozenset(("model", "messages", "input", "stream", "tools", "temperature", "max_tokens", "stream_options"))
"""Fields of most requests, at which nothing needs to be looked up."""
_CREDENTIAL_PREFIXES = ("aws_", "azure_", "vertex_", "litellm_", "x-portkey", "portkey_")
IMAGE_PARTS = ("image_url", "input_image")
"""Types of the parts with an image: chat's, and that of the responses route."""
_TEXT_FIELDS = 2
"""Fields of a text part (`type` and `text`), which is not checked further."""
CACHE = "gateway_cache"
"""The member of a text part or tool in which a translated request has its caller's `cache_control`."""
THINKING = "gateway_thinking"
"""The member of a translated request with the tokens that its caller has given to thoughts. No upstream gets it."""
_OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
"""Fields that upstreams refuse in a request without tools."""
_COMBINED = frozenset(("$ref", "anyOf", "oneOf", "allOf"))
"""Words by which a schema of an object has its properties elsewhere."""
_JSON_ONLY = "Answer with one valid JSON object and nothing else: no prose, no code fence."


class OpenCalls:
    """The calls of a conversation that wait for a result, in their order. Naive form: a list of `(id, name)` that is
    searched for each result."""

    def __init__(self) -> None:
        self._calls: OrderedDict[int, Any] = OrderedDict()
        self._numbers: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
        self._count = itertools.count()

    def add(self, call_id: Any, name: Any) -> None:
        """Open a call. Ids and names come from the caller and may be of any type; only strings are found again."""
        number = next(self._count)
        self._calls[number] = call_id
        for kind, value in (("id", call_id), ("name", name)):
            if isinstance(value, str):
                self._numbers[kind, value].append(number)

    def take(self, call_id: str | None, name: str | None, *, exact: bool = False) -> Any:
        """Close the call that a result answers, and return its id: by id; without one by name, else the oldest unless
        `exact`.

        None when there is no such call.
        """
        key = ("id", call_id) if call_id else ("name", name or "")
        numbers = self._numbers[key] if key[1] and key in self._numbers else deque()
        while numbers:
            if (number := numbers.popleft()) in self._calls:
                return self._calls.pop(number)
        return self._calls.popitem(last=False)[1] if self._calls and not (call_id or exact) else None


@dataclass(frozen=True, slots=True)
class UpstreamOptions:
    """How requests to one upstream are written.

    `model` is the model's name there, empty for the caller's; `extra_body` holds fields that are added to every
    request and win over the caller's; `json_object`: it can force JSON itself; `has_tools`: its model makes tool calls
    itself; `accepts_files`: it takes `file` parts. `fingerprint`, unless empty, replaces the `system_fingerprint` of
    its answers. `rules`: its own words for parameters. `one_system`: it takes a single system message, the first one.
    """

    model: str
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    json_object: bool = True
    has_tools: bool = True
    accepts_files: bool = False
    fingerprint: str = ""
    rules: Rules = field(default_factory=Rules)
    one_system: bool = False

    def name_of(self, body: Json) -> str:
        """What its model is called there: by the caller's name where it has none of its own."""
        return self.model or str(body["model"])


def plain_chat() -> Json:
    """The schema of chat bodies whose messages go to every upstream as they are; it allows less than that of chat."""
    return {**load("chat"), "$defs": load("plain_message")["$defs"]}


def to_upstream(body: Json, options: UpstreamOptions, *, user: str | None = None, is_plain: bool = False) -> Json:
    """The chat body to send for a checked body, `{model, messages, …}`. `is_plain`: it is valid by `plain_chat`.

    Legacy `functions` become `tools`, flat tools become nested, fields with null are left out; then come the rules of
    the upstream. A stream always requests usage. `user` is the hash to send instead of the caller's `user`;
    None leaves the field out.
    """
    sent = without_hosts(body)
    sent["model"] = options.model or body["model"]
    sent.pop(THINKING, None)
    messages = body["messages"]
    if not is_plain:
        sent["messages"] = [_upstream_message(message, caches=options.rules.caches) for message in messages]
    if "user" in sent:
        sent.pop("user")
        if user is not None:
            sent["user"] = user
    _functions_as_tools(sent)
    if not is_plain and any(map(_is_old_call, messages)):
        sent["messages"] = _pair_calls(sent["messages"])
    if "tools" in sent:
        sent["tools"] = [_with_cache(_upstream_tool(tool), options.rules.caches) for tool in sent["tools"] or ()]
    if not sent.get("tools"):
        for name in _OF_TOOLS:
            sent.pop(name, None)
    elif "tool_choice" in sent:
        sent["tool_choice"] = nested_choice(sent["tool_choice"])
    if needs_json_check(body, options):
        sent.pop("response_format")
        sent["messages"] = _with_json_instruction(sent["messages"])
    if body.get("stream"):
        sent["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
    else:
        sent.pop("stream_options", None)
    for name in [name for name, value in sent.items() if value is None or (value == [] and name == "stop")]:
        del sent[name]
    if options.one_system:
        sent["messages"] = _with_one_system(sent["messages"])
    sent = options.rules.applied(sent)
    sent.update(options.extra_body)
    return sent


def _with_one_system(messages: list[Json]) -> list[Json]:
    """The messages with the texts of all system messages in one at the front, joined by blank lines: the templates of
    many models take no other (`raise_exception` of Qwen's and Mistral's)."""
    systems = [message for message in messages if message["role"] == "system"]
    if not systems or (len(systems) == 1 and messages[0] is systems[0]):
        return messages
    joined = "\n\n".join(text for message in systems if (text := joined_text(message.get("content"))))
    return [{**systems[0], "content": joined}, *(message for message in messages if message["role"] != "system")]


def needs_json_check(body: Json, options: UpstreamOptions) -> bool:
    """True when the caller wants a JSON object and the upstream cannot force one: the answer must be checked."""
    return not options.json_object and (body.get("response_format") or {}).get("type") == "json_object"


def is_legacy(body: Json) -> bool:
    """True when the caller declares `functions` without `tools`: it is answered with `function_call`."""
    return bool(body.get("functions")) and not body.get("tools")


def nested_tool(tool: Any) -> Any:
    """A function tool as `{type, function: {name, description?, parameters?, strict?}}`.

    Accepts the flat form of the responses route too; any other tool is returned unchanged.
    """
    if not isinstance(tool, dict) or "function" in tool or tool.get("type", "function") != "function":
        return tool
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {n: tool[n] for n in names if tool.get(n) is not None}}


def _upstream_tool(tool: Any) -> Any:
    tool = nested_tool(tool)
    function = table_in(tool, "function")
    return {**tool, "function": with_parameters(function)} if function else tool


def with_parameters(function: Json) -> Json:
    """A tool's function, or a flat tool, whose parameters are the schema of an object, as upstreams demand: callers
    write tools without parameters in many ways. A schema of another kind is not changed.

    with_parameters({"name": "now", "parameters": None})
    # {"name": "now", "parameters": {"type": "object", "properties": {}}}
    """
    schema = function.get("parameters") or {}
    if not isinstance(schema, dict) or (schema.get("type") == "object" and isinstance(schema.get("properties"), dict)):
        return function
    if schema.get("type") not in (None, "object") or schema.keys() & _COMBINED:
        return function
    said = {name: value for name, value in schema.items() if value is not None}
    properties = {"type": "object", "properties": schema.get("properties") or {}}
    return {**function, "parameters": {**said, **properties}}


def flat(value: Any, member: str = "function") -> Any:
    """A tool, choice or format of chat as the responses route has it; anything else unchanged.

    flat({"type": "function", "function": {"name": "add"}})  # {"type": "function", "name": "add"}
    """
    inner = value.get(member) if isinstance(value, dict) else None
    return {"type": value.get("type"), **inner} if isinstance(inner, dict) else value


def nested_choice(choice: Any) -> Any:
    """A `tool_choice` with a flat function, `{type, name}`, as `{type, function: {name}}`; any other unchanged."""
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice


def without_hosts(body: Json) -> Json:
    """A copy without the top-level fields that name a host or a credential, or tell of the client."""
    return {name: value for name, value in body.items() if name in _USUAL or not _forbidden(name)}


def _forbidden(name: str) -> bool:
    lower = name.lower()
    return lower in _HOST_OR_CREDENTIAL or lower in _ABOUT_THE_CLIENT or lower.startswith(_CREDENTIAL_PREFIXES)


def _upstream_message(message: Json, *, caches: bool) -> Json:
    """A message with `system` for `developer`, and content parts in chat's form. `caches`: see `Rules`."""
    role, content = message["role"], message.get("content")
    changed: Json = {}
    if role == "developer":
        changed["role"] = "system"
    if isinstance(content, list) and any(_is_foreign(part) for part in content):
        parts = changed["content"] = [_with_cache(_chat_part(part), caches) for part in content]
        has_marks = any(isinstance(part, dict) and CACHE in part for part in content)
        if has_marks and not caches and all(part["type"] == "text" for part in parts):
            changed["content"] = "\n\n".join(part["text"] for part in parts)
    return {**message, **changed} if changed else message


def _is_foreign(part: Any) -> bool:
    return isinstance(part, dict) and (
        part.get("type") not in ("text", "image_url") or isinstance(part.get("image_url"), str) or CACHE in part
    )


def _with_cache(value: Any, caches: bool) -> Any:
    """A part or tool of a translated request with its `cache_control`, where the upstream takes that."""
    if not isinstance(value, dict) or CACHE not in value:
        return value
    sent = {name: member for name, member in value.items() if name != CACHE}
    return {**sent, "cache_control": value[CACHE]} if caches else sent


def _chat_part(part: Any) -> Any:
    """A content part as `{type: "text", text}` or `{type: "image_url", image_url: {url, detail?}}`."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": part.get("text", "")}
    if kind in IMAGE_PARTS and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"]}
        if part.get("detail"):
            image["detail"] = part["detail"]
        return {"type": "image_url", "image_url": image}
    return part


def _functions_as_tools(sent: Json) -> None:
    """Replaces legacy `functions` and `function_call` by `tools` and `tool_choice`, in place."""
    functions = sent.pop("functions", None)
    if functions and not sent.get("tools"):
        sent["tools"] = [{"type": "function", "function": each} for each in functions]
    choice = sent.pop("function_call", None)
    if choice is not None and "tool_choice" not in sent and sent.get("tools"):
        is_named = isinstance(choice, dict)
        sent["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}} if is_named else choice


def _is_old_call(message: Json) -> bool:
    """True for messages of the legacy functions interface, and for tool results without an id."""
    role = message["role"]
    return role == "function" or "function_call" in message or (role == "tool" and not message.get("tool_call_id"))


def _pair_calls(messages: list[Json]) -> list[Json]:
    """The messages with calls and results linked by ids; a result without a call becomes a marked user message."""
    paired: list[Json] = []
    open_calls = OpenCalls()
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
            open_calls.add(call.get("id", ""), (call.get("function") or {}).get("name", ""))
        if role in ("function", "tool"):
            message = _linked_result(message, open_calls)
        paired.append(message)
    return paired


def _linked_result(message: Json, open_calls: OpenCalls) -> Json:
    """The result linked to its call by id, else by name, else to the oldest open one. Closes that call."""
    call_id, name = message.get("tool_call_id"), message.get("name")
    call = open_calls.take(call_id, name)
    if call is None and not call_id:
        return {"role": "user", "content": f"{result_head(name)}\n{joined_text(message.get('content'))}"}
    result = {"role": "tool", "tool_call_id": call_id or call, "content": message.get("content")}
    return {**result, "name": name} if name else result


def result_head(name: Any) -> str:
    """The first line of a result that belongs to no call, which the model gets as a user message."""
    return f"[result of {name or 'a tool'}]"


def _with_json_instruction(messages: list[Json]) -> list[Json]:
    """The messages with the instruction at the end of the first system message, or as a new one."""
    first = messages[0]
    if first["role"] == "system" and isinstance(first.get("content"), str):
        return [{**first, "content": f"{first['content']}\n\n{_JSON_ONLY}"}, *messages[1:]]
    return [{"role": "system", "content": _JSON_ONLY}, *messages]


class ImagePlace(NamedTuple):
    """An image of a request: the path of its address, which is `holder[key]`."""

    where: str
    holder: Json
    key: str


def image_parts(body: Json) -> list[ImagePlace]:
    """Every image of a chat body.

    Raises InvalidRequest for an image part without a URL, and as `wire.caller_addresses`.
    """
    images: list[ImagePlace] = []
    for number, message in enumerate(body["messages"]):
        refuse_media(message, f"messages[{number}]")
        content = message.get("content")
        for place, part in enumerate(content) if isinstance(content, list) else ():
            if not isinstance(part, dict) or (len(part) == _TEXT_FIELDS and "type" in part and "text" in part):
                continue
            where, is_image = f"messages[{number}].content[{place}]", part.get("type") in IMAGE_PARTS
            refuse_addresses(part, where, ("image_url",) if is_image else ())
            if is_image:
                image = part.get("image_url")
                holder, key = (image, "url") if isinstance(image, dict) else (part, "image_url")
                if not isinstance(holder.get(key), str):
                    raise InvalidRequest(f"{where}.image_url: must be an object with a url", param=f"{where}.image_url")
                images.append(ImagePlace(f"{where}.image_url.url", holder, key))
    return images
