"""Bodies that cost more than they look: refused before they are decoded, or served without holding the loop up."""

import asyncio
import gc
import io
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import orjson
import pytest

from bench import agent_bodies
from bench.body_shapes import shape
from bench.dense_bodies import DENSE
from bench.hostile_bodies import KINDS, body
from gateway.schemas import MAX_DEPTH
from gateway.schemas.json_size import measure
from tests.flows.test_chain import CHAT, MCP_PATH, MODEL, RPC, post
from tests.support import upstream as up
from tests.support.gateways import InProcessGateway, StartGateway, upstream_toml
from tests.support.loop_block import MeasuredGateway

MIB = 1 << 20


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", MCP_PATH])
async def test_too_many_values_are_413_with_both_numbers(start_gateway: StartGateway, path: str) -> None:
    server = await start_gateway("[server]\nmax_json_values = 1000\n")
    status, answer, _ = await post(server, path, json={**CHAT, **RPC, "input": "x", "more": [0] * 1200})
    assert status == 413 and "limit is 1000" in answer["error"]["message"]
    assert int(answer["error"]["message"].split(" JSON values")[0].split()[-1]) > 1200


async def test_commas_and_brackets_in_texts_are_no_values(start_gateway: StartGateway) -> None:
    server = await start_gateway("[server]\nmax_json_values = 1000\n")
    status, _, _ = await post(server, MCP_PATH, json={**RPC, "more": '[{,"\\' * 2000})
    assert status == 200


@pytest.mark.parametrize(("path", "code"), [("/v1/chat/completions", "invalid_json"), (MCP_PATH, -32700)])
async def test_a_large_body_that_is_nested_too_deeply_is_400(
    start_gateway: StartGateway, path: str, code: str | int
) -> None:
    server = await start_gateway("")
    raw = (
        orjson.dumps({**CHAT, **RPC, "filler": "x" * 600_000}).removesuffix(b"}")
        + b',"deep":'
        + b"[" * 200
        + b"]" * 200
    )
    status, answer, _ = await post(server, path, data=raw + b"}")
    assert status == 400 and answer["error"]["code"] == code and "100 levels" in answer["error"]["message"]


async def test_the_web_tools_take_smaller_bodies_than_routes_with_images(start_gateway: StartGateway) -> None:
    server = await start_gateway(MODEL)
    status, answer, _ = await post(server, MCP_PATH, data=large(RPC))
    assert status == 413 and str(4 * MIB) in answer["error"]["message"]
    status, _, _ = await post(server, "/v1/chat/completions", data=large({**CHAT, "model": "none"}))
    assert status == 404


def large(value: dict[str, object]) -> io.BytesIO:
    return io.BytesIO(orjson.dumps({**value, "filler": "x" * (5 * MIB)}))


async def test_a_body_that_stalls_is_cut_at_its_time(start_gateway: StartGateway) -> None:
    server = await start_gateway("[server]\nbody_timeout_s = 0.3\n")
    assert await seconds_to_the_end(server, b"Content-Length: 5000\r\n\r\n{") < 5
    assert await seconds_to_the_end(server, b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n") < 5


async def seconds_to_the_end(server: InProcessGateway, rest: bytes) -> float:
    """Until the server has closed a connection whose body goes on with nothing."""
    started_s = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
    writer.write(b"Authorization: Bearer " + server.key.encode() + b"\r\n" + rest)
    answer = await asyncio.wait_for(reader.read(), 30)
    assert b" 408 " in answer.split(b"\r\n")[0]
    writer.close()
    return time.monotonic() - started_s


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredGateway]:
    folder: Path = tmp_path_factory.mktemp("measured")
    with MeasuredGateway(folder) as gateway:
        yield gateway


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_body_of_a_megabyte_holds_the_loop_for_50_ms_or_takes_eight_times_its_size(
    measured: MeasuredGateway, kind: str
) -> None:
    bodies = [body(kind, seed, MIB) for seed in (2, 3)]
    costs = [measured.send(each.path, each.raw) for each in bodies]
    cost = min(costs, key=lambda seen: seen.block_s)
    assert cost.block_s < 0.05, cost
    assert cost.status in (200, 400, 413, 502), cost  # 502: of the upstream, which has no embeddings
    memory_bytes = min(seen.memory_bytes for seen in costs)  # the first one of a kind also fills caches that stay
    assert memory_bytes < 8 * MIB, cost


