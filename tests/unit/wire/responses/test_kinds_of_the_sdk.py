"""Every kind of item, tool and field that openai-python knows has a row: a new one in a newer version fails.

The rows stand in `tests/golden/kinds_of_the_sdk.json`. Each says what becomes of it on an upstream that is reached
through chat, and that one which speaks /responses itself gets it as it is.
"""

import json
import typing
from typing import Any

import pytest
from openai.types.responses import response_create_params
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam

from gateway import schemas
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.responses.native import to_native
from gateway.wire.responses.request import to_chat
from tests.support.paths import GOLDEN

USER: dict[str, Any] = {"role": "user", "content": "hi"}

ROWS = json.loads((GOLDEN / "kinds_of_the_sdk.json").read_text())
ITEMS: dict[str, tuple[dict[str, Any], str]] = {row["kind"]: (row["item"], row["outcome"]) for row in ROWS["items"]}
TOOLS: dict[str, tuple[dict[str, Any], str]] = {row["kind"]: (row["tool"], row["outcome"]) for row in ROWS["tools"]}
FIELDS: dict[str, list[str]] = ROWS["fields"]
"""What is done with each field of a request on a chat upstream."""


def types_of(union: Any) -> set[str]:
    """The values of `type` of a union of TypedDicts."""
    found: set[str] = set()
    for member in typing.get_args(union):
        hint = typing.get_type_hints(member)["type"]
        while not all(isinstance(value, str) for value in typing.get_args(hint)):
            hint = typing.get_args(hint)[0]
        found.update(typing.get_args(hint))
    return found


def test_every_item_tool_and_field_of_the_sdk_has_a_row() -> None:
    assert set(ITEMS) == types_of(ResponseInputItemParam) and set(TOOLS) == types_of(ToolParam)
    rows = [name for names in FIELDS.values() for name in names]
    assert sorted(rows) == sorted(typing.get_type_hints(response_create_params.ResponseCreateParamsBase))


def outcome(kind: str, item: dict[str, Any]) -> str:
    """What becomes of an item after a user's message and an open call."""
    items = [USER]
    if kind.endswith("output"):
        items.append({"type": "function_call", "call_id": "open", "name": "g", "arguments": "{}"})
    try:
        messages = to_chat({"model": "m", "input": [*items, {"type": kind, **item}]}, []).body["messages"][len(items) :]
    except InvalidRequest as error:
        return f"refused {(error.param or '').rpartition('.')[2]}"
    if not messages:
        return "nothing"
    if calls := messages[0].get("tool_calls"):
        return f"call {calls[0]['function']['name']} {calls[0]['function']['arguments']}"
    return f"{messages[0]['role']}: {messages[0]['content']}"


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_is_translated_as_its_row_says(kind: str) -> None:
    item, expected = ITEMS[kind]
    body = {"model": "m", "input": [{"type": kind, **item}]}
    assert schemas.Checker(schemas.load("responses")).check(body) == [] and outcome(kind, item) == expected


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_reaches_a_native_upstream_as_it_is(kind: str) -> None:
    item = {"type": kind, **ITEMS[kind][0]}
    sent = to_native({"model": "m", "input": [item]}, [], UpstreamOptions("up"), None)["input"][0]
    assert {**item, **sent} == item and item.keys() - sent.keys() <= {"id", "status"}
    if "id" not in sent:
        assert kind in ("message", "reasoning", "function_call", "function_call_output") or "id" not in item


@pytest.mark.parametrize("kind", TOOLS)
def test_a_tool_is_offered_as_its_row_says(kind: str) -> None:
    tool, name = {"type": kind, **TOOLS[kind][0]}, TOOLS[kind][1]
    chat = to_chat({"model": "m", "input": "hi", "tools": [tool]}, [])
    offered = [each["function"]["name"] for each in chat.body.get("tools", ())]
    assert (offered or ["dropped"]) == [name]
    assert bool(chat.dropped) == (name == "dropped") == any(kind in warning for warning in chat.warnings)
    assert to_native({"model": "m", "input": [], "tools": [tool]}, [], UpstreamOptions("up"), None)["tools"] == [tool]


@pytest.mark.parametrize("field", FIELDS["not for chat"] + FIELDS["kept by the gateway"] + FIELDS["as it is"])
def test_a_field_is_sent_on_or_not_as_its_row_says(field: str) -> None:
    chat = to_chat({"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f"}], field: "value"}, []).body
    assert (field in chat) == (field in FIELDS["as it is"])


@pytest.mark.parametrize("field", FIELDS["refused"])
def test_a_field_for_state_that_is_not_kept_is_refused_by_name(field: str) -> None:
    body = {"model": "m", "input": "hi", field: {"id": "x"}}
    with pytest.raises(InvalidRequest) as caught:
        to_chat(body, [])
    assert caught.value.param == field
