"""The table of promises and doors: one row a promise, which every way in keeps (`tests/support/doors.py`).

A cell that has no meaning stands in `EXCLUDED` with the sentence that says so.
"""

import asyncio
import contextlib
import gc
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from typing import Any

import orjson
import pytest

from tests.support.asking import MESSAGES, RESPONSES, send
from tests.support.doors import (
    DOORS,
    LIMITS,
    LIVE,
    POLLED,
    RESUMED,
    ROUTES,
    SCOPES,
    SOCKET,
    WHOLE,
    Door,
    Play,
    SocketWay,
    Stage,
    Told,
    Way,
    asking,
    staged,
    unfinished,
    used,
)
from tests.support.errors_alive import no_collections
from tests.support.gateways import Serve, start_in_process
from tests.support.hosted_search import SEARCH
from tests.support.waiting import until

pytestmark = pytest.mark.slow  # each promise at every door
JANE, BOB = "jane.doe@posthaus.org", "bob.ray@posthaus.org"
LIMIT_S = 10.0
PASSWORD = "tR4vel!ing77"
CONVERSATIONS, COMPACT = "/v1/conversations", "/v1/responses/compact"
REVERSIBLE = "[sanitize]\nroutes = ['chat', 'responses', 'websearch']\nprofile = 'reversible'\n"
PLAIN = "[sanitize]\nroutes = []\n"

EXCLUDED: dict[tuple[str, str], str] = {
    ("bad is charged", "mcp"): "Only tool calls count against a key's minute, each member of a batch by itself.",
    ("comes back", "mcp"): "Elsewhere (web tools, hosted calls, embeddings) `replace` means `redact`.",
    ("ends with its key", "whole"): "a stream that runs under a revoked key ends with an error event",
    ("ends with its key", "mcp"): "a stream that runs under a revoked key ends with an error event",
    ("stored state", "mcp"): "every published revision, 2024-11-05 to 2026-07-28, stateless",
}
UNSEEN_S = 0.3
"""How long it is watched that a call does not reach what is scripted."""


def row(name: str, doors: Iterable[Door] = DOORS, cases: Iterable[str] = ("",)) -> pytest.MarkDecorator:
    """The cells of a promise: one a door, or one a case and door. `case` is given to functions that have cases."""
    cells = []
    has_cases = tuple(cases) != ("",)
    for case in cases:
        for door in doors:
            full = f"{name}: {case}" if case else name
            if (name, door.name) in EXCLUDED or (full, door.name) in EXCLUDED:
                continue
            values = (door, case) if has_cases else (door,)
            cells.append(pytest.param(*values, id=f"{case}, {door.name}" if case else door.name))
    return pytest.mark.parametrize(("door", "case") if has_cases else ("door",), cells)


@pytest.fixture
async def plain(serve: Serve) -> AsyncIterator[Stage]:
    """No route is sanitized."""
    async with staged(serve, PLAIN) as made:
        yield made


@pytest.fixture
async def masked(serve: Serve) -> AsyncIterator[Stage]:
    """Every route is, with values that come back."""
    async with staged(serve, REVERSIBLE) as made:
        yield made


def test_ten_cells_at_most_are_excluded() -> None:
    assert len(EXCLUDED) <= 10


# --- what leaves -----------------------------------------------------------------------------------------------------


@row("leaves masked", (*DOORS, *ROUTES))
async def test_a_value_that_the_caller_types_leaves_masked(masked: Stage, door: Door) -> None:
    async with door.opened(masked) as way:
        told = await way.ask(f"write to {JANE}")
    assert told.error is None and masked.asked()
    assert JANE not in masked.left() + masked.server.log_text()
    assert "write to [EMAIL_1]" in masked.left() or "write to [REDACTED:EMAIL]" in masked.left()


@row("comes back", (*DOORS, *ROUTES), ("text", "arguments"))
async def test_a_value_comes_back_to_who_typed_it(masked: Stage, door: Door, case: str) -> None:
    if case == "arguments":
        masked.will(Play(calls=lambda text: orjson.dumps({"to": text.removeprefix("write to ")}).decode()))
    async with door.opened(masked) as way:
        told = await way.ask(f"write to {JANE}", **({"tools": [door.tool]} if case == "arguments" else {}))
    assert told.error is None and JANE not in masked.left()
    if case == "arguments":
        assert [orjson.loads(each) for each in told.arguments] == [{"to": JANE}]
    else:
        assert told.text == f"You said: write to {JANE}"


