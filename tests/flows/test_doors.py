"""The table of promises and doors: one row a promise, which every way in keeps (`tests/support/doors.py`).

A cell that fails today stands in `RED` with what happens instead, and must fail: who mends it deletes its line. A cell
that has no meaning stands in `EXCLUDED` with the sentence that says so.
"""

import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

import orjson
import pytest

from tests.support.asking import RESPONSES
from tests.support.doors import DOORS, POLLED, ROUTES, Door, Play, Stage, Told, Way, asking, staged
from tests.support.gateways import StartGateway

JANE, BOB = "jane.doe@posthaus.org", "bob.ray@posthaus.org"
PASSWORD = "tR4vel!ing77"
CONVERSATIONS = "/v1/conversations"
REVERSIBLE = "[sanitize]\nroutes = ['chat', 'responses', 'websearch']\nprofile = 'reversible'\n"
PLAIN = "[sanitize]\nroutes = []\n"

EXCLUDED: dict[tuple[str, str], str] = {
    ("comes back", "mcp"): "Elsewhere (web tools, hosted calls, embeddings) `replace` means `redact`.",
    ("stored state", "mcp"): "every published revision, 2024-11-05 to 2026-07-28, stateless",
}
ALL = "whole, streamed, socket, background live, background resumed, background polled, hosted"
RUNS = "background live, background resumed, background polled"
_FAILS: tuple[tuple[str, str, str], ...] = (
    ("comes back: text", "background live, background resumed", "N2: the stream shows [EMAIL_1]"),
    ("comes back: arguments", "background live, background resumed", "N2: the stream shows [EMAIL_1] in a call"),
    ("stored state: names, stored response", "background live, background resumed", "N2: the stream shows [EMAIL_1]"),
    ("stored state: names, conversation", "background live, background resumed", "N2: the stream shows [EMAIL_1]"),
    ("stored state: names, conversation made of items", ALL, "H1: both are [EMAIL_1], the boss gets the client's mail"),
    ("stored state: names, items added", ALL, "H1: both are [EMAIL_1], the boss gets the client's mail"),
    ("stored state: names, item reference", ALL, "H1, N3: both are [EMAIL_1], the boss gets the client's mail"),
    ("stored state: map, stored response", "background live, background resumed", "N2: the stream shows [EMAIL_1]"),
    ("stored state: map, conversation", ALL, "H1: the map of a conversation ends after an hour"),
    ("stored state: shown, conversation", ALL, "N3: items of turns are shown with placeholders"),
    ("stored state: shown, made of items", ALL, "N3, H1: items are shown with placeholders"),
    ("stored state: sealed", "hosted", "new: the query of a stored web_search_call is the value in the clear"),
    ("stored state: secret, stored response", ALL, "N9: the secret reaches the model in the clear"),
    ("stored state: secret, conversation", ALL, "N9: the secret reaches the model in the clear"),
    ("stored state: running", ALL, "N5: answered without the answer that still runs"),
    ("a revoked key is refused", "socket", "M5: the upstream is asked before the turn is refused"),
    ("early failure: sanitized", "streamed, hosted, chat streamed, messages streamed", "N1: 200 and an error event"),
    ("early failure: plain", RUNS, "N1: the run's line says 500 where its upstream failed"),
    ("early failure: sanitized", RUNS, "N1: the run's line says 500 where its upstream failed"),
)
RED = {(row, door): reason for row, doors, reason in _FAILS for door in doors.split(", ")}
"""What happens instead, by row and door, with its letter in the list of faults."""
_CELLS: set[tuple[str, str]] = set()


def row(name: str, doors: Iterable[Door] = DOORS, cases: Iterable[str] = ("",)) -> pytest.MarkDecorator:
    """The cells of a promise: one a door, or one a case and door. `case` is given to functions that have cases."""
    cells = []
    has_cases = tuple(cases) != ("",)
    for case in cases:
        for door in doors:
            full = f"{name}: {case}" if case else name
            _CELLS.add((full, door.name))
            if (name, door.name) in EXCLUDED or (full, door.name) in EXCLUDED:
                continue
            red = RED.get((full, door.name))
            marks = [pytest.mark.xfail(reason=red, raises=AssertionError)] if red else []
            values = (door, case) if has_cases else (door,)
            cells.append(pytest.param(*values, marks=marks, id=f"{case}, {door.name}" if case else door.name))
    return pytest.mark.parametrize(("door", "case") if has_cases else ("door",), cells)


