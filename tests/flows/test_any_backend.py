"""Any backend, any client: three rounds of calls with thoughts, on every route, whole and streamed.

The backends (`support.backends`) refuse what real ones refuse; the clients (`support.talks`) hand back all that they
got, or documented fields alone.
"""

from typing import Any

import pytest

from tests.support.asking import toml
from tests.support.backends import (
    BACKENDS,
    FINAL,
    FORMS,
    REQUESTS,
    ROUNDS,
    USAGES,
    Backend,
    Form,
    refuses_efforts,
    script_of,
)
from tests.support.gateways import Gateway, Serve
from tests.support.sockets import opened
from tests.support.talks import ROUTES, Talk, Turn, read_response
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow  # each backend on each route, by each kind of client
MODES = [pytest.param(False, id="whole"), pytest.param(True, id="stream")]
THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def asked(route: str, backend: Backend) -> dict[str, Any]:
    """What a client of this route sends beside its messages."""
    more = THINKING if route == "messages" and backend.thoughts else {}
    if backend.name == "openai":
        limit = {"chat": "max_completion_tokens", "messages": "max_tokens"}.get(route, "max_output_tokens")
        more = {limit: 400, "temperature": 0.2}
    return more


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name.replace(" ", "-"))
async def test_a_plain_answer(serve: Serve, upstream: Upstream, backend: Backend, route: str, stream: bool) -> None:
    server, refused = await serve(toml(upstream, **backend.settings)), list[str]()
    upstream.will(script_of(backend, refused))
    talk = Talk(server, route, stream=stream, tools=[], **asked(route, backend))
    turn = await talk.say("How is the weather?")
    assert (turn.status, turn.text) == (200, FINAL), (turn.raw, refused)


@pytest.mark.parametrize("careful", [False, True], ids=["all", "documented"])
@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name.replace(" ", "-"))
async def test_three_rounds_of_calls(serve: Serve, backend: Backend, route: str, stream: bool, careful: bool) -> None:
    server, refused = await serve(toml(serve.upstream, **backend.settings)), list[str]()
    serve.upstream.will(script_of(backend, refused))
    talk = Talk(server, route, stream=stream, careful=careful, **asked(route, backend))
    turn = await talk.say("How is the weather?")
    for number in range(ROUNDS):
        assert turn.status == 200 and len(turn.calls) == 1, (number, turn.raw, refused)
        assert turn.calls[0][2] == {"path": f"notes/{number}.md"}
        if backend.thoughts:
            assert turn.thoughts == f"Note {number} first; it says more."
        turn = await talk.give(f"result {number}")
    assert (turn.status, turn.text) == (200, FINAL), (turn.raw, refused)


CELLS = [
    pytest.param(form, route, stream, id=f"{form.name}-{route}-{'stream' if stream else 'whole'}")
    for form in FORMS
    for route in ("chat", "responses", "messages", "socket")
    for stream in (False, True)
    if (form.deltas if stream else form.whole is not None and route != "socket")
]


@pytest.mark.parametrize(("form", "route", "stream"), CELLS)
async def test_an_answer_in_any_form_says_the_same(server: Gateway, form: Form, route: str, stream: bool) -> None:
    server.upstream.will(form.script(stream=stream))
    if route == "socket":
        async with opened(server) as socket:
            last = (await socket.turn(input="Which?", store=False))[-1]
        turn = Turn(200, {"error": last.get("error") or last["response"]["error"]})
        if not turn.raw["error"]:
            read_response(turn, last["response"])
    else:
        more: dict[str, Any] = THINKING if route == "messages" and form.thoughts else {}
        turn = await Talk(server, route, stream=stream, **more).say("Which?")
    assert form.refused == ("the picture is missing" in str(turn.raw.get("error"))), turn.raw
    assert (turn.text, turn.thoughts, [list(call[1:]) for call in turn.calls]) == (form.text, form.thoughts, form.calls)
    assert len({call[0] for call in turn.calls}) == len(turn.calls)


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ["chat", "responses", "messages"])
@pytest.mark.parametrize("place", range(len(USAGES)))
async def test_usage_is_found_wherever_it_is(serve: Serve, place: int, route: str, stream: bool) -> None:
    server, (told, whole) = await serve(toml(serve.upstream)), USAGES[place]
    serve.upstream.will(Form("", "", [{"content": "x"}, told], whole).script(stream=stream))
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if route == "chat" else {}
    used = (await Talk(server, route, stream=stream, **more).say("Which?")).raw["usage"]
    names = ("prompt_tokens", "completion_tokens") if route == "chat" else ("input_tokens", "output_tokens")
    assert [used[name] for name in names] == [9, 4]


@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("name", REQUESTS)
async def test_what_a_request_asks_for_reaches_the_upstream_in_its_words(serve: Serve, name: str, stream: bool) -> None:
    server, (asked_for, wanted) = await serve(toml(serve.upstream)), REQUESTS[name]
    serve.upstream.will(refuses_efforts(("low", "high")))
    for route, fields in asked_for.items():
        assert (await Talk(server, route, stream=stream, **{"tools": [], **fields}).say("Which?")).status == 200
        assert {field: serve.upstream.last.body.get(field) for field in wanted} == wanted


async def test_a_refused_value_changes_no_later_request(server: Gateway, upstream: Upstream) -> None:
    upstream.will(refuses_efforts(("low", "high")))
    for temperature, effort in ((1.7, "max"), (0.1, "low")):
        fields: dict[str, Any] = {"temperature": temperature, "reasoning_effort": effort}
        await Talk(server, "chat", **fields).say("Which?")
    assert (upstream.last.body["temperature"], upstream.last.body["reasoning_effort"]) == (0.1, "low")