SEEDS = (5006, 5027, 5052, 9045, 77004)
"""Of `bench.body_shapes`: each took 9 to 13 times its bytes before freed memory was given back between the steps, the
last one before it was between a long text and its masked one.
Other seeds are for `python -m bench.body_shapes`: a test that draws anew fails on some day for no change of ours."""


@pytest.mark.slow
def test_no_drawn_shape_of_a_body_holds_the_loop_or_takes_eight_times_its_size(measured: MeasuredGateway) -> None:
    for seed in SEEDS:
        path, raw = shape(seed, MIB)
        if len(raw) < MIB // 2:
            raw += b" " * (MIB // 2 - len(raw))  # what a request takes of its own counts less
        costs = [measured.send(path, raw) for _ in range(2)]
        assert all(cost.status < 500 for cost in costs), (seed, costs)
        assert min(cost.block_s for cost in costs) < 0.05 * max(1.0, len(raw) / MIB), (seed, costs)
        assert min(cost.memory_bytes for cost in costs) < 8 * len(raw), (seed, costs)


@pytest.mark.slow
def test_instructions_with_one_emoji_and_a_value_to_mask_never_take_eight_times_their_size(
    measured: MeasuredGateway,
) -> None:
    """Python takes four bytes for each of their characters. Each body is new, as a caller's next one is."""
    for streamed in (True, False):
        text = f"mail ops@posthaus.com {streamed} " + "plain text of one byte a character " * 29_000 + "\U0001f600"
        asked = {"model": "SvcLLM", "input": "hi", "instructions": text, "stream": streamed}
        cost = measured.send("/v1/responses", orjson.dumps(asked))
        assert cost.status == 200 and b"ops@posthaus.com" not in cost.answer, cost.status
        assert cost.memory_bytes < 8 * len(text), (streamed, cost.memory_bytes / len(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "mib"), [(kind, mib) for kind in KINDS for mib in ([8] if kind in DENSE else [8, 31])]
)
def test_no_large_body_holds_the_loop_for_250_ms_or_takes_eight_times_its_size(
    measured: MeasuredGateway, kind: str, mib: int
) -> None:
    """Dense bodies of 31 MB, most of which are 413, are left to `python -m bench.hostile_bodies --mib 31`."""
    each = body(kind, 2, mib * MIB)
    cost = measured.send(each.path, each.raw)
    most_bytes = 8 * mib * MIB
    if cost.block_s >= 0.25 or cost.memory_bytes >= most_bytes:
        # on a busy machine a core may be slow for a moment, and the first of a kind also fills caches that stay
        each = body(kind, 3, mib * MIB)
        cost = measured.send(each.path, each.raw)
    assert cost.block_s < 0.25, cost
    assert cost.status in (200, 400, 413, 502), cost
    assert cost.memory_bytes < most_bytes, cost


@pytest.mark.parametrize("kind", agent_bodies.KINDS)
def test_what_agents_send_is_not_refused_for_the_number_of_its_values(kind: str) -> None:
    _, raw = agent_bodies.body(kind, 3, MIB // 2)
    assert max(measure(raw, 500_000, MAX_DEPTH)) < 500_000


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_large_answer_that_repeats_the_request_is_whole_and_can_be_asked_for(
    start_gateway: StartGateway, upstream: up.Upstream, streamed: bool
) -> None:
    server = await start_gateway(upstream_toml(upstream.url))
    upstream.will(up.stream(*up.text_stream()) if streamed else up.answer())
    asked = {"model": "SvcLLM", "instructions": "\U0001f600" + "w " * 200_000, "input": "hi", "stream": streamed}
    async with (
        aiohttp.ClientSession(headers=server.headers) as session,
        session.post(f"{server.url}/v1/responses", json=asked) as answer,
    ):
        text = await answer.text()
        assert answer.status == 200, text[:300]
        events = [orjson.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
        told = [event["response"] for event in events if "response" in event] if streamed else [orjson.loads(text)]
        assert len(told) == (3 if streamed else 1)
        assert all(each["instructions"] == asked["instructions"] for each in told)
        async with session.get(f"{server.url}/v1/responses/{told[-1]['id']}") as kept:
            assert await kept.json() == told[-1]


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_body_of_many_values_is_not_held_while_the_upstream_is_awaited(
    start_gateway: StartGateway, upstream: up.Upstream, streamed: bool
) -> None:
    held_while_asked: list[int] = []

    async def script(exchange: up.Exchange) -> None:
        gc.collect()
        marked = [each for each in gc.get_objects() if type(each) is dict and "mark11999 of a long name" in each]
        held_while_asked.append(sum(each is not exchange.seen.body["marks"][-1] for each in marked))
        await (up.stream(*up.text_stream()) if streamed else up.answer())(exchange)

    server = await start_gateway(upstream_toml(upstream.url))
    upstream.will(script)
    marks: list[dict[str, list[int]]] = [{f"mark{number} of a long name": []} for number in range(12_000)]
    raw = orjson.dumps({**CHAT, "stream": streamed, "marks": marks})
    del marks
    headers = {**server.headers, "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{server.url}/v1/chat/completions", data=io.BytesIO(raw)) as answer,
    ):
        assert answer.status == 200 and b"Hello" in await answer.read()
    assert held_while_asked == [0]


def _answer_of(kind: str) -> dict[str, object]:
    """A completion of about a megabyte."""
    token = {"token": " a", "bytes": [32, 97], "logprob": -0.5}
    message: dict[str, object] = {"role": "assistant", "content": "hi"}
    choice: dict[str, object] = {"index": 0, "message": message, "finish_reason": "stop"}
    if kind == "log probabilities":
        choice["logprobs"] = {"content": [{**token, "top_logprobs": [token] * 20}] * 1_000}
    else:
        fields: dict[str, object] = {
            "strings": ["ab"] * 200_000,
            "names": [{"a b": "x"}] * 80_000,
            "values": ["ops@posthaus.com"] * 55_000,
        }
        message["more"] = fields[kind]
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "status"), [("strings", 200), ("names", 502), ("values", 200), ("log probabilities", 200)]
)
def test_no_answer_of_an_upstream_of_a_megabyte_holds_the_loop_for_50_ms(
    measured: MeasuredGateway, kind: str, status: int
) -> None:
    """One of 80,000 tiny objects would take 17 times its size, so it is refused."""
    with measured.answering(_answer_of(kind)) as size:
        assert size > 900_000
        costs = [measured.send("/v1/chat/completions", orjson.dumps(CHAT)) for _ in range(2)]
    assert all(cost.status == status for cost in costs), costs
    assert status == 200 or all(b"takes more memory than its size allows" in cost.answer for cost in costs)
    assert min(cost.block_s for cost in costs) < 0.05, costs


@pytest.mark.slow
@pytest.mark.parametrize("text", [" a" * 1_200, "hi"])
def test_no_event_of_an_upstream_of_a_megabyte_holds_the_loop_for_50_ms(measured: MeasuredGateway, text: str) -> None:
    """Log probabilities of a thousand tokens, which took 90 ms; of the text, or of another one, as odd servers send."""
    token = {"token": " a", "bytes": [32, 97], "logprob": -0.5}
    places = {"content": [{**token, "top_logprobs": [token] * 20}] * 1_200}
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None, "logprobs": places}
    with measured.streaming({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}) as size:
        assert size > 1_000_000
        asked = orjson.dumps({**CHAT, "stream": True, "logprobs": True})
        costs = [measured.send("/v1/chat/completions", asked) for _ in range(3)]
    assert all(len(cost.answer) > size for cost in costs), [cost.answer[-300:] for cost in costs]
    assert min(cost.block_s for cost in costs) < 0.05, [cost.block_s for cost in costs]