# --- what is kept ----------------------------------------------------------------------------------------------------


def introduced(talk: str) -> str:
    """A model that names the boss and the client of a talk, as far as it knows them."""
    known = [(word, re.search(rf"(?:my|your) {word} is ([^\s,]+[^\s,.])", talk)) for word in ("boss", "client")]
    return ", ".join(f"your {word} is {match[1]}" for word, match in known if match) + "."


async def carried(stage: Stage, way: Way, how: str, text: str, key: str = "") -> dict[str, Any]:
    """A turn, or items, that say `text`; the fields of the request that goes on from there."""
    if how == "stored response":
        return {"previous_response_id": (await way.ask(text)).id}
    if how == "compaction item":
        talk = [{"role": "user", "content": text}, {"role": "assistant", "content": "noted"}]
        status, compacted = await stage.ask("POST", COMPACT, {"model": "SvcLLM", "input": talk}, key)
        assert status == 200, compacted
        return {"before": compacted["output"][-1:]}
    if how == "item reference":
        told = await way.ask(text)
        said = [item["id"] for item in told.answer["output"] if item["type"] == "message"]
        return {"before": [{"type": "item_reference", "id": each} for each in said]}
    item = {"type": "message", "role": "user", "content": text}
    made = {"items": [item]} if how == "conversation made of items" else {}
    _, conversation = await stage.ask("POST", CONVERSATIONS, made, key)
    if how == "items added":
        path = f"{CONVERSATIONS}/{conversation['id']}/items"
        assert (await stage.ask("POST", path, {"items": [item]}, key))[0] == 200
    elif how == "conversation":
        assert (await way.ask(text, conversation=conversation["id"])).error is None
    return {"conversation": conversation["id"]}


async def gone_on(way: Way, text: str, fields: dict[str, Any]) -> Told:
    """The next turn after `carried`."""
    if (before := fields.pop("before", None)) is not None:
        fields["input"] = [*before, {"role": "user", "content": text}]
    return await way.ask(text, **fields)


CARRIERS = (
    "stored response", "conversation", "conversation made of items", "items added", "item reference", "compaction item",
)  # fmt: skip


@row("stored state", cases=[f"names, {how}" for how in CARRIERS])
async def test_two_people_of_two_turns_are_told_apart(masked: Stage, door: Door, case: str) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    async with door.opened(masked) as way:
        fields = await carried(masked, way, case.removeprefix("names, "), f"my boss is {JANE}")
        told = await gone_on(way, f"my client is {BOB}", fields)
    assert told.error is None and JANE not in masked.left() and BOB not in masked.left()
    assert told.text == f"your boss is {JANE}, your client is {BOB}."


@row("stored state", cases=("names, two maps",))
async def test_two_maps_that_meet_are_told_apart(masked: Stage, door: Door, case: str) -> None:
    """Or refused, where nothing can be renamed."""
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    async with door.opened(masked) as way:
        fields = await carried(masked, way, "compaction item", f"my boss is {JANE}")
        fields["previous_response_id"] = (await way.ask(f"my client is {BOB}")).id
        told = await gone_on(way, "who are they?", fields)
    assert JANE not in masked.left() and BOB not in masked.left()
    assert told.status == 400 or told.text == f"your boss is {JANE}, your client is {BOB}."


@row("stored state", cases=("names, typed",))
async def test_a_name_that_was_typed_into_an_item_is_nobodys(masked: Stage, door: Door, case: str) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    async with door.opened(masked) as way:
        fields = await carried(masked, way, "conversation made of items", "my boss is [EMAIL_1]")
        told = await gone_on(way, f"my client is {BOB}", fields)
    assert told.error is None and BOB not in masked.left()
    assert told.text == f"your boss is [EMAIL_1], your client is {BOB}."


