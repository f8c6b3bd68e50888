"""Stored responses: bounded in number, bytes and age, whatever ids an upstream gives them."""

import pytest

from gateway.domain import Json
from gateway.errors import InvalidRequest, NotFound
from gateway.services.completion.response_store import MAX_HISTORY_BYTES, MAX_HISTORY_ITEMS, ResponseStore


def response(identity: str, text: str = "x") -> Json:
    return {"id": identity, "output": [{"id": f"msg_{identity}", "type": "message", "content": text}]}


def test_an_id_that_is_used_again_holds_no_more_room_than_once() -> None:
    store = ResponseStore(max_bytes=2_000)
    for _ in range(100):
        store.put("key1", response("resp_same", "a" * 200), [])
    assert len(store) == 1
    store.put("key1", response("resp_other"), [])
    assert store.get("key1", "resp_same").response["output"][0]["content"] == "a" * 200
    assert b'"message"' in store.item("key1", "msg_resp_same")


def test_the_oldest_go_first_when_there_is_no_room() -> None:
    store = ResponseStore(max_entries=2)
    for name in ("resp_1", "resp_2", "resp_3"):
        store.put("key1", response(name), [])
    with pytest.raises(NotFound):
        store.get("key1", "resp_1")
    with pytest.raises(NotFound):
        store.item("key1", "msg_resp_1")
    assert len(store) == 2 and store.get("key1", "resp_3").response["id"] == "resp_3"


def test_one_keys_large_answers_do_not_evict_anothers() -> None:
    store = ResponseStore(bytes_per_key=4_000, max_bytes=16_000)
    store.put("small", response("resp_kept"), [])
    for number in range(50):
        store.put("flood", response(f"resp_{number}", "a" * 3_000), [])
    assert store.history("small", "resp_kept") and store.item("small", "msg_resp_kept")
    assert store.get("flood", "resp_49") and len(store) == 6
    with pytest.raises(NotFound):
        store.item("flood", "msg_resp_0")


def test_what_is_read_is_a_copy_of_its_own() -> None:
    store = ResponseStore()
    store.put("key1", response("resp_1", "as it was"), [{"id": "msg_0", "role": "user", "content": "hi"}])
    store.get("key1", "resp_1").response["output"][0]["content"] = "changed"
    store.history("key1", "resp_1")[0]["content"] = "changed"
    assert [item["content"] for item in store.history("key1", "resp_1")] == ["hi", "as it was"]


def test_a_history_has_a_limit_of_items_and_of_bytes_and_says_what_to_do() -> None:
    store = ResponseStore()
    items: list[Json] = [{"id": f"msg_{number}", "content": "x"} for number in range(MAX_HISTORY_ITEMS)]
    store.put("key1", response("resp_1"), items[1:])
    assert len(store.history("key1", "resp_1")) == MAX_HISTORY_ITEMS
    store.put("key1", response("resp_2"), items)
    with pytest.raises(
        InvalidRequest, match=rf"{MAX_HISTORY_ITEMS + 1} items; the limit is {MAX_HISTORY_ITEMS}; begin"
    ):
        store.history("key1", "resp_2")
    store.put("key1", response("resp_3", "x" * MAX_HISTORY_BYTES), [])
    with pytest.raises(InvalidRequest, match=f"bytes; the limit is {MAX_HISTORY_BYTES}; begin"):
        store.history("key1", "resp_3")
