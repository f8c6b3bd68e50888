"""A secret at every string and every property name of a body never reaches the upstream, nor the client."""

import random
import re
import string
from typing import Any, NamedTuple

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ASK, CHAT, MESSAGES, RESPONSES, ask, posting, toml
from tests.support.gateways import Serve
from tests.support.rich_bodies import Path, places, rich, shown, with_value, with_values
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow  # each asks some hundred times
SETTINGS = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'
OPAQUE = re.compile(r"\.(encrypted_content|signature)$|\.(reasoning_details\[1\]|thinking_blocks\[1\])\.data$")
"""Places of tokens that a model service made: one word passes there, a text does not."""
NATIVE = {RESPONSES: {"responses": "'native'"}, MESSAGES: {"messages": "'native'"}}


class Case(NamedTuple):
    """A value at a place, and the secret that it is or holds: each case has one of its own."""

    place: Path
    value: str
    secret: str

    def __str__(self) -> str:
        return f"{shown(self.place)} = {self.value}"


def token(number: int) -> str:
    """A made-up key of a real form."""
    return "ghp_" + "".join(random.Random(number).choices(string.ascii_letters + string.digits, k=36))


def card(number: int) -> str:
    """One of ten million card numbers."""
    digits = f"45391488{number:07}"
    doubled = sum(int(each) if at % 2 else sum(divmod(2 * int(each), 10)) for at, each in enumerate(digits))
    whole = f"{digits}{-doubled % 10}"
    return " ".join(whole[at : at + 4] for at in range(0, 16, 4))


def cases(body: Any) -> list[Case]:
    found = []
    for number, place in enumerate(places(body)):
        found.append(Case(place, f"it is {card(number)}, keep it", card(number)))
        if not OPAQUE.search(shown(place)):
            found.append(Case(place, token(number), token(number)))
    return found


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
    for case in cases(body):
        before = len(upstream.seen)
        status, answer, _ = await ask(server, path, **with_value(body, case.place, case.value))
        assert status < 500, (str(case), answer)
        leaks += [str(case) for each in upstream.seen[before:] if case.secret in orjson.dumps(each.body).decode()]
        if status == 400:
            assert case.secret not in orjson.dumps(answer).decode(), f"the refusal quotes {case}"
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
    status, answer, _ = await ask(server, **with_value(body, path, token(0)))
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
    """Ten places far from each other at once, and each alone where the answer is refused or cut short then."""
    path, recorded, is_native, asked = ANSWERS[name]
    server = await serve(toml(upstream, **(NATIVE[path] if is_native else {})) + SETTINGS)
    sample, is_stream = rich(recorded), "stream" in asked

    async def answer_with(group: list[Case]) -> tuple[int, str]:
        values = [(case.place, f" {case.value} " if is_stream else case.value) for case in group]
        planted = with_values(sample, values)  # between spaces a value of a stream has its neighbours beside it
        upstream.will(up.stream(*map(up.frame, planted), up.DONE) if is_stream else up.answer(planted))
        async with posting(server, path, {**ASK, **asked}) as answer:
            return answer.status, (await answer.read()).decode()

    async def leaks_of(group: list[Case]) -> list[Case]:
        status, raw = await answer_with(group)
        if len(group) > 1 and (status != 200 or raw.count("\n\n") < frames):
            return [case for each in group for case in await leaks_of([each])]
        return [case for case in group if case.secret in raw]

    frames = (await answer_with([]))[1].count("\n\n")
    tried = cases(sample)
    # What is masked in one place of a stream that is relayed has all the others decoded, so each is tried alone there.
    step = len(tried) if path == CHAT and is_stream else -(-len(tried) // 10)
    assert [str(case) for start in range(step) for case in await leaks_of(tried[start::step])] == []
