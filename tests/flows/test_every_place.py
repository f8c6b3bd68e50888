"""A secret at every string and every property name of a body never reaches the upstream, nor the client."""

import re
from typing import Any

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ASK, CHAT, MESSAGES, RESPONSES, ask, posting, toml
from tests.support.gateways import Gateway, Serve
from tests.support.rich_bodies import Path, places, rich, shown, with_value
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow  # each asks some hundred times
CARD = "4539 1488 0343 6467"
TOKEN = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"  # a made-up key of a real form
SETTINGS = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'
OPAQUE = re.compile(r"\.(encrypted_content|signature)$|\.(reasoning_details\[1\]|thinking_blocks\[1\])\.data$")
"""Places of tokens that a model service made: one word passes there, a text does not."""
NATIVE = {RESPONSES: {"responses": "'native'"}, MESSAGES: {"messages": "'native'"}}


def cases(body: Any) -> list[tuple[Path, str]]:
    found = [(path, value) for path in places(body) for value in (TOKEN, f"it is {CARD}, keep it")]
    return [(path, value) for path, value in found if value != TOKEN or not OPAQUE.search(shown(path))]


def holds(raw: Any) -> bool:
    text = raw if isinstance(raw, str) else orjson.dumps(raw).decode()
    return CARD in text or TOKEN in text


REQUESTS: dict[str, tuple[str, str, bool, dict[str, Any], int]] = {
    "chat": (CHAT, "chat_request", False, {}, 60),
    # A translated model keeps no stored prompts: the field is refused there, with or without a secret.
    "responses": (RESPONSES, "responses_request", False, {"prompt": None}, 40),
    "native responses": (RESPONSES, "responses_request", True, {}, 40),
    "messages": (MESSAGES, "messages_request", False, {}, 25),
    "native messages": (MESSAGES, "messages_request", True, {
        "unheard_of": {"deep": ["of it"]}, "context_management": {"edits": [{"a": "b"}]}}, 30),
}  # fmt: skip
"""The route, the recorded body, whether the upstream speaks as the route does, further fields (None: it is left out),
and how many requests at least reach the upstream."""


@pytest.mark.parametrize("name", REQUESTS)
async def test_no_place_of_a_request_lets_a_secret_out(serve: Serve, upstream: Upstream, name: str) -> None:
    path, recorded, is_native, more, most = REQUESTS[name]
    server = await serve(toml(upstream, **(NATIVE[path] if is_native else {})) + SETTINGS)
    answers = {RESPONSES: rich("responses_answer"), MESSAGES: {"type": "message", "content": []}}
    upstream.will(up.answer(answers[path] if is_native else up.completion("{}")))
    body = {field: value for field, value in {**rich(recorded), **more}.items() if value is not None}
    leaks = []
    for place, value in cases(body):
        before = len(upstream.seen)
        status, answer, _ = await ask(server, path, **with_value(body, place, value))
        assert status < 500, (shown(place), answer)
        if any(holds(each.body) for each in upstream.seen[before:]):
            leaks.append(f"{shown(place)} = {value}")
        if status == 400:
            assert not holds(answer), f"the refusal quotes {shown(place)}"
    assert leaks == [] and len(upstream.seen) > most


async def test_the_rich_bodies_pass_unchanged(serve: Serve, upstream: Upstream) -> None:
    server, recorded = await serve(toml(upstream) + SETTINGS), rich("chat_answer")
    upstream.will(up.answer(recorded))
    status, answer, _ = await ask(server, **rich("chat_request"))
    assert status == 200 and "REDACTED" not in str(upstream.last.body) and "REDACTED" not in str(answer)
    assert answer["choices"][0]["logprobs"] == recorded["choices"][0]["logprobs"]


@pytest.mark.parametrize(
    "place",
    [".messages[0].name", ".messages[4].tool_call_id", ".tools[0].function.name", ".stop[0]", ".metadata.customer!"],
)
async def test_a_name_that_cannot_be_masked_refuses_the_request_by_its_place(serve: Serve, place: str) -> None:
    server, body = await serve(toml(serve.upstream) + SETTINGS), rich("chat_request")
    path = next(path for path in places(body) if shown(path) == place)
    status, answer, _ = await ask(server, **with_value(body, path, TOKEN))
    assert (status, answer["error"]["code"]) == (400, "content_filter")
    assert answer["error"]["param"] == (place[1:] if "!" not in place else "metadata: a property name")
    assert not serve.upstream.seen


THINKING = {"max_tokens": 100, "thinking": {"type": "enabled", "budget_tokens": 1024}}
ANSWERS: dict[str, tuple[str, str, bool, dict[str, Any]]] = {
    "chat": (CHAT, "chat_answer", False, {}),
    "responses": (RESPONSES, "chat_answer", False, {"input": "x"}),
    "messages": (MESSAGES, "chat_answer", False, THINKING),
    "native responses": (RESPONSES, "responses_answer", True, {"input": "x"}),
    "a chat stream": (CHAT, "chat_stream", False, {"stream": True}),
    "a native stream of responses": (RESPONSES, "responses_stream", True, {"input": "x", "stream": True}),
}
"""The route, what its upstream answers, whether in the route's own form, and what is asked."""


@pytest.mark.parametrize("name", ANSWERS)
async def test_no_place_of_an_answer_lets_a_secret_in(serve: Serve, upstream: Upstream, name: str) -> None:
    path, recorded, is_native, asked = ANSWERS[name]
    server = await serve(toml(upstream, **(NATIVE[path] if is_native else {})) + SETTINGS)
    leaks, sample = [], rich(recorded)
    for place, value in cases(sample):
        planted = with_value(sample, place, f" {value} " if "stream" in asked else value)  # its neighbours go on
        upstream.will(up.stream(*map(up.frame, planted), up.DONE) if "stream" in asked else up.answer(planted))
        if holds(await raw_answer(server, path, {**ASK, **asked})):
            leaks.append(f"{shown(place)} = {value}")
    assert leaks == []


async def raw_answer(server: Gateway, path: str, body: Any) -> str:
    async with posting(server, path, body) as answer:
        return (await answer.read()).decode()