@row("stored state", cases=[f"typed later, {how}" for how in CARRIERS])
async def test_a_name_that_is_typed_later_stays_as_it_is(masked: Stage, door: Door, case: str) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    async with door.opened(masked) as way:
        fields = await carried(masked, way, case.removeprefix("typed later, "), f"my boss is {JANE}")
        told = await gone_on(way, "my client is [EMAIL_1], word for word", fields)
    assert told.error is None and JANE not in masked.left()
    assert told.text == f"your boss is {JANE}, your client is [EMAIL_1]."


@row("stored state", cases=("map, stored response", "map, conversation"))
async def test_a_map_lives_as_long_as_what_it_belongs_to(masked: Stage, door: Door, case: str) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    how = case.removeprefix("map, ")
    async with door.opened(masked) as way:
        fields = await carried(masked, way, how, f"my boss is {JANE}")
        masked.later(50 * 60 if how == "stored response" else 25 * 86_400)
        told = await gone_on(way, "who is it?", fields)
    assert told.error is None and told.text == f"your boss is {JANE}."


@row("stored state", cases=("shown, response", "shown, its input", "shown, conversation", "shown, made of items"))
async def test_what_is_stored_is_shown_with_values_to_its_owner_alone(masked: Stage, door: Door, case: str) -> None:
    other, what = masked.make_key(), case.removeprefix("shown, ")
    async with door.opened(masked) as way:
        if what in ("response", "its input"):
            told = await way.ask(f"write to {JANE}")
            path = f"{RESPONSES}/{told.id}" + ("" if what == "response" else "/input_items")
        else:
            how = "conversation" if what == "conversation" else "conversation made of items"
            fields = await carried(masked, way, how, f"write to {JANE}")
            path = f"{CONVERSATIONS}/{fields['conversation']}/items"
            await gone_on(way, "go on", fields)
    status, shown = await masked.ask("GET", path)
    assert status == 200
    assert JANE in str(shown) and "[EMAIL_1]" not in str(shown)
    assert (await masked.ask("GET", path, key=other))[0] == 404


@row("stored state", cases=[f"rotated, {how}" for how in CARRIERS])
async def test_a_key_that_was_rotated_goes_on_with_what_the_first_has_stored(
    masked: Stage, door: Door, case: str
) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    old = masked.make_key()
    async with door.opened(masked, old) as way:
        fields = await carried(masked, way, case.removeprefix("rotated, "), f"my boss is {JANE}", old)
    middle = await masked.rotate(old)
    await masked.revoke(old)
    async with door.opened(masked, middle) as way:
        told = await gone_on(way, f"my client is {BOB}", dict(fields))
    assert told.error is None and told.text == f"your boss is {JANE}, your client is {BOB}."
    new = await masked.rotate(middle)
    await masked.revoke(middle)
    if "conversation" not in fields:
        fields = {"previous_response_id": told.id}
    async with door.opened(masked, new) as way:
        told = await gone_on(way, "who are they?", fields)
    assert told.error is None and told.text == f"your boss is {JANE}, your client is {BOB}."


async def test_the_metadata_of_a_conversation_are_shown_with_their_values(masked: Stage) -> None:
    item = {"type": "message", "role": "user", "content": f"write to {JANE}"}
    made = {"items": [item], "metadata": {"owner": JANE, "other": BOB}}
    _, conversation = await masked.ask("POST", CONVERSATIONS, made)
    path = f"{CONVERSATIONS}/{conversation['id']}"
    assert (await masked.ask("GET", path))[1]["metadata"] == {"owner": JANE, "other": BOB}
    _, changed = await masked.ask("POST", path, {"metadata": {"owner": "eve.low@posthaus.org", "other": JANE}})
    assert changed["metadata"] == {"owner": "eve.low@posthaus.org", "other": JANE}
    assert (await masked.ask("GET", path))[1] == changed
    _, page = await masked.ask("GET", f"{path}/items")
    assert page["data"][0]["content"][0]["text"] == f"write to {JANE}"
    _, changed = await masked.ask("DELETE", f"{path}/items/{page['data'][0]['id']}")
    assert changed["metadata"] == {"owner": "eve.low@posthaus.org", "other": JANE}
    assert JANE.encode() not in masked.on_disk()


