"""What is refused before a handler is reached, over sockets: framing, bodies, keys, scopes, origins, paths."""

from typing import Any

import aiohttp
import pytest

from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream, answer

JSON = {"Content-Type": "application/json"}
CHAT = "/v1/chat/completions"


@pytest.fixture
async def gateway(serve: Serve, upstream: Upstream) -> Gateway:
    upstream.will(answer())
    limits = "[server]\nmax_body_bytes = 4096\nallowed_origins = ['https://a.example']\n"
    model = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "m"\n'
    return await serve(limits + model)


async def answered(gateway: Gateway, method: str, path: str, **options: Any) -> tuple[int, Any, Any]:
    headers = {**gateway.headers, **options.pop("headers", {})}
    async with (
        aiohttp.ClientSession(gateway.url) as session,
        session.request(method, path, headers={name: each for name, each in headers.items() if each}, **options) as got,
    ):
        body = await got.json() if got.content_type == "application/json" else None
        return got.status, body, got.headers


REFUSED = [
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
]


@pytest.mark.parametrize(("headers", "data", "status", "code"), REFUSED)
async def test_a_body_that_cannot_be_served_is_refused_with_its_reason(
    gateway: Gateway, headers: dict[str, str], data: bytes, status: int, code: str
) -> None:
    found, body, sent = await answered(gateway, "POST", CHAT, headers=headers, data=data)
    assert (found, body["error"]["code"]) == (status, code) and sent["X-Request-Id"]


async def test_a_key_without_the_scope_and_one_over_its_limit_are_told_so(gateway: Gateway) -> None:
    weak, slow = gateway.make_key("embeddings"), gateway.make_key("chat", per_minute=1)
    question = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}]}
    status, body, _ = await answered(gateway, "POST", CHAT, headers={"Authorization": f"Bearer {weak}"}, json=question)
    assert status == 403 and "chat or ocr" in body["error"]["message"]
    own = {"Authorization": "", "X-Api-Key": slow}
    status, _, headers = await answered(gateway, "POST", CHAT, headers=own, json=question)
    assert status == 200 and headers["x-ratelimit-remaining-requests"] == "0" and '"requests";q=1' in str(headers)
    status, _, headers = await answered(gateway, "POST", CHAT, headers=own, json=question)
    assert status == 429 and int(headers["Retry-After"]) > 0
