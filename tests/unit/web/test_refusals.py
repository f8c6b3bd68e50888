"""What is refused before a handler is reached, over sockets: framing, bodies, keys, scopes, origins, paths."""

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import Upstream, answer

JSON = {"Content-Type": "application/json"}
CHAT = "/v1/chat/completions"


@pytest.fixture
async def gateway(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    upstream.will(answer())
    limits = "[server]\nmax_body_bytes = 4096\nbody_timeout_s = 0.3\nallowed_origins = ['https://a.example']\n"
    model = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "m"\n'
    return await start_gateway(limits + model)


async def answered(gateway: InProcessGateway, method: str, path: str, **options: Any) -> tuple[int, Any, Any]:
    headers = {**gateway.headers, **options.pop("headers", {})}
    async with (
        aiohttp.ClientSession(gateway.url) as session,
        session.request(method, path, headers={name: each for name, each in headers.items() if each}, **options) as got,
    ):
        body = await got.json() if got.content_type == "application/json" else None
        return got.status, body, got.headers


async def pieces(*parts: bytes) -> Any:
    for part in parts:
        yield part
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("headers", "data", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, b"{}", 415, "unsupported_media_type"),
        ({**JSON, "Content-Encoding": "br"}, b"{}", 415, "unsupported_media_type"),
        (JSON, b"{", 400, "invalid_json"),
        (JSON, b"[" * 200 + b"]" * 200, 400, "invalid_json"),
        (JSON, b" " * 5_000, 413, "payload_too_large"),
        (JSON, b"{}", 400, "invalid_value"),
        ({**JSON, "Authorization": ""}, b"{}", 401, "invalid_api_key"),
        ({**JSON, "Authorization": "Bearer gw_wrong"}, b"{}", 401, "invalid_api_key"),
        ({**JSON, "X-Api-Key": "gw_other"}, b"{}", 400, "invalid_value"),
        ({**JSON, "Origin": "https://b.example"}, b"{}", 403, "origin_not_allowed"),
    ],
)
async def test_a_body_that_cannot_be_served_is_refused_with_its_reason(
    gateway: InProcessGateway, headers: dict[str, str], data: bytes, status: int, code: str
) -> None:
    found, body, sent = await answered(gateway, "POST", CHAT, headers=headers, data=data)
    assert (found, body["error"]["code"]) == (status, code) and sent["X-Request-Id"]


async def test_a_chunked_body_is_bounded_in_size_and_time(gateway: InProcessGateway) -> None:
    large = pieces(*[b" " * 1_000] * 6)
    assert (await answered(gateway, "POST", CHAT, headers=JSON, data=large))[0] == 413

    async def endless() -> Any:
        yield b" "
        await asyncio.Event().wait()

    status, body, _ = await answered(gateway, "POST", CHAT, headers=JSON, data=endless())
    assert status == 408 and "0.3 s" in body["error"]["message"]


async def test_paths_and_methods_that_are_not_served_say_which_are(gateway: InProcessGateway) -> None:
    status, body, _ = await answered(gateway, "GET", "/v1/nothing")
    assert status == 404 and CHAT in body["error"]["message"]
    status, _, headers = await answered(gateway, "GET", CHAT)
    assert status == 405 and "POST" in headers["Allow"]


async def test_a_key_without_the_scope_and_one_over_its_limit_are_told_so(gateway: InProcessGateway) -> None:
    weak, slow = gateway.make_key("embeddings"), gateway.make_key("chat", per_minute=1)
    question = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}]}
    status, body, _ = await answered(gateway, "POST", CHAT, headers={"Authorization": f"Bearer {weak}"}, json=question)
    assert status == 403 and "chat or ocr" in body["error"]["message"]
    own = {"Authorization": "", "X-Api-Key": slow}
    status, _, headers = await answered(gateway, "POST", CHAT, headers=own, json=question)
    assert status == 200 and headers["x-ratelimit-remaining-requests"] == "0" and '"requests";q=1' in str(headers)
    status, _, headers = await answered(gateway, "POST", CHAT, headers=own, json=question)
    assert status == 429 and int(headers["Retry-After"]) > 0


async def test_a_listed_page_may_ask_first_and_read_the_answer(gateway: InProcessGateway) -> None:
    asking = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST", "Authorization": ""}
    status, _, headers = await answered(
        gateway, "OPTIONS", CHAT, headers={**asking, "Access-Control-Request-Headers": "X-Own, Content-Type"}
    )
    assert status == 204 and headers["Access-Control-Allow-Headers"] == "X-Own, Content-Type"
    assert "POST" in headers["Access-Control-Allow-Methods"]
    status, _, headers = await answered(gateway, "GET", "/v1/models", headers={"Origin": "https://a.example"})
    assert status == 200 and headers["Access-Control-Allow-Origin"] == "https://a.example"
    status, _, headers = await answered(gateway, "GET", "/v1/models", headers={"Origin": "http://localhost:3000"})
    assert status == 200 and "Access-Control-Allow-Origin" not in headers
