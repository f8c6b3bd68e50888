"""The table of promises and doors: one row a promise, which every way in keeps (`tests/support/doors.py`).

A cell that fails today stands in `RED` with what happens instead, and must fail: who mends it deletes its line. A cell
that has no meaning stands in `EXCLUDED` with the sentence that says so.
"""

from collections.abc import AsyncIterator, Iterable

import orjson
import pytest

from tests.support.doors import DOORS, ROUTES, Door, Play, Stage, staged
from tests.support.gateways import StartGateway

JANE, BOB = "jane.doe@posthaus.org", "bob.ray@posthaus.org"
REVERSIBLE = "[sanitize]\nroutes = ['chat', 'responses', 'websearch']\nprofile = 'reversible'\n"
PLAIN = "[sanitize]\nroutes = []\n"

EXCLUDED: dict[tuple[str, str], str] = {
    ("comes back", "mcp"): "Elsewhere (web tools, hosted calls, embeddings) `replace` means `redact`.",
}
RED: dict[tuple[str, str], str] = {
    ("comes back: text", "background live"): "N2: the stream shows [EMAIL_1]",
    ("comes back: text", "background resumed"): "N2: the stream shows [EMAIL_1]",
    ("comes back: arguments", "background live"): "N2: the stream shows [EMAIL_1] in a call's arguments",
    ("comes back: arguments", "background resumed"): "N2: the stream shows [EMAIL_1] in a call's arguments",
    ("a revoked key is refused", "socket"): "M5: the upstream is asked before the turn is refused",
    ("early failure: sanitized", "streamed"): "N1: 200 and an error event",
    ("early failure: sanitized", "hosted"): "N1: 200 and an error event",
    ("early failure: sanitized", "chat streamed"): "N1: 200 and an error event",
    ("early failure: sanitized", "messages streamed"): "N1: 200 and an error event",
    ("early failure: plain", "background live"): "N1: the run's line says 500 where its upstream failed",
    ("early failure: plain", "background resumed"): "N1: the run's line says 500 where its upstream failed",
    ("early failure: plain", "background polled"): "N1: the run's line says 500 where its upstream failed",
    ("early failure: sanitized", "background live"): "N1: the run's line says 500 where its upstream failed",
    ("early failure: sanitized", "background resumed"): "N1: the run's line says 500 where its upstream failed",
    ("early failure: sanitized", "background polled"): "N1: the run's line says 500 where its upstream failed",
}
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
