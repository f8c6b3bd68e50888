"""Bodies that cost more than they look: refused before they are decoded, or served whole.

`bench/bodies.py` measures what they cost.
"""

import orjson
import pytest

from bench.bodies import NATIVE, ROUTES, body, image, native_events
from tests.flows.test_chain import CHAT, MCP_PATH, MODEL, RPC
from tests.support import upstream as up
from tests.support.asking import send
from tests.support.gateways import Serve, upstream_toml

pytestmark = pytest.mark.slow  # megabytes
MIB = 1 << 20
_SANITIZED = "[sanitize]\nroutes = ['chat', 'responses']\n[guardrail]\nenabled = 'off'\n"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", MCP_PATH])
@pytest.mark.parametrize(("member", "said"), [
    ("ab", "strings, lists and objects; the limit is 1000 (server.max_json_values)"),
    (0.5, "numbers; the limit is 2000 (server.max_json_numbers)"),
])  # fmt: skip
async def test_more_values_or_numbers_than_may_be_are_413_with_both_counts_and_the_setting(
    serve: Serve, path: str, member: object, said: str
) -> None:
    server = await serve("[server]\nmax_json_values = 1000\nmax_json_numbers = 2000\n")
    status, answer, _ = await send(server, path, {**CHAT, **RPC, "input": "x", "more": [member] * 2400})
    assert status == 413 and said in answer["error"]["message"]
    assert int(answer["error"]["message"].split(said)[0].split()[-1]) >= 2400


async def test_names_of_members_and_what_is_in_texts_are_no_values(serve: Serve) -> None:
    server = await serve("[server]\nmax_json_values = 1000\nmax_json_numbers = 1000\n")
    members = {f"name {number}": None for number in range(2000)}
    status, _, _ = await send(server, MCP_PATH, {**RPC, "more": '[{,"\\:1' * 2000, **members})
    assert status == 200


@pytest.mark.parametrize(("path", "code"), [("/v1/chat/completions", "invalid_json"), (MCP_PATH, -32700)])
async def test_a_large_body_that_is_nested_too_deeply_is_400(serve: Serve, path: str, code: str | int) -> None:
    server = await serve("")
    raw = (
        orjson.dumps({**CHAT, **RPC, "filler": "x" * 600_000}).removesuffix(b"}")
        + b',"deep":'
        + b"[" * 200
        + b"]" * 200
    )
    status, answer, _ = await send(server, path, raw + b"}")
    assert status == 400 and answer["error"]["code"] == code and "100 levels" in answer["error"]["message"]


async def test_the_web_tools_take_smaller_bodies_than_routes_with_images(serve: Serve) -> None:
    server = await serve(MODEL)
    status, answer, _ = await send(server, MCP_PATH, large(RPC))
    assert status == 413 and str(4 * MIB) in answer["error"]["message"]
    status, _, _ = await send(server, "/v1/chat/completions", large({**CHAT, "model": "none"}))
    assert status == 404


def large(value: dict[str, object]) -> dict[str, object]:
    return {**value, "filler": "x" * (5 * MIB)}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
async def test_more_text_than_the_setting_allows_is_413_that_names_it(serve: Serve, path: str) -> None:
    server = await serve(MODEL + "[server]\nmax_text_bytes = 300000\n")
    asked = {**CHAT, "input": "x", "max_tokens": 5, "filler": "x y " * 80_000}
    status, answer, _ = await send(server, path, asked)
    assert status == 413 and "limit is 300000 (server.max_text_bytes)" in answer["error"]["message"]
    assert answer.get("type") == ("error" if path == "/v1/messages" else None)


async def test_embeddings_take_half_the_text_of_other_routes(serve: Serve) -> None:
    server = await serve(MODEL)
    status, answer, _ = await send(server, "/v1/embeddings", large({"model": "none", "input": "x"}))
    assert status == 413 and str(4 * MIB) in answer["error"]["message"]


@pytest.mark.parametrize("route", ["chat", "responses", "messages"])
@pytest.mark.parametrize("mib", [4, 26])
async def test_what_coding_agents_send_reaches_the_model(serve: Serve, route: str, mib: int) -> None:
    """A conversation of 4 MB made of calls and results, and an image of 20 MB."""
    server = await serve(upstream_toml(serve.upstream.url) + _SANITIZED)
    serve.upstream.will(up.answer())
    status, answer, _ = await send(server, ROUTES[route], body(route, mib * MIB))
    assert status == 200, answer
    messages = serve.upstream.last.body["messages"]
    assert len(messages) > 300 and "ops@posthaus.com" not in orjson.dumps(messages).decode()
    if mib == 26:
        assert messages[-1]["content"][-1]["image_url"]["url"] == "data:image/png;base64," + image(25 * MIB)


async def test_a_completed_event_of_a_native_upstream_of_1_5_mb_passes(serve: Serve, upstream: up.Upstream) -> None:
    server = await serve(upstream_toml(upstream.url) + NATIVE.replace("{upstream}", upstream.url + "/v1"))
    upstream.will(up.stream(*map(up.frame, native_events(1_500_000))))
    _, events, _ = await send(server, "/v1/responses", {"model": "native", "input": "x", "stream": True})
    assert events[-1]["type"] == "response.completed"
    assert len(events[-1]["response"]["output"][0]["content"][0]["text"]) == 1_500_000


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_above_the_upstreams_limit_is_an_error_that_names_it(serve: Serve, streamed: bool) -> None:
    server = await serve(upstream_toml(serve.upstream.url) + "max_answer_bytes = 100000\n")
    serve.upstream.will(up.answer(up.completion("word " * 30_000)))
    status, answer, _ = await send(server, "/v1/chat/completions", {**CHAT, "stream": streamed})
    assert status == 502 and "100000 bytes (max_answer_bytes)" in answer["error"]["message"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_large_answer_that_repeats_the_request_is_whole_and_can_be_asked_for(
    serve: Serve, upstream: up.Upstream, streamed: bool
) -> None:
    server = await serve(upstream_toml(upstream.url))
    upstream.will(up.stream(*up.text_stream()) if streamed else up.answer())
    asked = {"model": "SvcLLM", "instructions": "\U0001f600" + "w " * 200_000, "input": "hi", "stream": streamed}
    status, answer, _ = await send(server, "/v1/responses", asked)
    assert status == 200, answer
    told = [event["response"] for event in answer if "response" in event] if streamed else [answer]
    assert len(told) == (3 if streamed else 1)
    assert all(each["instructions"] == asked["instructions"] for each in told)
    _, kept, _ = await send(server, f"/v1/responses/{told[-1]['id']}", method="GET")
    assert kept == told[-1]
