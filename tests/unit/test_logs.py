"""Log lines: one JSON object each, and no secret in any of them."""

import asyncio
import io
import logging
from collections.abc import Iterator

import orjson
import pytest

from gateway import logs
from tests.support.waiting import until


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level, own = root.handlers[:], root.level, logs.log.handlers[:]
    stream = io.StringIO()
    logs.set_up("info", "json", stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)
    logs.log.handlers[:] = own


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_with_its_fields(stream: io.StringIO) -> None:
    logs.event("request", {"status": 200}, tool="extract")
    (line,) = lines(stream)
    assert (line["event"], line["status"], line["tool"], line["level"]) == ("request", 200, "extract", "info")


def test_text_that_looks_like_a_key_is_hidden_even_when_another_library_logs_it(stream: io.StringIO) -> None:
    logging.getLogger("elsewhere").warning("header was Authorization: Bearer abcdefghijklmnop\nnext")
    (line,) = lines(stream)
    assert "abcdefghijklmnop" not in str(line) and stream.getvalue().count("\n") == 1


def test_the_http_library_does_not_log_raw_requests(stream: io.StringIO) -> None:
    logging.getLogger("aiohttp.server").error("Error handling request %r", b"Authorization: Bearer x")
    assert lines(stream) == []


async def test_lines_of_a_running_loop_are_written_together_soon_after(stream: io.StringIO) -> None:
    logs.event("request", {"status": 200})
    logs.event("request", {"status": 201})
    assert stream.getvalue() == ""
    await until(lambda: bool(stream.getvalue()), 2)
    assert [line["status"] for line in lines(stream)] == [200, 201]


async def test_a_warning_is_written_at_once_with_what_came_before(stream: io.StringIO) -> None:
    logs.event("request")
    logs.event("trouble", level=logging.WARNING)
    assert [line["event"] for line in lines(stream)] == ["request", "trouble"]


async def test_lines_that_a_finished_loop_left_are_written_with_the_next_one(stream: io.StringIO) -> None:
    def other_loop() -> None:
        async def once() -> None:
            logs.event("first")

        asyncio.run(once())
        logs.event("second")

    await asyncio.to_thread(other_loop)
    assert [line["event"] for line in lines(stream)] == ["first", "second"]


def test_a_failure_is_logged_by_its_place_and_not_by_its_text() -> None:
    try:
        raise ValueError("prompt text")
    except ValueError as error:
        text = logs.failure(error)
    assert text.startswith("ValueError at test_logs.py:") and "prompt" not in text