@row("stored state", cases=("sealed",))
async def test_a_value_is_never_stored_in_the_clear(masked: Stage, door: Door, case: str) -> None:
    async with door.opened(masked) as way:
        assert (await way.ask(f"write to {JANE}")).error is None
    assert b"[EMAIL_1]" in masked.on_disk()
    assert JANE.encode() not in masked.on_disk()


@row("stored state", cases=("secret, stored response", "secret, conversation"))
async def test_a_secret_that_was_named_once_is_one_without_its_name_later(masked: Stage, door: Door, case: str) -> None:
    async with door.opened(masked) as way:
        fields = await carried(masked, way, case.removeprefix("secret, "), f"password: {PASSWORD}")
        told = await gone_on(way, f"try {PASSWORD} again", fields)
    assert told.error is None
    assert PASSWORD not in masked.left()


@row("stored state", cases=("running",))
async def test_nobody_goes_on_from_a_response_that_still_runs(plain: Stage, door: Door, case: str) -> None:
    held = plain.will(Play(holds=True))
    async with POLLED.opened(plain) as runs, asking(runs, held) as running:
        plain.will(Play())
        async with door.opened(plain) as way:
            told = await way.ask("next", previous_response_id=runs.begun[-1])
        held.go_on.set()
        assert (await running).error is None
    assert told.status == 409 and told.error["code"] == "response_in_progress"


KEPT_HERE = {"background", "conversation", "previous_response_id"}


@pytest.fixture
async def native(serve: Serve) -> AsyncIterator[Stage]:
    """The model's upstream speaks responses itself."""
    async with staged(serve, PLAIN, responses="'native'") as made:
        yield made


@row("stored state", cases=("native, plain", "native, stored response", "native, conversation"))
async def test_a_native_upstream_gets_nothing_that_the_gateway_keeps_itself(
    native: Stage, door: Door, case: str
) -> None:
    how = case.removeprefix("native, ")
    async with door.opened(native) as way, WHOLE.opened(native) as whole:
        fields = {} if how == "plain" else await carried(native, whole, how, "my boss is Jane")
        task = asyncio.create_task(way.ask("go on", **fields))
        await until(lambda: "go on" in str(native.left()), LIMIT_S)
        task.cancel()
        await asyncio.wait({task})
    for seen in (each for each in native.model.seen if "go on" in str(each.body)):
        assert not {name for name in KEPT_HERE if seen.body.get(name)} and not seen.body.get("store")


@row("stored state", cases=("native, one id",))
async def test_a_response_of_a_native_upstream_has_one_id_rising_numbers_and_an_end(
    native: Stage, door: Door, case: str
) -> None:
    async with door.opened(native) as way:
        task = asyncio.create_task(way.ask())
        await asyncio.wait({task}, timeout=LIMIT_S)
        ids = set(re.findall(r"resp_\w+", "".join(way.begun)))
        assert task.done()
        told = task.result()
    assert told.error is None and told.answer["status"] == "completed"
    assert len({each["response"]["id"] for each in told.events if "response" in each} | {told.id} | ids) == 1
    numbers = [each["sequence_number"] for each in told.events]
    assert numbers == sorted(set(numbers)) and len(numbers) == (numbers[-1] - numbers[0] + 1 if numbers else 0)


DISK = [f"full disk, {how}, {when}" for how in ("stored response", "conversation") for when in ("before", "meanwhile")]


@row("stored state", cases=DISK)
async def test_a_turn_that_cannot_be_kept_is_never_lost_in_silence(plain: Stage, door: Door, case: str) -> None:
    _, how, when = case.split(", ")
    await plain.ask("GET", f"{RESPONSES}/resp_none")  # makes the store
    async with door.opened(plain) as way:
        fields = {} if how == "stored response" else await carried(plain, way, "conversation made of items", "hello")
        held = plain.will(Play(holds=when == "meanwhile"))
        if when == "before":
            with plain.full_disk():
                told = await way.ask("remember", **fields)
        else:
            async with asking(way, held, "remember", **fields) as task:
                if door is RESUMED:  # it has left, and is back
                    await until(lambda: "client_gone" in plain.server.log_text(), LIMIT_S)
                    await until(lambda: len(plain.server.in_flight) > 0, LIMIT_S)
                with plain.full_disk():
                    held.go_on.set()
                    told = await task
    if told.error is None:
        assert await is_kept(plain, told, fields)
    elif when == "before":
        assert told.status == 503 and not plain.asked()


