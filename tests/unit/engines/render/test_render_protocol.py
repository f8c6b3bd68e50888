"""The DevTools protocol as the render process reads it: hostile messages cost nothing but themselves."""

import asyncio
import base64
import os
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.domain import Json
from gateway.engines.render import browser, frames
from gateway.engines.render.browser import BrowserGone, CommandFailed, Connection, NoAnswer, is_renderer
from gateway.engines.render.tab import MAX_POSTED_BYTES, read_paused


def connected(answer: bytes = b"") -> tuple[asyncio.StreamReader, Connection]:
    """A connection, and its reading end, where `answer` comes after each command that is written."""
    source = asyncio.StreamReader()
    return source, Connection(source, Mock(write=lambda data: source.feed_data(answer) if answer else None))


async def test_a_command_is_answered_refused_or_given_up() -> None:
    source, connection = connected(b'{"id":1,"result":{"a":1}}\0{"id":2,"error":{"code":1}}\0')
    reading = asyncio.create_task(connection.run())
    assert await connection.call("First") == {"a": 1}
    with pytest.raises(CommandFailed):
        await connection.call("Second", timeout_s=1)
    with pytest.raises(NoAnswer, match="Third"):
        await connection.call("Third", timeout_s=0.05)
    source.feed_eof()
    await reading
    with pytest.raises(BrowserGone):
        await connection.call("Fourth")


async def test_commands_that_wait_when_the_browser_ends_fail_at_once() -> None:
    source, connection = connected()
    reading = asyncio.create_task(connection.run())
    waiting = asyncio.create_task(connection.call("Page.navigate"))
    await asyncio.sleep(0)
    source.feed_eof()
    with pytest.raises(BrowserGone):
        await waiting
    await reading


async def test_events_reach_the_listener_of_their_session_alone() -> None:
    source, connection = connected()
    heard: list[tuple[str, str, Json]] = []
    for session in ("", "s1"):
        connection.listen(session, lambda method, given, session=session: heard.append((session, method, given)))  # type: ignore[misc]
    connection.listen("s2", lambda method, given: heard.append(("s2", method, given)))
    connection.forget("s2")
    source.feed_data(b'{"method":"a"}\0{"method":"b","sessionId":"s1","params":{"x":1}}\0')
    source.feed_data(b'{"method":"c","sessionId":"s2"}\0')
    source.feed_data(b'{"method":"d","sessionId":"s1","params":[]}\0nonsense\0[]\0{"method":5}\0{"id":"x"}\0{"id":7}\0')
    source.feed_eof()
    await connection.run()
    assert heard == [("", "a", {}), ("s1", "b", {"x": 1}), ("s1", "d", {})]


@pytest.mark.slow
async def test_a_message_that_is_too_large_is_skipped_and_the_next_one_is_read() -> None:
    source, connection = connected()
    heard: list[str] = []
    connection.listen("", lambda method, _: heard.append(method))
    reading = asyncio.create_task(connection.run())
    piece = b"x" * 8_388_608
    for _ in range(browser.MAX_MESSAGE_BYTES // len(piece) + 2):
        source.feed_data(piece)
        await asyncio.sleep(0)
    source.feed_data(b'\0{"method":"next"}\0')
    source.feed_eof()
    await reading
    assert heard == ["next"]


def paused(**request: Any) -> Json:
    whole = {"url": "http://a/", "method": "GET", "headers": {}, **request}
    return {"requestId": "r1", "resourceType": "Fetch", "frameId": "f", "request": whole}


def test_a_paused_request_is_read_with_what_the_gateway_needs_to_know() -> None:
    entries = [{"bytes": base64.b64encode(b"ab").decode()}, {"bytes": base64.b64encode(b"c").decode()}]
    headers = {"Accept": "a/b", "ORIGIN": "http://o", "Content-Type": "x/y", "Cookie": "secret", "Odd": 5}
    request = read_paused("s", paused(method="POST", headers=headers, hasPostData=True, postDataEntries=entries), "f")
    assert request is not None and request.body == b"abc" and not request.is_main
    assert request.head == {
        "url": "http://a/", "method": "POST", "kind": "Fetch", "accept": "a/b", "origin": "http://o", "sends": "x/y",
        "is_main": False, "is_service_worker": False,
    }  # fmt: skip
    main = read_paused("s", {**paused(), "resourceType": "Document"}, "f")
    frame = read_paused("s", {**paused(), "resourceType": "Document"}, "other")
    assert main is not None and main.is_main and frame is not None and not frame.is_main


@pytest.mark.parametrize(
    "entries",
    [None, {}, [5], [{}], [{"bytes": 5}], [{"bytes": "?"}], [{"bytes": "QUJD" * MAX_POSTED_BYTES}],
     [{"bytes": base64.b64encode(b"x" * MAX_POSTED_BYTES).decode()}, {"bytes": "QQ=="}]],
    ids=range(8),
)  # fmt: skip
def test_a_post_that_cannot_be_had_or_is_too_large_has_no_body(entries: Any) -> None:
    request = read_paused("s", paused(hasPostData=True, postDataEntries=entries), "f")
    assert request is not None and request.body is None


@pytest.mark.parametrize(
    "message",
    [{}, {**paused(), "requestId": 5}, {**paused(), "resourceType": None}, {**paused(), "request": "x"},
     paused(url=5), paused(method=None)],
    ids=range(6),
)  # fmt: skip
def test_a_message_that_chromium_would_not_send_is_no_request(message: Json) -> None:
    assert read_paused("s", message, "f") is None


def test_the_longest_request_fits_a_frame() -> None:
    long = "\x01" * 100_000
    request = read_paused("s", paused(url=long, method=long, headers=dict.fromkeys(("accept", "origin"), long)), "f")
    assert request is not None and len(request.head["url"]) <= 4_001
    frames.pack({"event": "request", "id": 1, **request.head})


def test_a_frame_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(frames.BadFrame):
        frames.pack({"x": "y" * frames.MAX_HEAD_BYTES})
    with pytest.raises(frames.BadFrame):
        frames.pack({}, bytes(frames.MAX_BODY_BYTES + 1))


def test_the_memory_of_a_process_group_is_counted() -> None:
    assert browser.private_bytes(os.getpgrp())[os.getpid()] > 1_000_000
    assert not is_renderer(os.getpid()) and not is_renderer(0)


def test_memory_is_taken_from_what_fills_it_and_not_from_the_pages_beside() -> None:
    mb = 1 << 20
    frames_of_one = dict.fromkeys(range(100, 150), 20 * mb)
    page = {7: 80 * mb}
    assert browser.victims({**page, **frames_of_one}, 190 * mb) == list(range(149, 139, -1))
    assert browser.victims({7: 80 * mb, 8: 900 * mb, 9: 30 * mb}, 100 * mb) == [8]
    assert browser.victims({7: 500 * mb, 8: 600 * mb, 9: 30 * mb}, 700 * mb) == [8, 7]
    assert browser.victims({7: 80 * mb, 8: 30 * mb}, 200 * mb) == [8, 7] and browser.victims({}, 1) == []