@pytest.fixture
async def plain(start_gateway: StartGateway) -> AsyncIterator[Stage]:
    """No route is sanitized."""
    async with staged(start_gateway, PLAIN) as made:
        yield made


@pytest.fixture
async def masked(start_gateway: StartGateway) -> AsyncIterator[Stage]:
    """Every route is, with values that come back."""
    async with staged(start_gateway, REVERSIBLE) as made:
        yield made


def test_ten_cells_at_most_are_excluded_and_every_red_one_is_a_cell() -> None:
    assert len(EXCLUDED) <= 10
    assert RED.keys() <= _CELLS and not RED.keys() & EXCLUDED.keys()


# --- what leaves -----------------------------------------------------------------------------------------------------


@row("leaves masked", (*DOORS, *ROUTES))
async def test_a_value_that_the_caller_types_leaves_masked(masked: Stage, door: Door) -> None:
    async with door.opened(masked) as way:
        told = await way.ask(f"write to {JANE}")
    assert told.error is None and masked.asked()
    assert JANE not in masked.left()
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


async def carried(stage: Stage, way: Way, how: str, text: str) -> dict[str, Any]:
    """A turn, or items, that say `text`; the fields of the request that goes on from there."""
    if how == "stored response":
        return {"previous_response_id": (await way.ask(text)).id}
    if how == "item reference":
        told = await way.ask(text)
        said = [item["id"] for item in told.answer["output"] if item["type"] == "message"]
        return {"references": said}
    item = {"type": "message", "role": "user", "content": text}
    made = {"items": [item]} if how == "conversation made of items" else {}
    _, conversation = await stage.ask("POST", CONVERSATIONS, made)
    if how == "items added":
        assert (await stage.ask("POST", f"{CONVERSATIONS}/{conversation['id']}/items", {"items": [item]}))[0] == 200
    elif how == "conversation":
        assert (await way.ask(text, conversation=conversation["id"])).error is None
    return {"conversation": conversation["id"]}


async def gone_on(way: Way, text: str, fields: dict[str, Any]) -> Told:
    """The next turn after `carried`."""
    if (references := fields.pop("references", None)) is not None:
        found = [{"type": "item_reference", "id": each} for each in references]
        fields["input"] = [*found, {"role": "user", "content": text}]
    return await way.ask(text, **fields)


CARRIERS = ("stored response", "conversation", "conversation made of items", "items added", "item reference")


@row("stored state", cases=[f"names, {how}" for how in CARRIERS])
async def test_two_people_of_two_turns_are_told_apart(masked: Stage, door: Door, case: str) -> None:
    masked.will(Play(says=introduced, searches=lambda _: "weather"))
    async with door.opened(masked) as way:
        fields = await carried(masked, way, case.removeprefix("names, "), f"my boss is {JANE}")
        told = await gone_on(way, f"my client is {BOB}", fields)
    assert told.error is None and JANE not in masked.left() and BOB not in masked.left()
    assert told.text == f"your boss is {JANE}, your client is {BOB}."


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


@row("a revoked key is refused")
async def test_a_key_that_was_revoked_is_refused_at_the_next_step(plain: Stage, door: Door) -> None:
    key = plain.make_key()
    async with door.opened(plain, key) as way:
        told = await way.ask()
        assert told.status == 200
        await plain.revoke(key)
        asked = plain.asked()
        assert (await way.again(told)).status == 401 and plain.asked() == asked


# --- what is told ----------------------------------------------------------------------------------------------------


@row("early failure", (*DOORS, *ROUTES), ("plain", "sanitized"))
async def test_an_upstream_that_fails_at_once_is_an_error_and_no_answer(
    start_gateway: StartGateway, door: Door, case: str
) -> None:
    async with staged(start_gateway, REVERSIBLE if case == "sanitized" else PLAIN) as stage:
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
        endpoint = line["endpoint"]
        assert await stage.metric("gateway_requests_total", endpoint=endpoint, status=kind) == 1


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
