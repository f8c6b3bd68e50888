"""Stored responses: bounded in number, bytes and age, whatever ids an upstream gives them."""

import pytest

from gateway.domain import Caller, Event, EventStream, Json
from gateway.errors import InvalidRequest, NotFound, StateUnavailable
from gateway.services.responses.store import MAX_HISTORY_BYTES, MAX_HISTORY_ITEMS, ResponseStore, Storing
from gateway.shared_state.memory import MemoryEntries
from gateway.shared_state.port import Entry, StateDown


def caller(key_id: str) -> Caller:
    return Caller(key_id, "", frozenset())


def response(identity: str, text: str = "x") -> Json:
    return {"id": identity, "output": [{"id": f"msg_{identity}", "type": "message", "content": text}]}


async def test_an_id_that_is_used_again_holds_no_more_room_than_once() -> None:
    store = ResponseStore(entries := MemoryEntries(2_000, 2_000))
    for _ in range(100):
        await store.put("key1", response("resp_same", "a" * 200), [])
    assert len(entries) == 1
    await store.put("key1", response("resp_other"), [])
    assert (await store.get("key1", "resp_same")).response["output"][0]["content"] == "a" * 200
    assert b'"message"' in (await store.item(caller("key1"), "msg_resp_same"))[0]


async def test_the_oldest_go_first_when_there_is_no_room() -> None:
    store = ResponseStore(entries := MemoryEntries(10**6, 10**6, max_entries=2))
    for name in ("resp_1", "resp_2", "resp_3"):
        await store.put("key1", response(name), [])
    with pytest.raises(NotFound):
        await store.get("key1", "resp_1")
    with pytest.raises(NotFound):
        await store.item(caller("key1"), "msg_resp_1")
    assert len(entries) == 2 and (await store.get("key1", "resp_3")).response["id"] == "resp_3"


async def test_one_keys_large_answers_do_not_evict_anothers() -> None:
    store = ResponseStore(entries := MemoryEntries(16_000, 4_000))
    await store.put("small", response("resp_kept"), [])
    for number in range(50):
        await store.put("flood", response(f"resp_{number}", "a" * 3_000), [])
    assert (await store.history("small", "resp_kept")).history and await store.item(caller("small"), "msg_resp_kept")
    assert await store.get("flood", "resp_49") and len(entries) == 6
    with pytest.raises(NotFound):
        await store.item(caller("flood"), "msg_resp_0")


async def test_what_is_read_is_a_copy_of_its_own() -> None:
    store = ResponseStore(MemoryEntries(2**26, 2**24))
    await store.put("key1", response("resp_1", "as it was"), [{"id": "msg_0", "role": "user", "content": "hi"}])
    (await store.get("key1", "resp_1")).response["output"][0]["content"] = "changed"
    (await store.history("key1", "resp_1")).history[0]["content"] = "changed"
    assert [item["content"] for item in (await store.history("key1", "resp_1")).history] == ["hi", "as it was"]


async def test_a_history_has_a_limit_of_items_and_of_bytes_and_says_what_to_do() -> None:
    store = ResponseStore(MemoryEntries(2**26, 2**24))
    items: list[Json] = [{"id": f"msg_{number}", "content": "x"} for number in range(MAX_HISTORY_ITEMS)]
    await store.put("key1", response("resp_1"), items[1:])
    assert len((await store.history("key1", "resp_1")).history) == MAX_HISTORY_ITEMS
    await store.put("key1", response("resp_2"), items)
    with pytest.raises(
        InvalidRequest, match=rf"{MAX_HISTORY_ITEMS + 1} items; the limit is {MAX_HISTORY_ITEMS}; begin"
    ):
        await store.history("key1", "resp_2")
    await store.put("key1", response("resp_3", "x" * MAX_HISTORY_BYTES), [])
    with pytest.raises(InvalidRequest, match=f"bytes; the limit is {MAX_HISTORY_BYTES}; begin"):
        await store.history("key1", "resp_3")


class AwayEntries(MemoryEntries):
    """A store that cannot be reached."""

    async def get(self, owner: str, name: str) -> bytes | None:
        raise StateDown

    async def put(self, entry: Entry) -> bool:
        raise StateDown


async def test_while_the_store_is_away_nothing_is_said_to_be_missing() -> None:
    store = ResponseStore(AwayEntries(1_000, 1_000))
    await store.put("key1", response("resp_1"), [])
    for asking in (store.get("key1", "resp_1"), store.history("key1", "resp_1"), store.delete("key1", "resp_1")):
        with pytest.raises(StateUnavailable, match="try again") as refusal:
            await asking
        assert (refusal.value.status, refusal.value.retryable) == (503, True)


async def test_the_event_that_tells_of_a_response_waits_until_the_response_can_be_found() -> None:
    store = ResponseStore(MemoryEntries(2**20, 2**20))
    storing = Storing([lambda response: store.put("key1", response, [])])

    async def events() -> EventStream:
        storing.put({**response("resp_1"), "store": True})
        yield [Event.from_data({"type": "response.completed"})]

    async for _ in storing.stored(events()):
        assert (await store.get("key1", "resp_1")).response["id"] == "resp_1"
