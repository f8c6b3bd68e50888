"""Answers as events: progress, cancellation, limits, and when there is a stream at all."""

import asyncio
import json
from typing import Any

import pytest

from gateway.errors import NotAcceptable, RateLimited
from tests.support.paths import GOLDEN
from tests.support.web_tools import Desk, bounded, request, tool_call

BOTH = {"Accept": "application/json, text/event-stream"}
EVENTS = {"Accept": "text/event-stream"}
CRAWL = tool_call("crawl", {"url": "https://example.com/"}, token="t")


ACCEPTED = json.loads((GOLDEN / "mcp_accept.json").read_text())
"""Headers `Accept` and tokens of progress, and whether the answer is a stream of events."""


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: f"{case['accept']}, {case['token']}")
def test_accept_and_token_decide_between_json_and_events(case: dict[str, Any]) -> None:
    headers = {} if case["accept"] is None else {"Accept": case["accept"]}
    exchange = Desk().check(tool_call("crawl", {"url": "https://example.com/"}, token=case["token"]), headers)
    assert exchange.wants_events is case["streamed"]


@pytest.mark.parametrize("accept", [
    "text/html", "application/xml, image/*", "application/json;q=0", "application/json ; Q = 0.", "*/*;q=0.000",
    "text/*, text/event-stream;q=0", "application/json;q=0, text/event-stream;q=0, */*", ";q=1",
])  # fmt: skip
def test_an_accept_that_allows_neither_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        Desk().check(request("ping"), {"Accept": accept})


def test_a_call_that_is_refused_already_needs_no_stream() -> None:
    assert Desk().check(tool_call("crawl", {}, token="t"), BOTH).wants_events is False


async def test_progress_rises_strictly_and_the_answer_comes_last() -> None:
    *notes, answer = await bounded(Desk().stream(CRAWL, {**BOTH, "MCP-Protocol-Version": "2025-11-25"}))
    assert notes and all(note["method"] == "notifications/progress" for note in notes)
    figures = [note["params"]["progress"] for note in notes]
    assert figures == sorted(set(figures)) and figures[-1] == 2
    assert all(note["params"]["progressToken"] == "t" and note["params"]["total"] == 3 for note in notes)
    assert notes[-1]["params"]["message"] == "2 of 3 pages"
    assert answer["id"] == 1 and answer["result"]["isError"] is False


async def test_progress_has_no_message_in_2024_11_05() -> None:
    events = await bounded(Desk().stream(CRAWL, {**BOTH, "MCP-Protocol-Version": "2024-11-05"}))
    assert len(events) > 1 and all("message" not in event["params"] for event in events[:-1])


async def test_without_a_token_there_is_no_progress() -> None:
    desk = Desk()
    events = await bounded(desk.stream(tool_call("crawl", {"url": "https://example.com/"}), EVENTS))
    assert len(events) == 1 and desk.tools.seen[0][2].progress is None and not desk.tools.seen[0][2].patient


async def test_a_token_makes_the_call_patient_even_without_a_stream() -> None:
    desk = Desk()
    await desk.ask(CRAWL)
    assert desk.tools.seen[0][2].patient and desk.tools.seen[0][2].progress is None


async def test_a_batch_as_events_gives_each_answer_when_it_is_there() -> None:
    body = [CRAWL, request("ping", None, 2), tool_call("map", {"url": "https://example.com/"}, call_id=3)]
    answers = [event["id"] for event in (await bounded(Desk().stream(body, BOTH))) if "id" in event]
    assert sorted(answers) == [1, 2, 3] and answers[-1] == 1


async def test_a_stream_over_the_limit_fails_before_its_first_event() -> None:
    desk = Desk()
    desk.allowance = 0
    with pytest.raises(RateLimited):
        await bounded(desk.stream(CRAWL, BOTH))


def cancelled(meant: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": meant}}


async def waiting_crawl(desk: Desk, call_id: Any, client: str = "client") -> "asyncio.Task[Any]":
    desk.tools.release = desk.tools.release or asyncio.Event()
    exchange = desk.check(tool_call("crawl", {"url": "https://example.com/"}, call_id=call_id))
    task = asyncio.ensure_future(desk.dispatcher.answer(exchange, desk.caller(client)))
    await bounded(desk.tools.all_started(1))
    return task


async def test_a_cancelled_notification_ends_the_call_it_names() -> None:
    desk = Desk()
    task = await waiting_crawl(desk, 7)
    desk.dispatcher.notify(desk.check(cancelled(7)), desk.caller())
    answer = await bounded(task)
    assert answer["id"] == 7 and answer["error"]["code"] == -32800 and desk.tools.cancelled.is_set()
    assert not task.cancelled() and task.cancelling() == 0


async def succeeded(desk: Desk, *tasks: "asyncio.Task[Any]") -> list[bool]:
    """Whether the crawls end well that wait for their release."""
    assert desk.tools.release is not None
    desk.tools.release.set()
    return [(await bounded(task))["success"] for task in tasks]


OTHER = [("7", "client"), (8, "client"), (7.0, "client"), (None, "client"), (True, "client"), (7, "another of the key")]


@pytest.mark.parametrize(("meant", "client"), OTHER)
async def test_a_notification_of_another_call_or_client_changes_nothing(meant: Any, client: str) -> None:
    desk = Desk()
    task = await waiting_crawl(desk, 7)
    desk.dispatcher.notify(desk.check(cancelled(meant)), desk.caller(client))
    assert await succeeded(desk, task) == [True]


async def test_where_two_calls_have_one_name_neither_is_cancelled() -> None:
    desk = Desk()
    tasks = [await waiting_crawl(desk, 7), await waiting_crawl(desk, 7)]
    desk.dispatcher.notify(desk.check(cancelled(7)), desk.caller())
    assert await succeeded(desk, *tasks) == [True, True]


@pytest.mark.parametrize("count", [1, 2], ids=["a call", "a batch"])
async def test_a_client_that_leaves_cancels_the_work_and_gets_no_answer(count: int) -> None:
    desk = Desk()
    desk.tools.release = asyncio.Event()
    body = [tool_call("crawl", {"url": "https://example.com/"}, call_id=n) for n in range(count)]
    task = asyncio.ensure_future(desk.dispatcher.answer(desk.check(body if count > 1 else body[0]), desk.caller()))
    await bounded(desk.tools.all_started(count))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(task)
    assert desk.tools.cancelled.is_set()


async def test_a_call_that_never_ends_is_ended() -> None:
    desk = Desk(longest_call_s=0.05)
    desk.tools.release = asyncio.Event()
    answer = await bounded(desk.call("crawl", {"url": "https://example.com/"}))
    assert answer.is_error and answer.error["type"] == "upstream_error" and answer.error["retryable"]
