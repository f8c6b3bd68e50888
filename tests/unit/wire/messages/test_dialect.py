"""Where the text of the messages route is and how it is refused; the tools and the ends of its requests and answers."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.errors import ContentBlocked, UpstreamRefused
from gateway.wire.dialect import Dialect, MessageUnits
from gateway.wire.embeddings import EmbeddingsDialect
from gateway.wire.messages.dialect import MessagesDialect
from gateway.wire.messages.error import error_object
from gateway.wire.responses.dialect import ResponsesDialect

DELTA = "content_block_delta"
ADD: Json = {"name": "add", "description": "adds", "input_schema": {"type": "object"}, "strict": True}


def texts(slots: Any) -> list[str]:
    return [slot.text for slot in slots if slot.text]


def test_each_message_is_a_unit_and_all_else_one() -> None:
    dialect: Dialect = MessagesDialect()
    blocks = [{"type": "text", "text": "b"}, {"type": "tool_use", "id": "t", "name": "n", "input": {"q": "c"}}]
    body = {
        "model": "m", "system": "a", "metadata": {"user_id": "hidden"},
        "messages": [*({"role": "user", "content": each} for each in ("x", "")), {"role": "user", "content": blocks}],
    }  # fmt: skip
    units = [texts(unit.slots) for unit in dialect.request_units(body)]
    assert units[0] == ["x"] and {"b", "c"} <= set(units[1]) and "a" in units[-1] and "hidden" not in str(units)
    assert dialect.is_one_question and dialect.name == "messages"
    with pytest.raises(ContentBlocked):
        dialect.refuse_request(body, next(iter(dialect.request_units(body))), ContentBlocked("card"))


EVENTS = [
    ({"type": DELTA, "index": 1, "delta": {"type": "text_delta", "text": "a"}}, ["a"], (1,)),
    ({"type": DELTA, "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}}, ["{"], (1,)),
    ({"type": DELTA, "index": 1, "delta": {"type": "odd", "other": "b"}}, ["b"], None),
    ({"type": "message_delta", "delta": {"stop_sequence": "END"}}, ["END"], None),
    ({"type": "message_start", "message": {"content": [{"type": "text", "text": "c"}], "model": "m"}}, ["c"], None),
]  # fmt: skip


@pytest.mark.parametrize(("event", "found", "channel"), EVENTS)
def test_the_strings_of_an_event_are_found(event: Json, found: list[str], channel: Any) -> None:
    slots = list(MessagesDialect().event_slots(event))
    assert set(found) <= set(texts(slots)) and "m" not in texts(slots)
    if channel is not None:
        assert channel in [slot.channel for slot in slots]


def test_the_end_of_a_block_ends_its_text() -> None:
    [end] = MessagesDialect().event_slots({"type": "content_block_stop", "index": 2})
    assert end.last and end.channel == (2,)


@pytest.mark.parametrize(
    "dialect", [MessagesDialect(), ResponsesDialect(), EmbeddingsDialect()], ids=lambda each: each.name
)
def test_a_refused_stream_of_any_route_ends_with_the_error_of_its_api(dialect: Dialect) -> None:
    [event] = dialect.refused_events(ContentBlocked("card"), None)
    assert "card" in str(event.data or event.raw) and "card" in str(dialect.error_body(ContentBlocked("card"), None))
    assert dialect.is_one_question


def test_each_item_of_responses_is_a_unit_and_inputs_to_embed_are_one() -> None:
    [unit] = EmbeddingsDialect().request_units({"model": "m", "user": "u", "input": ["a", "b"]})
    assert set(texts(unit.slots)) == {"a", "b"}
    items = [{"role": "user", "content": "a"}, {"type": "function_call", "name": "f", "arguments": "{}"}]
    body = {"model": "m", "instructions": "b", "input": items}
    assert [texts(unit.slots) for unit in ResponsesDialect().request_units(body)] == [["a"], ["{}"], ["b"]]
    assert [texts(unit.slots) for unit in ResponsesDialect().request_units({"input": "a"})] == [["a"]]


def test_blocks_of_a_conversation_hold_its_messages_in_order_with_all_else_where_it_is_wanted() -> None:
    body = {"system": "s", "messages": [{"role": "user", "content": str(number)} for number in range(5)]}
    units = MessagesDialect().request_units(body)
    assert isinstance(units, MessageUnits)

    def told(*, rest_first: bool) -> list[tuple[int, list[str]]]:
        found = units.blocks(2, rest_first=rest_first)
        return [(len(messages), [text for unit in made for text in texts(unit.slots)]) for messages, made in found]

    assert told(rest_first=False) == [(2, ["0", "1"]), (2, ["2", "3"]), (1, ["4"]), (0, ["s"])]
    assert told(rest_first=True)[0] == (0, ["s"])


def test_a_prompt_that_is_too_long_is_told_in_the_words_clients_know() -> None:
    error = UpstreamRefused("too much", status=400, code="context_length_exceeded")
    assert error_object(error)["error"]["message"] == "prompt is too long: too much"
