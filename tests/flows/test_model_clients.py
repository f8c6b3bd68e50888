"""The clients people use, each against both routes: text, streams, and a tool loop over a scripted upstream."""

import base64
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.gateways import Gateway
from tests.support.model_clients import ai_sdk_command, python_of
from tests.support.official import run_client
from tests.support.paths import CLIENTS, GOLDEN
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow

CALL = up.called("add", '{"a":2,"b":3}')
CALLS_WHOLE = up.completion("Let me add.", "tool_calls", tool_calls=[CALL])
CALLS_STREAM = [
    up.chunk({"role": "assistant", "content": "Let me "}), up.chunk({"content": "add."}), *up.call_stream(CALL, 7),
]  # fmt: skip


async def adding(exchange: up.Exchange) -> None:
    """A model that adds by its tool: the call after a user's message, the sum after the tool's."""
    body = exchange.seen.body
    last = body["messages"][-1]
    if last["role"] == "tool":
        text = f"It is {last['content']}."
        script = up.stream(*up.text_stream([text])) if body.get("stream") else up.answer(up.completion(text))
    else:
        script = up.stream(*CALLS_STREAM) if body.get("stream") else up.answer(CALLS_WHOLE)
    await script(exchange)


def plan(server: Gateway, route: str, streamed: bool) -> dict[str, Any]:
    return {"url": server.url + "/v1", "key": server.key, "route": route, "stream": streamed}


OPENAIS = ("chat", "responses")


@pytest.mark.parametrize(
    ("venv", "program", "routes"),
    [
        ("clients", "agents_sdk", OPENAIS),
        ("clients", "langchain_chat", OPENAIS),
        ("openai1", "openai1", OPENAIS),
        ("clients", "pydantic_loop", (*OPENAIS, "messages")),
    ],
)
async def test_a_python_client_calls_its_tool_and_reads_the_answer(
    server: Gateway, upstream: Upstream, venv: str, program: str, routes: tuple[str, ...]
) -> None:
    """On each of its routes, whole and streamed, in one process: its imports take seconds."""
    upstream.will(adding)
    plans = [plan(server, route, streamed) for route in routes for streamed in (False, True)]
    for report in await run_client([python_of(venv), str(CLIENTS / f"{program}.py")], plans):
        assert report["calls"] == [{"a": 2, "b": 3}] and report["output"] == "It is 5."


async def test_an_image_from_a_langchain_tool_reaches_the_model_and_stays_in_the_history(server: Gateway) -> None:
    look = up.completion(None, "tool_calls", tool_calls=[{**CALL, "function": {"name": "look", "arguments": "{}"}}])
    server.upstream.will(up.answer(look), up.answer(up.completion("A dot.")))
    image = "data:image/png;base64," + base64.b64encode((GOLDEN / "ocr-sample.png").read_bytes()).decode()
    report = await run_client(
        [python_of("clients"), str(CLIENTS / "langchain_image.py")],
        {**plan(server, "responses", False), "image": image},
    )
    assert report["output"] == ["A dot.", "A dot."]
    sent = server.upstream.last.body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert sent[2]["content"].startswith("a page") and sent[3]["content"][-1]["image_url"]["url"] == image


def refused(status: int, message: str, code: str) -> up.Script:
    return up.answer({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status=status)


HALF = [up.chunk({"role": "assistant", "content": "Hel"})]
LONG = "This model's maximum context length is 4096 tokens."
LITELLM: dict[str, tuple[up.Script, bool, dict[str, str]]] = {
    "an answer": (up.answer(), False, {"error": "", "text": "Hello there"}),
    "a wrong key": (up.answer(), False, {"error": "AuthenticationError", "text": ""}),
    "a prompt too long": (refused(400, LONG, ""), False, {"error": "ContextWindowExceededError", "text": ""}),
    "a wrong field": (refused(400, "no such field", "invalid_value"), False, {"error": "BadRequestError", "text": ""}),
    "too many": (refused(429, "slower", "rate_limit_exceeded"), False, {"error": "RateLimitError", "text": ""}),
    "a stream that breaks off": (
        up.stream(*HALF, end=False), True, {"error": "MidStreamFallbackError(APIConnectionError)", "text": "Hel"}),
    "an error in a stream": (
        up.stream(*HALF, up.frame({"error": {"message": "no", "code": 500}})), True,
        {"error": "MidStreamFallbackError(APIConnectionError)", "text": "Hel"}),
}  # fmt: skip


@pytest.mark.system
@pytest.mark.parametrize("case", LITELLM)
async def test_litellm_raises_its_class_of_each_error(server: Gateway, upstream: Upstream, case: str) -> None:
    script, is_stream, expected = LITELLM[case]
    upstream.will(script)
    asked = {"url": server.url + "/v1", "key": "wrong" if "key" in case else server.key, "stream": is_stream}
    assert await run_client([python_of("litellm"), str(CLIENTS / "litellm_errors.py")], asked) == expected


@pytest.mark.system
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("route", ["chat", "responses", "open"])
async def test_the_ai_sdk_calls_its_tool_and_goes_on_with_a_second_turn(
    server: Gateway, upstream: Upstream, route: str, streamed: bool
) -> None:
    upstream.will(adding)
    report = await run_client(ai_sdk_command(), plan(server, route, streamed))
    assert report["calls"] == [{"a": 2, "b": 3}] * 2
    assert report["output"].endswith("It is 5.") and report["second"].endswith("It is 5.")
    history = upstream.last.body["messages"]
    assert [m["role"] for m in history] == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert "Let me add." in str(history[1]["content"]) and "It is 5." in str(history[3]["content"])