async def is_kept(stage: Stage, told: Told, fields: dict[str, Any]) -> bool:
    """Whether a turn is where it can be gone on from."""
    path = f"{CONVERSATIONS}/{fields['conversation']}/items" if fields else f"{RESPONSES}/{told.id}/input_items"
    status, found = await stage.ask("GET", path)
    return status == 200 and "remember" in str(found)


@row("another key", (*DOORS, *ROUTES))
async def test_another_key_never_sees_a_value(masked: Stage, door: Door) -> None:
    other = masked.make_key()
    async with door.opened(masked) as way, door.opened(masked, other) as others:
        told = await way.ask(f"write to {JANE}")
        assert told.error is None
        seen = [await others.ask("repeat [EMAIL_1] and [EMAIL_2]")]
        if (told.answer or {}).get("object") == "response":
            seen.append(await others.ask("repeat [EMAIL_1]", previous_response_id=told.id))
            assert seen[-1].error is not None
    assert JANE not in "".join(each.shown for each in seen) + masked.left()


# --- who may ---------------------------------------------------------------------------------------------------------


@row("ends with its key", cases=("revoked", "expired"))
async def test_what_runs_ends_with_its_key(plain: Stage, door: Door, case: str) -> None:
    key, held = plain.make_key(), plain.will(Play(holds=True))
    async with door.opened(plain, key) as way, asking(way, held) as task:
        await (plain.revoke(key) if case == "revoked" else plain.change_key(key, expires=int(time.time()) - 1))
        await asyncio.wait({task}, timeout=LIMIT_S)
        assert task.done() and (await task).error is not None
        await asyncio.wait_for(held.released.wait(), LIMIT_S)
        if isinstance(way, SocketWay):
            assert (await way.socket.event())["status"] == 401
            assert await way.socket.event() is None and way.socket.raw.close_code == 1008


@row("a key of now", cases=("revoked", "expired", "without the scope"))
async def test_what_a_key_is_now_counts_at_the_next_step(plain: Stage, door: Door, case: str) -> None:
    key, scopes = plain.make_key(), [scope for scope in SCOPES if scope != door.scope]
    async with door.opened(plain, key) as way:
        told = await way.ask()
        assert told.error is None
        if case == "revoked":
            await plain.revoke(key)
        else:
            change: dict[str, Any] = {"expires": int(time.time()) - 1} if case == "expired" else {"scopes": scopes}
            await plain.change_key(key, **change)
        asked = plain.asked()
        assert (await way.again(told)).status == (403 if case == "without the scope" else 401)
        assert plain.asked() == asked


@row("a tool's scope of now")
async def test_a_hosted_tool_whose_scope_was_taken_away_is_refused(plain: Stage, door: Door) -> None:
    key = plain.make_key()
    more: dict[str, Any] = {"tools": [SEARCH]} if door.limit else {}
    async with door.opened(plain, key) as way:
        assert (await way.ask(**more)).error is None
        await plain.change_key(key, scopes=[scope for scope in SCOPES if scope != "web-search"])
        asked = plain.asked()
        assert (await way.ask(**more)).status == 403
        assert plain.asked() == asked


@row("a minute of now")
async def test_the_minute_of_now_counts_what_is_asked_and_not_what_is_read(plain: Stage, door: Door) -> None:
    key = plain.make_key(per_minute=50)
    async with door.opened(plain, key) as way:
        told = await way.ask()
        await plain.change_key(key, per_minute=1)
        if door in (RESUMED, POLLED):
            assert (await way.again(told)).status == 200
        await assert_not_served(plain, way, may_refuse=door is not SOCKET)


@row("concurrency of now")
async def test_the_requests_at_once_of_now_are_counted(plain: Stage, door: Door) -> None:
    key, held = plain.make_key(concurrent=9), plain.will(Play(holds=True))
    async with door.opened(plain, key) as other, door.opened(plain, key) as way, asking(way, held) as task:
        await plain.change_key(key, concurrent=1)
        await assert_not_served(plain, other)
        held.go_on.set()
        assert (await task).error is None


