"""Translates a responses request into a chat request: items to messages, tools and formats to chat's nested forms.

Sources: OpenAI API reference (Responses, Chat Completions) and the Open Responses specification 2026-04-24, read
2026-11-21; openai-python 3.52, read 2026-11-22. The items that a request refers to are arguments.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.key_scrubber import scrub_keys
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import LOGPROBS_LEFT_OUT
from gateway.wire.responses.message_builder import MessageBuilder
from gateway.wire.responses.tool_names import ToolNames
from gateway.wire.responses.tools import DeferredTool, declared_tools, offered_tools, set_tools
from gateway.wire.untrusted_json import list_in, table_in

_NOT_CHAT = frozenset(
    {
        "input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "previous_response_id", "store",
        "include", "metadata", "truncation",
        "background", "reasoning", "max_tool_calls", "top_logprobs",
        "stream_options", "conversation", "prompt", "context_management", "response_format", "access_programs", "image",
        "moderation",
    }
)  # fmt: skip
"""Fields that are translated below, or that chat upstreams do not have. All others are sent as they are."""

_NOT_TRUNCATED = "truncation is not done for this model: a conversation beyond its context is refused"
_LOGPROBS = "message.output_text.logprobs"
"""What `include` has for them."""
_INCLUDABLE = (
    "web_search_call.action.sources", "web_search_call.results", "file_search_call.results",
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "message.input_image.image_url",
    "message.output_text.logprobs", "reasoning.encrypted_content",
)  # fmt: skip
"""Values of `include` in OpenAI's API (`ResponseIncludable` of openai-python). Clients send those of parts that an
answer does not have, so they are taken without a word."""
_SHOWN_VALUE_CHARS = 64
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A translated request: the chat `body`, and what is needed beside it.

    `dropped`: types of the tools that nobody runs here. `names`: the tools' names for the model, needed to translate
    its calls. `deferred`: tools that a search may find. `warnings`: sentences on what was left out, for the caller.
    """

    body: Json
    dropped: list[str]
    names: ToolNames
    warnings: list[str]
    deferred: Sequence[DeferredTool] = ()


def refuse_unkept(body: Json) -> None:
    """Raises InvalidRequest for several answers at once, which a response cannot hold; on any upstream."""
    if body.get("n") not in (None, 1):
        raise InvalidRequest("a response is one answer; leave n out, or use /v1/chat/completions", param="n")


def to_chat(
    body: Json, history: list[Json], hosted: Collection[str] = (), carrier: Carrier = NO_CARRIER, *, first: int = 0
) -> ChatRequest:
    """The chat request of a checked request.

    `history` are the items before those of `body["input"]`. `hosted`: types of tools that the caller of this function
    runs itself. `first`: the place of the first item in the caller's input. Raises InvalidRequest, `param` naming
    the item that chat cannot express.
    """
    refuse_unkept(body)
    if body.get("prompt"):
        raise InvalidRequest("stored prompts are not supported for this model; send the items", param="prompt")
    chat = {name: value for name, value in body.items() if name not in _NOT_CHAT and value is not None}
    items = input_items(body)
    offered = offered_tools(declared_tools(body, [*history, *items]), hosted)
    messages = MessageBuilder(offered.names, carrier)
    _add_instructions(messages, body.get("instructions"))
    for item in history:
        messages.add(item, "previous_response_id")
    for index, item in enumerate(items, first):
        messages.add(item, f"input[{index}]")
    chat["messages"] = messages.finished()
    if (limit := body.get("max_output_tokens")) is not None:
        chat["max_tokens"] = limit
    settings = {**body, **messages.settings} if messages.settings else body
    if (form := response_format(settings)) is not None:
        chat["response_format"] = form
    if effort := table_in(settings, "reasoning").get("effort"):
        chat["reasoning_effort"] = effort
    if verbosity := table_in(settings, "text").get("verbosity"):
        chat["verbosity"] = verbosity
    set_tools(chat, offered, body.get("tool_choice"))
    if "tools" not in chat and not offered.hosted:
        chat.pop("parallel_tool_calls", None)
    if body.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    warnings = [*messages.warnings, *_dropped(offered.dropped)]
    if body.get("top_logprobs") or _LOGPROBS in list_in(body, "include"):
        if offered.hosted:
            warnings.append(LOGPROBS_LEFT_OUT)
        else:
            chat |= {"logprobs": True, "top_logprobs": body.get("top_logprobs")}
    warnings += _unknown_includes(list_in(body, "include"))
    if body.get("truncation") == "auto":
        warnings.append(_NOT_TRUNCATED)
    return ChatRequest(chat, offered.dropped, offered.names, warnings, offered.deferred)


def input_items(body: Json) -> list[Json]:
    """A checked request's `input` as a list of items; a string is one user message, and none (with `prompt`) empty."""
    value = body.get("input") or []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": value}]}]
    return list(value)


def _add_instructions(messages: MessageBuilder, instructions: str | list[Json] | None) -> None:
    if isinstance(instructions, str) and instructions:
        messages.add_system(instructions)
    elif isinstance(instructions, list):
        for index, item in enumerate(instructions):
            messages.add(item, f"instructions[{index}]")


def response_format(body: Json) -> Json | None:
    """`text.format`, or the specification's `response_format`, in chat's form; None for plain text."""
    form = table_in(table_in(body, "text"), "format") or table_in(body, "response_format")
    if form.get("type", "text") == "text":
        return None
    if form["type"] == "json_schema" and "json_schema" not in form:
        inner = {name: form[name] for name in ("name", "description", "schema", "strict") if form.get(name) is not None}
        return {"type": "json_schema", "json_schema": {"name": "answer", **inner}}
    return dict(form)


def _dropped(kinds: list[str]) -> list[str]:
    names = ", ".join(dict.fromkeys(kinds))
    return [f"tools that nobody runs for this model were left out: {names}"] if kinds else []


def _unknown_includes(values: Sequence[object]) -> list[str]:
    unknown = [(at, value) for at, value in enumerate(values) if value not in _INCLUDABLE]
    if not unknown:
        return []
    named = ", ".join(f"include[{at}]{_shown(value)}" for at, value in unknown[:_MAX_NAMED])
    more = f" and {len(unknown) - _MAX_NAMED} more" if len(unknown) > _MAX_NAMED else ""
    return [f"{named}{more}: not known and left out; known are {', '.join(_INCLUDABLE)}"]


def _shown(value: object) -> str:
    return f" {scrub_keys(value[:_SHOWN_VALUE_CHARS])!r}" if isinstance(value, str) else ""
