"""What backends answer, brought into each route's own form: ends, errors, waits, usage, extras, labels, ids, faults."""

import gzip
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import OFF, ask, send, toml
from tests.support.backends import call
from tests.support.gateways import Gateway, Serve
from tests.support.talks import Talk
from tests.support.upstream import Upstream

ROUTES = ("chat", "responses", "messages")
MODES = [pytest.param(False, id="whole"), pytest.param(True, id="stream")]


def answer_of(message: Any, finish: str = "stop", *, stream: bool, **more: Any) -> up.Script:
    """A message, whole or as one chunk. `more`: members beside the choices."""
    if not stream:
        return up.answer({**up.completion(None, finish, **message), **more})
    return up.stream(up.chunk({"role": "assistant", **message}, **more), up.chunk({}, finish, **more), up.DONE)


ENDS = {
    "STOP_SEQUENCE": ("stop", "completed", "end_turn"),
    "max_context_tokens": ("length", "max_output_tokens", "max_tokens"),
    "content-blocked": ("content_filter", "content_filter", "refusal"),
}


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("word", ENDS)
async def test_every_end_has_the_word_of_its_class(server: Gateway, word: str, number: int, stream: bool) -> None:
    server.upstream.will(answer_of({"content": "Some text"}, word, stream=stream))
    turn = await Talk(server, ROUTES[number], stream=stream, tools=[]).say("hi")
    assert (turn.status, turn.end) == (200, ENDS[word][number])


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("word", ["DEADLINE_ERROR", "UNEXPECTED_TOOL_CALL", "something_new"])
async def test_an_end_that_is_a_failure_or_that_nobody_knows_is_an_error(
    server: Gateway, upstream: Upstream, word: str, route: str, stream: bool
) -> None:
    upstream.will(answer_of({"content": "Some text"}, word, stream=stream))
    turn = await Talk(server, route, stream=stream, tools=[]).say("hi")
    assert turn.status == 502 or turn.raw.get("error")


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
async def test_an_error_in_an_answer_has_its_status_and_words(server: Gateway, route: str, stream: bool) -> None:
    error = {"error": {"type": "invalid_request_error", "message": "min_p must be below 1", "param": "min_p"}}
    server.upstream.will(up.stream(up.frame(error), up.DONE) if stream else up.answer([error]))
    turn = await Talk(server, route, stream=stream, tools=[]).say("hi")
    assert turn.status == 400 and turn.raw["error"]["message"] == "min_p must be below 1"


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_conversation_that_is_too_long_is_told_so_that_agents_compact(
    server: Gateway, upstream: Upstream, route: str, stream: bool
) -> None:
    upstream.will(
        up.answer(
            {"error": {"message": "maximum context length is 4096 tokens. However, you requested 5024 tokens"}},
            status=400,
        )
    )
    turn = await Talk(server, route, stream=stream, tools=[]).say("hi")
    if route == "messages":
        assert turn.status == 400 and turn.raw["error"]["message"] == "prompt is too long: 5024 tokens > 4096 maximum"
    else:
        assert turn.raw["error"]["code"] == "context_length_exceeded"
        assert route != "chat" or turn.raw["error"]["param"] == "messages"
        is_event = route == "responses" and stream
        assert turn.status == (200 if is_event else 400)
        assert not is_event or [event["type"] for event in turn.events][::3] == ["response.created", "response.failed"]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"Retry_After": "3.4"}, "4"), ({"retry_after_ms": "1500"}, "2"), ({"Retry_After": "-2"}, None)],
)
async def test_a_wait_is_told_in_whole_seconds(server: Gateway, headers: dict[str, str], wait: str | None) -> None:
    server.upstream.will(up.answer({"error": {"message": "busy"}}, status=429, **headers))
    status, _, told = await ask(server)
    assert (status, told.get("Retry-After")) == (429, wait)


@pytest.mark.parametrize("stream", MODES)
async def test_cached_and_written_tokens_and_what_else_is_counted_reach_each_route(
    server: Gateway, upstream: Upstream, stream: bool
) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 2, "total_tokens": 52, "cache_read_tokens": 30,
             "prompt_tokens_details": {"cache_creation_tokens": 15}, "cost": 0.25}  # fmt: skip
    seen = []
    for route in ROUTES:
        upstream.will(answer_of({"content": "Yes."}, stream=stream, usage=usage))
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if route == "chat" and stream else {}
        seen.append((await Talk(server, route, stream=stream, tools=[], **more).say("hi")).raw["usage"])
    assert seen[0]["prompt_tokens_details"]["cached_tokens"] == 30 and seen[0]["prompt_tokens"] == 50
    assert seen[1]["input_tokens_details"]["cached_tokens"] == 30 and seen[1]["input_tokens"] == 50
    assert [seen[2][name] for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")] == [
        5, 30, 15,
    ]  # fmt: skip
    assert {usage["cost"] for usage in seen} == {0.25}


