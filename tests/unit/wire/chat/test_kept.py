"""What only an upstream understands comes back to it, and to nobody else."""

from typing import Any

from gateway.wire.chat.call_ids import CallIds, with_own_ids
from gateway.wire.chat.kept import STATE, StateSoFar, given_back, prints_of
from gateway.wire.chat.said import split_parts

CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGE: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def made() -> StateSoFar:
    state = StateSoFar("up")
    state.think("reasoning", "One ")
    state.think("reasoning", "two.")
    state.take({"notes": [{"index": 0, "type": "t", "text": "a"}], "seal": "x"}, [])
    state.take({"notes": [{"index": 0, "type": "t", "text": "b"}, {"index": 0, "type": "u", "data": "c"}]}, [])
    state.call(0, "c1", "f", '{"a"', {"mark": {"deep": 1}})
    state.call(0, "", "", ": 1}", {})
    return state


def test_a_message_without_its_state_gets_all_of_it_back() -> None:
    notes = [{"index": 0, "type": "t", "text": "ab"}, {"index": 0, "type": "u", "data": "c"}]
    sent = given_back(MESSAGE, made().value, "up", "")
    assert sent == {
        **MESSAGE, "reasoning": "One two.", "notes": notes, "seal": "x", "tool_calls": [{**CALL, "mark": {"deep": 1}}],
    }  # fmt: skip
    assert given_back(MESSAGE, made().value, "up", "reasoning_content")["reasoning_content"] == "One two."
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "One two."}], "closed": True}
    assert given_back({**MESSAGE, "content": "So."}, made().value, "up", "parts")["content"] == [
        part, {"type": "text", "text": "So."},
    ]  # fmt: skip


def test_another_upstream_gets_nothing_of_it() -> None:
    full = {**MESSAGE, "reasoning_content": "One two.", "seal": "x", "tool_calls": [{**CALL, "mark": 1}]}
    assert given_back({**full, STATE: {"by": "up"}}, made().value, "other", "") == MESSAGE


def test_a_message_of_nobody_that_is_known_goes_on_as_the_client_has_it() -> None:
    full = {**MESSAGE, "reasoning_content": "Mine.", "seal": "x", "tool_calls": [{**CALL, "mark": 1}]}
    assert given_back(full, None, "up", "") == full


def test_a_call_is_found_by_its_name_and_arguments_and_never_by_its_id_alone() -> None:
    before = {"role": "user", "content": "go"}
    assert list(made().prints(before)) == list(prints_of(before, MESSAGE))
    spaced = {**CALL, "function": {"name": "f", "arguments": '{ "a":1 }'}}
    other = {**CALL, "function": {"name": "f", "arguments": '{"a": 2}'}}
    assert list(prints_of(before, {**MESSAGE, "tool_calls": [spaced]})) == list(prints_of(before, MESSAGE))
    assert list(prints_of(before, {**MESSAGE, "tool_calls": [other]})) != list(prints_of(before, MESSAGE))
    assert next(prints_of(None, MESSAGE))[0] != next(prints_of(before, MESSAGE))[0]


def test_parts_of_a_content_are_read_in_their_order() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "text", "text": "."}]}
    parts = ["So ", thought, {"type": "text", "text": "yes."}, {"type": "odd"}]
    assert split_parts(parts) == ("So yes.", "Hm.", [thought])


def test_repeated_ids_are_unique_for_the_client_and_the_upstreams_own_on_the_way_back() -> None:
    ids = CallIds([MESSAGE])
    given = [ids.unique("c1"), ids.unique("c1"), ids.unique("c2")]
    assert given == ["c1_again_2", "c1_again_3", "c2"]
    results = [{"role": "tool", "tool_call_id": each, "content": each} for each in ("c1", *given[:2])]
    again = {"role": "assistant", "tool_calls": [{**CALL, "id": each} for each in given[:2]]}
    turns = [MESSAGE, results[0], again, *results[1:]]
    sent = with_own_ids(turns)
    assert sent[:2] == turns[:2]
    assert [call["id"] for call in sent[2]["tool_calls"]] == ["c1", "c1_again_3"], "no two of one message alike"
    assert [each["tool_call_id"] for each in sent[3:]] == ["c1", "c1_again_3"]
