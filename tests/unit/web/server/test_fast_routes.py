"""The way in and the way out of small requests, read off the wire: routes, versions, kept and closed connections."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import hdrs, web
from aiohttp.test_utils import make_mocked_request

from gateway.web.endpoints import Handler
from gateway.web.listen_socket import bind
from gateway.web.replies import JsonReply
from tests.support.listening import listening

ORDER: list[str] = []


@web.middleware
async def outer(request: web.Request, handler: Handler) -> web.StreamResponse:
    ORDER.append("outer")
    return await handler(request)


@web.middleware
async def inner(request: web.Request, handler: Handler) -> web.StreamResponse:
    ORDER.append("inner")
    return await handler(request)


def rendered(data: object, status: int = 200, headers: dict[str, str] | None = None) -> JsonReply:
    reply = JsonReply(data, status=status, headers=headers)
    reply.render()
    return reply


async def plain(request: web.Request) -> web.StreamResponse:
    route = request.match_info.route.resource
    return rendered({"path": request.path, "route": route.canonical if route else "", "app": request.app is not None})


async def named(request: web.Request) -> web.StreamResponse:
    return rendered({"name": request.match_info["name"]})


async def split(request: web.Request) -> web.StreamResponse:
    return rendered({}, headers={"X-Note": "one\r\nSet-Cookie: two"})


async def closing(request: web.Request) -> web.StreamResponse:
    reply = rendered({}, 503, headers={"Retry-After": "1"})
    reply.force_close()
    return reply


@pytest.fixture
def app() -> web.Application:
    app = web.Application(middlewares=[outer, inner])
    app.router.add_get("/plain", plain, allow_head=True)
    app.router.add_post("/plain", plain)
    app.router.add_get("/named/{name}", named)
    app.router.add_get("/split", split)
    app.router.add_get("/closing", closing)
    return app


@pytest.fixture
async def port(app: web.Application) -> AsyncIterator[int]:
    async with listening(app) as port:
        ORDER.clear()
        yield port


async def said(port: int, text: str) -> str:
    """Everything the server says until it closes, or for a moment when it does not."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode())
        got = b""
        try:
            while piece := await asyncio.wait_for(reader.read(4096), 0.3):
                got += piece
            return got.decode() + "<closed>"
        except TimeoutError:
            return got.decode()
        finally:
            writer.transport.abort()


def head(path: str, method: str = "GET", version: str = "1.1", more: str = "") -> str:
    return f"{method} {path} HTTP/{version}\r\nHost: x\r\n{more}\r\n"


async def test_an_answer_has_every_header_once_and_its_length(port: int) -> None:
    answer = await said(port, head("/plain") * 2)
    first, second = answer.split("HTTP/1.1 200 OK\r\n")[1:]
    lines = [line.partition(": ")[0] for line in first.partition("\r\n\r\n")[0].split("\r\n")]
    assert sorted(lines) == [hdrs.CONTENT_LENGTH, hdrs.CONTENT_TYPE, hdrs.DATE]
    body = first.partition("\r\n\r\n")[2]
    assert f"Content-Length: {len(body)}\r\n" in first and second.endswith(body), "the connection stays open"


async def test_a_reply_that_says_so_closes_the_connection(port: int) -> None:
    answer = await said(port, head("/closing") * 2)
    assert answer.count("HTTP/1.1 503") == 1 and answer.endswith("{}<closed>") and "Connection: close" in answer


async def test_no_header_value_can_begin_another_header(port: int) -> None:
    assert (await said(port, head("/split"))) == "<closed>"


async def test_a_reply_that_was_never_rendered_is_refused_not_sent_empty() -> None:
    request = make_mocked_request("GET", "/")
    reply = JsonReply({"a": 1})
    with pytest.raises(RuntimeError, match="call render"):
        await reply.prepare(request)
    assert not reply.prepared and reply.keep_alive is None


def lines_of(answer: str) -> list[str]:
    """The lines of an answer but its date: a second may pass between two."""
    return sorted(line for line in answer.splitlines() if not line.startswith("Date: "))


CLOSE, KEEP = "Connection: close\r\n", "Connection: keep-alive\r\n"


REQUESTS = [
    (head("/plain"), "HTTP/1.1 200 OK"),
    (head("/plain", more=CLOSE), "HTTP/1.1 200 OK"),
    (head("/plain", version="1.0"), "HTTP/1.0 200 OK"),
    (head("/plain", version="1.0", more=KEEP), "HTTP/1.0 200 OK"),
    (head("/plain", "POST"), "HTTP/1.1 200 OK"),
    (head("/plain", "PUT"), "HTTP/1.1 405 "),
    (head("/plain?a=1&b=%2F"), "HTTP/1.1 200 OK"),
    (head("http://elsewhere.example/plain"), "HTTP/1.1 200 OK"),
    (head("/%70lain"), "HTTP/1.1 200 OK"),
    (head("/%70lain", "PUT"), "HTTP/1.1 405 "),
    (head("/named/x%2Fy"), "HTTP/1.1 200 OK"),
    (head("/named/x", "POST"), "HTTP/1.1 405 "),
    (head("/plain/"), "HTTP/1.1 404 "),
    (head("/%2Fplain"), "HTTP/1.1 404 "),
    (head("/", "PUT"), "HTTP/1.1 404 "),
    (head("/plain", "HEAD") + head("/named/b"), "HTTP/1.1 200 OK"),
]


@pytest.mark.parametrize(("requests", "begins"), REQUESTS)
@pytest.mark.slow  # waits for connections to close
async def test_the_fast_way_in_answers_as_the_applications_own_and_keeps_the_connection_alike(
    port: int, app: web.Application, requests: str, begins: str
) -> None:
    """The naive form: aiohttp's runner, which resolves every request."""
    runner, sock = web.AppRunner(app), bind("127.0.0.1", 0)
    await runner.setup()
    try:
        await web.SockSite(runner, sock).start()
        naive = await said(sock.getsockname()[1], requests)
        fast = await said(port, requests)
    finally:
        await runner.cleanup()
    assert fast.startswith(begins) and lines_of(fast) == lines_of(naive)
    assert ["outer", "inner"] * 2 * requests.count("Host:") == ORDER
