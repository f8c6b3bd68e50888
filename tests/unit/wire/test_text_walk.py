"""The walk hands out every string and every property name, and its short forms find what the walk finds."""

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sanitize.scanner import Scanner
from gateway.texts import GroupSlot, TextSlot
from gateway.wire import field_rules as rules
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.responses.call_kinds import CALL_KINDS
from gateway.wire.responses.dialect import ResponsesDialect
from gateway.wire.responses.object import new_id
from gateway.wire.text_walk import KeySlot, PropertyNames, answer_slots, answer_unit, request_steps
from tests.support.counted_work import growth

NAMES = st.sampled_from(
    ["Key", "x-y", "text", "content", "name", "id", "enum", "arguments", "metadata", "logprobs", "a"]
)
PLAIN = st.text(max_size=12) | st.integers() | st.none() | st.booleans()
NESTED = lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4)  # noqa: E731
JSON = st.recursive(PLAIN, NESTED, max_leaves=25)


def request_slots(value: Any, where: str = "") -> list[TextSlot]:
    """All slots of a request's value."""
    return list(request_steps(value, where))[-1]


def strings(value: Any) -> list[str]:
    """Naive form: every string value that is not empty, and every name that is no bare word; no rule asked."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, dict):
        names = [name for name in value if not rules.is_plain_word(name)]
        return [each for member in value.values() for each in strings(member)] + names
    return [each for member in value for each in strings(member)] if isinstance(value, list) else []


def alone(slots: Iterable[TextSlot]) -> list[TextSlot]:
    """The slots with the members of groups in their place."""
    return [member for slot in slots for member in (slot.members if isinstance(slot, GroupSlot) else [slot])]


def is_skipped(text: str) -> bool:
    return bool(rules.is_plain_word(text) or rules.is_made_id(text))


@pytest.mark.slow
@given(st.dictionaries(NAMES, JSON, max_size=5))
def test_every_string_is_handed_out_but_bare_words_and_made_ids(body: dict[str, Any]) -> None:
    for slots in (request_slots(copy.deepcopy(body)), answer_slots(copy.deepcopy(body))):
        found = "\n".join(slot.text for slot in slots)
        assert all(text in found for text in strings(body) if not is_skipped(text))


@pytest.mark.slow
@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=20))
def test_nothing_is_found_in_a_bare_word(word: str) -> None:
    assert rules.is_plain_word(word) and not Scanner().scan_uncached(word)


@given(st.text(alphabet="0123456789abcdef", min_size=24, max_size=48), st.sampled_from(["", "call_", "chatcmpl-tool-"]))
def test_ids_of_any_upstream_are_not_looked_at(digits: str, prefix: str) -> None:
    assert rules.is_made_id(prefix + digits)


PREFIXES = [*(kind.id_prefix for kind in CALL_KINDS.values()), "ws", "mcp", "mcpl", "mcpr", "resp", "msg", "srvtoolu"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_ids_that_the_gateway_makes_are_not_looked_at(prefix: str) -> None:
    assert rules.is_made_id(new_id(prefix))


@pytest.mark.parametrize("prefix", ["shpat_", "key-", "sk-", "rk_live_", "pat-", "any_word_"])
def test_a_key_of_a_prefix_and_hexadecimal_digits_is_no_made_id(prefix: str) -> None:
    assert not rules.is_made_id(prefix + "0a1b2c3d4e5f60718293a4b5c6d7e8f9")


@given(st.integers(0, 99_999), st.sampled_from(["chatcmpl-", "call_", "msg_", "chatcmpl-tool-"]))
def test_in_an_id_of_a_prefix_and_a_few_digits_nothing_is_found(number: int, prefix: str) -> None:
    assert rules.is_made_id(f"{prefix}{number}") and not Scanner().scan_uncached(f"id: {prefix}{number}")
    assert not rules.is_made_id(str(number)) and not rules.is_made_id(f"{prefix}4{number:05d}")


def test_a_data_url_in_a_structural_place_is_scanned_by_itself() -> None:
    (slot,) = request_slots({"enum": ["data:text/plain;base64,aGVsbG8gdGhlcmU="]})
    assert (slot.form, slot.where) == ("name", "enum[0]")
    (slot,) = answer_slots({"enum": ["data:text/plain;base64,aGVsbG8gdGhlcmU="]})
    assert slot.form == "data"


@pytest.mark.slow
def test_a_deep_body_is_walked_without_recursion() -> None:
    body: dict[str, Any] = {"text": "bottom"}
    for _ in range(50_000):
        body = {"a": [body]}
    assert [slot.text for slot in request_slots(body)] == ["bottom"]


def test_a_path_never_holds_a_name_that_may_be_a_value() -> None:
    body = {"4539 1488 0343 6467": {"deep": "text"}, "maxTokens": {"a": "b"}}
    places = [slot.where for slot in alone(request_slots(body))]
    assert places == ["*.deep", "maxTokens.a", *["the body: a property name"] * 2]


TOKENS = [
    ("encrypted_content", {"type": "reasoning"}, True), ("signature", {"type": "thinking"}, True),
    ("signature", {"type": "letter"}, False), ("data", {"type": "redacted_thinking"}, True),
    ("data", {"type": "text"}, False), ("content", {"type": "reasoning"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("field", "holder", "is_opaque"), TOKENS)
def test_tokens_of_a_model_service_pass_in_their_places_only(field: str, holder: Any, is_opaque: bool) -> None:
    body = {**holder, field: "Z0FBQUFBQm8tMTIz"}
    assert (not [slot for slot in alone(request_slots(body)) if slot.key == field]) == is_opaque
    assert [slot for slot in alone(request_slots({**holder, field: "two words"})) if slot.key == field]
    too_long = {**holder, field: "A" * (rules.MAX_OPAQUE_CHARS + 1)}
    assert [slot for slot in alone(request_slots(too_long)) if slot.key == field]


@given(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=30))
def test_the_short_form_for_plain_messages_is_the_walk(role: str, content: str) -> None:
    message = {"role": role, "content": content}
    units = list(ChatDialect().request_units({"messages": [message]}))
    assert [slot for unit in units for slot in unit.slots] == request_slots(message, "messages[0]")


def whole(slots: Any) -> list[tuple[str, Any]]:
    return [(slot.text, slot.channel) for slot in alone(slots) if slot.text]


def test_the_short_forms_for_plain_deltas_are_the_walk() -> None:
    choice = {"index": 0, "delta": {"content": "a b"}, "finish_reason": None}
    made, odd = "chatcmpl-" + "0a" * 16, "chatcmpl-not made"
    chunk = {"object": "chat.completion.chunk", "choices": [choice], "created": 1}
    assert whole(ChatDialect().event_slots({**chunk, "id": made})) == [("a b", (0, "content"))]
    assert whole(ChatDialect().event_slots({**chunk, "id": odd})) == [("a b", (0, "content")), (odd, None)]
    event = {"type": "response.output_text.delta", "delta": "a b", "content_index": 0}
    channel = ("msg_" + "0a" * 24, "response.output_text", "0")
    (piece,) = ResponsesDialect().event_slots({**event, "item_id": channel[0]})
    assert (piece.text, piece.channel) == ("a b", channel)
    slots = alone(ResponsesDialect().event_slots({**event, "item_id": odd, "Odd": "words"}))
    assert {slot.text for slot in slots} >= {"a b", odd, "Odd", "words"}
    assert [slot.channel for slot in slots if slot.text == "a b"] == [(odd, *channel[1:])]


def test_a_large_body_is_walked_in_steps_and_members_are_left_out_at_the_root_alone() -> None:
    body = {"model": "Not scanned", **{f"k{number}": {"model": f"Model {number}"} for number in range(2_000)}}
    body["list"] = [f"Item {number}" for number in range(3_000)]
    steps = list(request_steps(body, skip=frozenset(("model",))))
    texts = {slot.text for slot in alone(steps[-1])}
    assert len(steps) > 8 and "Not scanned" not in texts
    assert texts >= {f"Model {number}" for number in range(2_000)} | {f"Item {number}" for number in range(3_000)}
    assert texts >= {f"k{number}" for number in range(2_000)}


def test_a_whole_number_is_read_like_an_integer_though_it_is_written_with_a_point() -> None:
    body = {"x": 4539148803436467.0, "rows": [4539148803436467.0, 1732260000.25, 7.0]}
    assert [slot.text for slot in alone(request_slots(body))] == ["4539148803436467"] * 2


def test_a_large_part_of_an_answer_is_walked_in_steps_and_gives_what_a_walk_at_once_gives() -> None:
    value = {"note": "x" * 200, "more": ["ab cd"] * 3_000, "A B": {"text": ["one", "two"]}}
    unit = answer_unit((value, "choices[0]", frozenset(("note",))), ({"y": "z"}, "", frozenset()), owner=value)
    found = [list(slots) for slots in unit.steps(keeps_all=True)]
    seen = alone([slot for slots in found for slot in slots] + [slot for slot in unit.slots if slot.flow is not None])
    expected = alone(answer_slots(value, "choices[0]", frozenset(("note",))) + answer_slots({"y": "z"}))
    assert len(found) >= 5
    assert sorted((slot.where, slot.text) for slot in seen) == sorted((slot.where, slot.text) for slot in expected)


def test_a_small_part_of_an_answer_is_walked_when_its_unit_is_made() -> None:
    unit = answer_unit(({"content": "hello"}, "message", frozenset()), owner=None)
    assert unit.only_slot is not None and unit.only_slot.text == "hello"


# --- property names, masked in time linear in their number ------------------------------------------------------------


def test_a_renamed_property_becomes_the_last_and_loses_no_neighbour() -> None:
    holder: dict[str, object] = {"a": 1, "x@y": 2, "MASK": 3}
    KeySlot.of(holder, "x@y", "", "label", PropertyNames()).text = "MASK"
    assert list(holder.items()) == [("a", 1), ("MASK", 3), ("MASK_2", 2)]


def test_names_that_become_equal_get_different_numbers_and_keep_their_values() -> None:
    names = PropertyNames()
    holder: dict[str, object] = {f"x{number}": number for number in range(200)}
    slots = [KeySlot.of(holder, name, "", "label", names) for name in list(holder)]
    for slot in slots:
        slot.text = "MASK"
    assert sorted(holder.values(), key=str) == sorted(range(200), key=str)
    assert set(holder) == {"MASK", *(f"MASK_{number}" for number in range(2, 201))}
    assert all(holder[slot.text] == number for number, slot in enumerate(slots))


def test_a_value_whose_name_was_masked_is_still_read_and_replaced_through_its_slot() -> None:
    data = {"answer": {"x@example.org": "a text that is long enough to be a slot of its own " * 4}}
    slots = answer_slots(data)
    value = next(slot for slot in slots if slot.form == "text")
    name = next(slot for slot in slots if isinstance(slot, KeySlot))
    name.text = "[REDACTED:EMAIL]"
    assert value.is_there
    value.text = "gone"
    assert data == {"answer": {"[REDACTED:EMAIL]": "gone"}}


def test_the_work_of_renaming_grows_with_the_number_of_names() -> None:
    def rename(holder: dict[str, object]) -> None:
        names = PropertyNames()
        for name in list(holder):
            KeySlot.of(holder, name, "", "label", names).text = "[REDACTED:EMAIL]"

    assert growth(rename, lambda count: {f"x{number}": number for number in range(count)}, 500) < 3