async def assert_not_served(stage: Stage, way: Way, *, may_refuse: bool = True) -> None:
    """A call is refused with 429, or waits, as a socket's do: clients take a 429 for the end."""
    asked, late = stage.asked(), asyncio.create_task(way.ask("late"))
    with contextlib.suppress(TimeoutError):
        await until(lambda: late.done() or stage.asked() != asked, UNSEEN_S)
    assert stage.asked() == asked
    assert not late.done() or (may_refuse and late.result().status == 429)
    late.cancel()
    await asyncio.wait({late})


@row("one slot is enough")
async def test_a_key_with_one_request_at_once_can_use_every_door(plain: Stage, door: Door) -> None:
    async with door.opened(plain, plain.make_key(concurrent=1)) as way:
        task = asyncio.create_task(way.ask())
        await asyncio.wait({task}, timeout=LIMIT_S)
        assert task.done()
        assert task.result().error is None


# --- how much --------------------------------------------------------------------------------------------------------


async def burst(stage: Stage, door: Door, key: str, text: str, fields: dict[str, Any]) -> list[Told]:
    """Eight calls at once, each over a connection of its own."""
    async with AsyncExitStack() as stack:
        ways = [await stack.enter_async_context(door.opened(stage, key)) for _ in range(8)]
        return await asyncio.gather(*(way.ask(text, **fields) for way in ways))


@row("reserved before", (*DOORS, *ROUTES), ("output", "output by another field", "hidden output", "input"))
async def test_calls_at_once_never_exceed_a_budget_together(plain: Stage, door: Door, case: str) -> None:
    """The model says as much as it was allowed by any field, or thinks so much and shows a word of it, or reads every
    character that it gets."""
    budget, is_input, is_hidden = (2_150 if case == "input" else 10_000), case == "input", case == "hidden output"
    counts = (lambda body: used(1, max(body.get(name, 0) for name in LIMITS))) if is_hidden else all_read
    play = plain.will(Play(counts=counts, fills=not is_input and not is_hidden))
    more: dict[str, Any] = {name: 3000 for name in LIMITS if name == door.limit or case == "output by another field"}
    if case == "output by another field":
        more["max_completion_tokens" if door in ROUTES[:2] else door.limit] = 16
    elif is_input:
        more[door.limit] = 16
    if is_hidden:  # from its first answer on it is known that nobody sees what this model makes
        async with door.opened(plain, plain.make_key(tokens_per_day=1_000_000)) as way:
            await way.ask(**(more if door.limit else {}))
        play.spent = 0
        plain.search.asked.clear()
    key = plain.make_key(tokens_per_day=budget, tool_calls_per_day=4)
    text = "word " * (380 if is_input else 1)
    told = await burst(plain, door, key, text, more if door.limit else {})
    assert any(each.error is None for each in told)
    said = sum(len(each.text) for each in told) // 4 if door.limit else 0
    assert (said if play.fills else play.spent) <= budget
    if not door.limit:
        assert len(plain.search.asked) == 4