@pytest.mark.parametrize("stream", MODES)
async def test_members_that_nobody_knows_reach_the_chat_client(server: Gateway, stream: bool) -> None:
    message = {"content": "A map.", "pictures": [{"url": "data:image/png;base64,iVBORw0KGgo="}], "mood": "calm"}
    server.upstream.will(answer_of(message, stream=stream, sources=["https://a.example"], service_tier="flex"))
    turn = await Talk(server, "chat", stream=stream, tools=[]).say("hi")
    told = turn.raw["choices"][0]["message"]
    assert (told["pictures"], told["mood"]) == (message["pictures"], "calm")
    assert (turn.raw["sources"], turn.raw["service_tier"]) == (["https://a.example"], "flex")


@pytest.mark.parametrize("route", ROUTES)
async def test_calls_of_one_index_and_id_are_several_calls(server: Gateway, upstream: Upstream, route: str) -> None:
    same = [{**call(number), "id": "c", "index": 0} for number in range(3)]
    upstream.will(up.stream(*(up.chunk({"tool_calls": [each]}) for each in same), up.chunk({}, "tool_calls"), up.DONE))
    turn = await Talk(server, route, stream=True).say("hi")
    assert [each[2]["path"] for each in turn.calls] == ["notes/0.md", "notes/1.md", "notes/2.md"]
    assert len({each[0] for each in turn.calls}) == 3


@pytest.fixture
async def other_upstream() -> AsyncIterator[Upstream]:
    async with up.scripted_upstream() as made:
        yield made


async def test_another_upstream_gets_nothing_of_the_first_ones_thoughts(serve: Serve, other_upstream: Upstream) -> None:
    server = await serve(toml(serve.upstream, other_upstream))
    message = {"reasoning_content": "Hm.", "x_state": 1, "tool_calls": [call(0, seal="s")]}
    for each in (serve.upstream, other_upstream):
        each.will(up.answer(up.completion(None, "tool_calls", **message)), up.answer({}, status=500))
    talk = Talk(server, "chat")
    await talk.say("hi")
    first, second = (serve.upstream, other_upstream) if serve.upstream.seen else (other_upstream, serve.upstream)
    second.will(up.answer())
    turn = await talk.give("result")
    sent = [each["messages"][1] for each in (first.last.body, second.last.body)]
    assert turn.status == 200 and (sent[0]["reasoning_content"], sent[0]["tool_calls"][0]["seal"]) == ("Hm.", "s")
    assert not {"reasoning_content", "x_state"} & set(sent[1]) and "seal" not in sent[1]["tool_calls"][0]


async def test_a_compressed_body_is_read_and_one_that_is_too_long_is_not(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    body = orjson.dumps({"model": "SvcLLM", "input": "hi"})
    for raw, status in ((gzip.compress(body), 200), (gzip.compress(bytes(80_000_000)), 413), (b"{}", 400)):
        assert (await send(server, "/v1/responses", raw, Content_Encoding="gzip"))[0] == status


async def test_a_fault_of_an_upstream_is_told_to_the_operator_without_its_address(serve: Serve) -> None:
    serve.upstream.will(up.answer())
    gone = Upstream()
    gone.url = "http://127.0.0.1:1/v1"
    server = await serve(toml(gone))
    for _ in range(6):
        await ask(server)
    lines = [orjson.loads(line) for line in server.log_text().splitlines()]
    told = [line for line in lines if line["event"] in ("upstream_failed", "upstream_rests")]
    assert [(line["event"], line["level"]) for line in told] == [
        ("upstream_failed", "warning"), ("upstream_rests", "warning"),
    ]  # fmt: skip
    assert told[0]["cause"] == "refused" and "127.0.0.1" not in str(told)
    _, ready, _ = await send(server, server.ops_url + "/readyz", method="GET")
    assert "upstream-1 of SvcLLM failed last" in str(ready["notes"])


async def test_a_list_of_models_is_in_the_form_of_its_reader(server: Gateway, upstream: Upstream) -> None:
    claude = {"anthropic_version": "2023-06-01"}
    _, codex, _ = await send(server, "/v1/models?client_version=0.1", method="GET")
    assert [model["slug"] for model in codex["models"]] == ["SvcLLM"]
    _, page, _ = await send(server, "/v1/models?limit=1", method="GET", **claude)
    _, rest, _ = await send(server, f"/v1/models?after_id={page['last_id']}", method="GET", **claude)
    assert [model["id"] for model in page["data"] + rest["data"]] == ["SvcLLM", "assistant"]
    assert (page["has_more"], rest["has_more"]) == (True, False)
    for headers, form in ((claude, {"type", "error", "request_id"}), ({}, {"error"})):
        status, unknown, _ = await send(server, "/v1/models/nope", method="GET", **headers)
        assert status == 404 and unknown.keys() == form and unknown["error"]["code"] == "model_not_found"


@pytest.mark.parametrize("allowed", [False, True])
async def test_pages_of_this_machine_are_refused_at_the_preflight_with_a_hint_or_allowed_whole(
    serve: Serve, allowed: bool
) -> None:
    server = await serve(f"[server]\nbase_path = ''\nlocal_origins = {str(allowed).lower()}\n" + OFF)
    asked = {"Origin": "http://localhost:6274", "Access_Control_Request_Method": "POST"}
    status, told, headers = await send(server, "/v1/responses", method="OPTIONS", **asked)
    if allowed:
        assert (status, headers["Access-Control-Allow-Origin"]) == (204, "http://localhost:6274")
    else:
        assert status == 403 and "server.local_origins" in str(told)
