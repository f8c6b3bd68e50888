"""The web-tools path over HTTP, on real sockets under the production runner: the table of raw requests, and what is
HTTP's part of MCP: keys, origins, methods, Accept, streams, clients that leave, the end of the server."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from multidict import CIMultiDict

from tests.support.mcp_cases import CASES, NO_BODY
from tests.support.web_tools import bounded, modern, request, tool_call
from tests.support.web_tools_site import MOST_BODY_BYTES, PATH, WebToolsSite, web_tools_site

BOTH = {"Accept": "application/json, text/event-stream"}
CRAWL = tool_call("crawl", {"url": "https://example.com/"}, token="t")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebToolsSite]:
    async with web_tools_site(tmp_path) as running:
        yield running


async def test_every_raw_request_of_the_table_gets_its_status_and_code(site: WebToolsSite) -> None:
    """One server for all: whatever one case leaves behind must not trouble the next."""
    wrong = []
    for name, headers, body, status, code, call_id in CASES:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        async with site.post(raw, headers) as answer:
            text = await answer.read()
            told = orjson.loads(text) if text else None
            expected = None if code is NO_BODY else (call_id, code)
            found = None if told is None else (told["id"], told.get("error", {}).get("code"))
            if (answer.status, found) != (status, expected) or answer.headers.get("X-Request-Id") is None:
                wrong.append((name, answer.status, told))
    assert wrong == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
async def test_other_methods_are_405_and_say_what_is_allowed(site: WebToolsSite, method: str) -> None:
    headers = {**site.headers, "Last-Event-ID": "1", "Mcp-Session-Id": "x", "Accept": "text/event-stream"}
    async with site.session.request(method, site.url, headers=headers) as answer:
        assert answer.status == 405 and answer.headers["Allow"] == "POST"
        if method != "HEAD":
            assert (await answer.json())["error"]["code"] == -32600


@pytest.mark.parametrize("path", [
    "/.well-known/oauth-protected-resource", f"/.well-known/oauth-protected-resource{PATH}",
    "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/register", f"{PATH}/", "/sse",
])  # fmt: skip
async def test_paths_that_clients_probe_are_404_without_a_key_and_never_redirect(site: WebToolsSite, path: str) -> None:
    for method in ("GET", "POST"):
        url = f"http://127.0.0.1:{site.port}{path}"
        async with site.session.request(method, url, allow_redirects=False) as answer:
            assert answer.status == 404


@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer wrong", "Basic eDp5", "Bearer  "])
async def test_without_a_key_the_answer_is_401_before_the_body_is_read(
    site: WebToolsSite, authorization: str | None
) -> None:
    for body in (b"{", b"x" * 2 * MOST_BODY_BYTES):
        async with site.post(body, {"Authorization": authorization}) as answer:
            told = await answer.json()
            assert answer.status == 401 and told["jsonrpc"] == "2.0" and told["id"] is None
            challenge = answer.headers["WWW-Authenticate"]
            assert challenge.startswith("Bearer realm=") and "resource_metadata" not in challenge


async def test_the_scheme_of_the_key_is_read_in_any_case(site: WebToolsSite) -> None:
    async with site.post(request("ping"), {"Authorization": f"bEARER {site.key}"}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, request("ping"), 415),
        ({"Content-Type": None}, request("ping"), 415),
        ({"Content-Type": "application/jsonx"}, request("ping"), 415),
        ({"Content-Type": "APPLICATION/JSON; charset=utf-8"}, request("ping"), 200),
        ({"Accept": "text/html"}, request("ping"), 406),
        ({"Accept": "image/*, text/html;q=0.9"}, request("ping"), 406),
        ({"Accept": None}, request("ping"), 200),
        ({"Accept": "*/*"}, request("ping"), 200),
        ({"Mcp-Session-Id": "unknown"}, request("ping"), 200),
        ({"Last-Event-ID": "5"}, request("ping"), 200),
        ({"Origin": "https://evil.example"}, request("ping"), 403),
        ({"Origin": "null"}, request("ping"), 403),
        ({"Origin": "http://localhost.evil.example"}, request("ping"), 403),
        ({"Origin": "http://localhost:3000"}, request("ping"), 200),
        ({"Content-Encoding": "br"}, request("ping"), 415),
        ({}, b"x" * (MOST_BODY_BYTES + 1), 413),
    ],
)
async def test_headers_decide_before_the_message_does(
    site: WebToolsSite, headers: dict[str, str | None], body: Any, status: int
) -> None:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    async with site.post(raw, headers) as answer:
        told = await answer.json()
        assert answer.status == status and told["jsonrpc"] == "2.0"
        assert ("error" in told) is (status != 200)
        assert "Mcp-Session-Id" not in answer.headers


async def test_several_accept_lines_are_one_list(site: WebToolsSite) -> None:
    headers = CIMultiDict(site.headers)
    headers.popall("Accept", None)
    headers.add("Accept", "text/html")
    headers.add("Accept", "application/json")
    async with site.session.post(site.url, data=orjson.dumps(request("ping")), headers=headers) as answer:
        assert answer.status == 200 and answer.content_type == "application/json"


async def test_an_origin_that_is_listed_may_ask_and_read(tmp_path: Path) -> None:
    origin = "https://app.example"
    async with web_tools_site(tmp_path, origins=frozenset({origin})) as site:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        async with site.session.options(site.url, headers=asked) as answer:
            assert answer.status == 204 and answer.headers["Access-Control-Allow-Origin"] == origin
            assert "Mcp-Protocol-Version" in answer.headers["Access-Control-Allow-Headers"]
        async with site.post(request("ping"), {"Origin": origin}) as answer:
            assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == origin


@pytest.mark.parametrize("second", ["http://evil.example", "http://localhost", "https://app.example", ""])
async def test_more_than_one_origin_is_refused_whatever_they_are(tmp_path: Path, second: str) -> None:
    async with web_tools_site(tmp_path, origins=frozenset({"https://app.example"})) as site:
        headers = CIMultiDict(site.headers)
        headers.add("Origin", "http://localhost")
        headers.add("Origin", second)
        async with site.session.post(site.url, data=orjson.dumps(request("ping")), headers=headers) as answer:
            assert answer.status == 403
        headers.add("Access-Control-Request-Method", "POST")
        async with site.session.options(site.url, headers=headers) as answer:
            assert answer.status == 403


async def events_of(answer: Any) -> list[Any]:
    text = (await answer.text()).replace(": ping\n\n", "")
    frames = [frame for frame in text.split("\n\n") if frame]
    assert all(frame.startswith("event: message\ndata: ") for frame in frames), frames
    return [orjson.loads(frame.partition("data: ")[2]) for frame in frames]


async def test_a_stream_has_headers_that_proxies_respect_and_ends_with_the_answer(site: WebToolsSite) -> None:
    async with site.post(CRAWL, BOTH) as answer:
        assert answer.status == 200 and answer.content_type == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-cache, no-transform"
        assert answer.headers["X-Accel-Buffering"] == "no"
        *notes, last = await bounded(events_of(answer))
    assert notes and last["id"] == 1 and last["result"]["isError"] is False
    assert [note["params"]["progress"] for note in notes] == sorted({note["params"]["progress"] for note in notes})


async def test_a_client_that_takes_only_events_gets_every_answer_as_one(site: WebToolsSite) -> None:
    for body in (request("ping"), request("tools/list"), request("x"), tool_call("search", {})):
        async with site.post(body, {"Accept": "text/event-stream"}) as answer:
            assert answer.status == 200 and answer.content_type == "text/event-stream"
            (told,) = await bounded(events_of(answer))
            assert told["id"] == 1
    async with site.post(b"{", {"Accept": "text/event-stream"}) as answer:
        assert answer.status == 400 and (await answer.json())["error"]["code"] == -32700


async def test_a_modern_fault_is_a_status_also_for_those_who_want_events(site: WebToolsSite) -> None:
    body, headers = modern("prompts/list")
    async with site.post(body, {**headers, "Accept": "text/event-stream"}) as answer:
        assert answer.status == 404 and (await answer.json())["error"]["code"] == -32601