def all_read(body: Any) -> dict[str, int]:
    """The usage of a model for which four characters are a token, whatever part of the request they are."""
    return used(len(orjson.dumps(body)) // 4, 5)


@row("stored state", cases=("budget, stored response", "budget, conversation"))
async def test_stored_history_is_reserved_too(plain: Stage, door: Door, case: str) -> None:
    key, budget = plain.make_key(), 17_500
    plain.will(Play(says=lambda _: "noted"))
    async with door.opened(plain, key) as way:
        fields = await carried(plain, way, case.removeprefix("budget, "), "word " * 4_000, key)
    await plain.change_key(key, tokens_per_day=budget)
    play = plain.will(Play(counts=all_read))
    is_read_alone = "conversation" in fields and door not in (LIVE, RESUMED, POLLED)
    more = {"store": False} if is_read_alone else {}
    told = await burst(plain, door, key, "hi", {door.limit: 16, **fields, **more})
    assert any(each.error is None for each in told)
    assert play.spent <= budget


@row("settled after", (*DOORS, *ROUTES), ("nothing told",))
async def test_an_upstream_that_tells_no_tokens_is_counted_all_the_same(plain: Stage, door: Door, case: str) -> None:
    plain.will(Play(says=lambda _: "word " * 400, counts=lambda _: used(0, 0)))
    key = plain.make_key(tokens_per_day=100_000)
    async with door.opened(plain, key) as way:
        assert (await way.ask("word " * 40)).error is None
    await plain.work(key)
    rows = await plain.usage(key)
    assert sum(each["output_tokens"] >= 200 for each in rows) == 1 or not door.limit
    assert sum(each["tool_calls"] for each in rows) == (door.scope == "web-search")


# --- what is told ----------------------------------------------------------------------------------------------------


@row("early failure", (*DOORS, *ROUTES), ("plain", "sanitized"))
async def test_an_upstream_that_fails_at_once_is_an_error_and_no_answer(serve: Serve, door: Door, case: str) -> None:
    async with staged(serve, REVERSIBLE if case == "sanitized" else PLAIN) as stage:
        stage.will(Play(fails=500))
        key = stage.make_key()
        async with door.opened(stage, key) as way:
            told = await way.ask()
        assert told.error is not None and told.text == ""
        if door.fails_by == "status":
            assert told.status in (502, 503)
        (line,) = await stage.work(key)
        assert line["status"] == (502 if door.fails_by == "response" else told.status)
        kind = "2xx" if door.fails_by == "result" else "5xx"
        assert await stage.metric("gateway_requests_total", endpoint=line["endpoint"], status=kind) == 1


@row("one line", (*DOORS, *ROUTES))
async def test_a_call_has_one_log_line_and_one_record_of_usage(plain: Stage, door: Door) -> None:
    key = plain.make_key()
    async with door.opened(plain, key) as way:
        assert (await way.ask()).error is None
    (line,) = await plain.work(key)
    assert (line["status"], line["outcome"]) == (200, "ok")
    (used,) = [row for row in await plain.usage(key) if row["requests"] and (row["model"] or row["tool"])]
    rounds = len(plain.model.seen)
    assert (used["requests"], used["input_tokens"], used["output_tokens"]) == (1, 3 * rounds, 2 * rounds)


@row("error form", (*DOORS, *ROUTES))
async def test_an_error_has_the_form_of_its_interface(plain: Stage, door: Door) -> None:
    wrong: dict[str, Any] = {"model": "Unknown"} if door.limit else {"max_results": 99}
    async with door.opened(plain) as way:
        told = await way.ask(**wrong)
    if not door.limit:
        assert told.status == 200 and told.error.keys() >= {"type", "message", "retryable"}
        assert told.answer["result"]["isError"] is True
    else:
        assert told.status == 404 and told.error.keys() >= {"type", "message", "code"}
        own = {"type": "error"} if door.path == MESSAGES or door is SOCKET else {}
        assert own.items() <= (told.answer or told.events[-1]).items()
    assert not plain.asked()


# --- how it ends -----------------------------------------------------------------------------------------------------


@row("client leaves", (*DOORS, *ROUTES), ("before the answer", "within it"))
async def test_a_client_that_leaves_ends_its_call_unless_it_runs_in_the_background(
    plain: Stage, door: Door, case: str
) -> None:
    key, held = plain.make_key(), plain.will(Play(holds=True, is_mute=case == "before the answer"))
    async with door.opened(plain, key) as way, asking(way, held):
        pass
    if door.how:
        held.go_on.set()
        await until(lambda: bool(plain.runs(key)), LIMIT_S)
        assert not held.released.is_set() and plain.runs(key)[0]["outcome"] == "ok"
    else:
        await asyncio.wait_for(held.released.wait(), LIMIT_S)
        (line,) = await plain.work(key)
        assert (line["status"], line["outcome"]) == (499, "client_gone")


@row("drain", (*DOORS, *ROUTES[1::2]))
async def test_what_outlasts_a_drain_ends_with_an_error(plain: Stage, door: Door) -> None:
    held = plain.will(Play(holds=True))
    async with door.opened(plain) as way, asking(way, held) as task:
        await asyncio.wait_for(plain.server.listener.drain(0.1, keep_accepting=True), LIMIT_S)
        await asyncio.wait_for(plain.server.listener.close(), LIMIT_S)
        await asyncio.wait_for(held.released.wait(), LIMIT_S)
        if door not in (RESUMED, POLLED):
            told = await task
            assert told.error is not None and "shutting down" in told.shown
            return
    folder = plain.server.config.state_dir
    async with start_in_process(folder, (folder / "gateway.toml").read_text()) as again:
        path = f"{RESPONSES}/{way.begun[-1]}" + ("?stream=true" if door is RESUMED else "")
        _, found, _ = await send(again, path, method="GET", key=plain.server.key)
    last = found[-1]["response"] if door is RESUMED else found
    assert last["status"] == "failed" and "the server was stopped" in last["error"]["message"]


# --- how large -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def small(serve: Serve) -> AsyncIterator[Stage]:
    """Bodies are small, and soon late."""
    async with staged(serve, PLAIN, "max_body_bytes = 65536\nbody_timeout_s = 0.3\n") as made:
        yield made


@row("too large")
async def test_a_body_or_message_that_is_too_large_is_refused(small: Stage, door: Door) -> None:
    async with door.opened(small) as way:
        status = await way.refused(way.raw("x" * 70_000))
        assert status == (1009 if door is SOCKET else 413) and not small.asked()


@pytest.mark.parametrize(
    "more", [b"\0\x80\0\0\0\0" * 4_100, b"\x8a\x80\0\0\0\0" * 20_100], ids=["empty frames", "pongs"]
)
async def test_a_socket_that_sends_frames_without_end_is_told_and_closed(plain: Stage, more: bytes) -> None:
    answer = await asyncio.wait_for(unfinished(plain, SOCKET, plain.server.key, more), LIMIT_S)
    assert b"too many small frames" in answer


@row("unfinished")
async def test_a_body_or_message_without_an_end_is_not_waited_for(small: Stage, door: Door) -> None:
    task = asyncio.create_task(unfinished(small, door, small.server.key))
    await asyncio.wait({task}, timeout=LIMIT_S)
    is_over = task.done()
    task.cancel()
    await asyncio.wait({task})
    assert is_over
    assert door is SOCKET or b" 408 " in task.result().split(b"\r\n")[0]


@row("bad is charged")
async def test_a_bad_body_or_message_is_a_call_of_the_minute(plain: Stage, door: Door) -> None:
    async with door.opened(plain, plain.make_key(per_minute=2)) as way:
        assert await way.refused(b"{") == await way.refused(b"[") == 400
        await assert_not_served(plain, way)


JUNK = [{"a": 1}] * 40_000


@row("what waits is small")
async def test_what_waits_for_a_slot_is_not_decoded(plain: Stage, door: Door) -> None:
    key, held = plain.make_key(concurrent=1), plain.will(Play(holds=True))
    async with WHOLE.opened(plain, key) as whole, door.opened(plain, key) as other, asking(whole, held):
        raw = other.raw("late", junk=JUNK)
        with no_collections():
            before = sys.getallocatedblocks()
            for _ in range(5):
                await other.send(raw)
            await asyncio.sleep(UNSEEN_S)  # a message may be decoded for as long as it is looked at
            await until(lambda: sys.getallocatedblocks() - before < len(JUNK), LIMIT_S)


@row("nothing is left")
async def test_a_closed_connection_leaves_nothing_for_the_garbage_collector(plain: Stage, door: Door) -> None:
    async def once() -> None:
        async with door.opened(plain) as way:
            assert (await way.ask()).error is None
        await until(lambda: not len(plain.server.in_flight), LIMIT_S)
        plain.server.log_text()

    await once()
    with no_collections():
        before = own_objects()
        for _ in range(3):
            await once()
        end_s = time.monotonic() + LIMIT_S
        while any(count >= 3 for count in (own_objects() - before).values()):
            assert time.monotonic() < end_s, own_objects() - before
            await asyncio.sleep(0.1)


def own_objects() -> Counter[str]:
    """How many objects of the gateway's classes exist."""
    names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(name for name in names if name.startswith("gateway."))
