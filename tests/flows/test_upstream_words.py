"""What an upstream says of a failure: to the caller whole, to the operator without the request, to nobody its key."""

import asyncio
from typing import Any

import orjson
import pytest

from gateway.services.completion.quotations import without_quotations
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, RESPONSES, send, toml
from tests.support.doors import body_for
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

KEY, CARD, PROMPT = "sk-upstream-key-0123456789", "4539 1488 0343 6467", "the quick brown fox jumps"
STATUSES: dict[int, tuple[int, str, bool]] = {
    400: (400, "odd_code", False), 401: (502, "upstream_credentials", False), 402: (502, "upstream_payment", False),
    403: (502, "upstream_credentials", False), 404: (502, "upstream_misconfigured", False),
    500: (502, "upstream_error", True), 503: (503, "upstream_unavailable", True),
    529: (503, "upstream_unavailable", True),
}  # fmt: skip
"""{the upstream's status: the caller's, its code, and whether trying again may help}."""


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream, api_key="{ credential = 'up' }"), GATEWAY_CREDENTIAL_UP=KEY)


def failure(status: int, words: str, **headers: str) -> up.Script:
    error = {"message": words, "type": "odd_type", "code": "odd_code"}
    return up.answer({"error": error}, status=status, Retry_After="7", **headers)


def lines(server: Gateway) -> list[Any]:
    told = [orjson.loads(line) for line in server.log_text().splitlines()]
    return [line for line in told if line["event"] in ("upstream_failed", "upstream_refused")]


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.slow  # every status on every route
async def test_its_words_are_told_and_what_helps(server: Gateway, path: str, status: int, stream: bool) -> None:
    words = f"the GPU is gone, {PROMPT}, key {KEY}, at http://10.1.2.3:8000/v1 " + "and so on " * 60
    server.upstream.will(failure(status, words))
    got, data, headers = await send(server, path, body_for(path, PROMPT, stream=stream))
    wanted, code, helps = STATUSES[status]
    message = data["error"]["message"]
    assert (got, data["error"]["code"]) == (wanted, code) and "the GPU is gone" in message
    assert len(message.partition("It says: ")[2] or message) <= 300
    assert ("Retry-After" in headers) == helps
    assert wanted < 409 or headers["X-Should-Retry"] == str(helps).lower()
    (line,) = lines(server)
    assert line["cause"] == f"status {status} odd_type odd_code"
    assert line["said"].startswith("the GPU is gone") and "[hidden]" in line["said"]
    for text in (message, server.log_text()):
        assert KEY not in text and "10.1.2.3" not in text
    assert PROMPT not in server.log_text() and "quick brown" not in server.log_text()


async def test_an_error_in_a_stream_has_its_words_too(server: Gateway, upstream: Upstream) -> None:
    error = {"error": {"message": f"worker died on {PROMPT}", "type": "server_error", "code": 500}}
    upstream.will(up.stream(up.chunk({"content": "Hel"}), up.frame(error)))
    _, events, _ = await send(server, CHAT, body_for(CHAT, PROMPT, stream=True))
    assert f"worker died on {PROMPT}" in events[-1]["error"]["message"]
    (line,) = lines(server)
    assert line["said"] == "worker died on [hidden]" and line["cause"] == "status 500 server_error"


async def test_the_notes_say_what_it_said_without_the_request(server: Gateway, upstream: Upstream) -> None:
    upstream.will(failure(500, f"out of memory at {PROMPT}"))
    for _ in range(6):
        await send(server, CHAT, body_for(CHAT, PROMPT))
    upstream.will(up.reset())
    for _ in range(6):
        await send(server, CHAT, body_for(CHAT, PROMPT))
        await asyncio.sleep(0)
    _, ready, _ = await send(server, server.ops_url + "/readyz", method="GET")
    assert PROMPT not in str(ready)


CUT: list[tuple[str, Any, str]] = [
    ("bad: my secret letter", {"content": "my secret letter"}, "bad: [hidden]"),
    ("bad: MY SECRET  LETTER!", {"content": "my secret\nletter"}, "bad: MY SECRET  LETTER!"),
    ("bad: MY SECRET LETTER!", {"content": "my secret\n letter"}, "bad: [hidden]!"),
    ("short words stay", {"content": "short word"}, "short words stay"),
    ("number 4539148803436467 is wrong", {"input": [{"card": 4539148803436467}]}, "number [hidden] is wrong"),
    ("twice abcdefghijkl and abcdefghijkl.", {"a": "abcdefghijkl"}, "twice [hidden] and [hidden]."),
    ("escaped \\\"abcdefgh\\\" there", {"a": 'x "abcdefgh" y'}, "escaped[hidden]there"),
    ("İ abcdefghijklm", {"a": "abcdefghijklm"}, "İ [hidden]"),
    ("anything at all", {"a": "x" * 300_000}, ""),
    ("", {"a": "b"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("words", "request_", "told"), CUT)
def test_quotations_are_cut(words: str, request_: Any, told: str) -> None:
    assert without_quotations(words, request_) == told


MASKED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'


@pytest.mark.parametrize("stream", [False, True])
async def test_a_value_that_it_quotes_is_masked(serve: Serve, upstream: Upstream, stream: bool) -> None:
    server = await serve(toml(upstream) + MASKED)
    upstream.will(failure(500, f"no such card {CARD} today"))
    _, data, _ = await send(server, CHAT, body_for(CHAT, PROMPT, stream=stream))
    assert CARD not in str(data) and "no such card [REDACTED:CREDIT_CARD] today" in data["error"]["message"]
