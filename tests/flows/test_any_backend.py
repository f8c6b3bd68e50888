"""Any backend, any client: three rounds of calls with thoughts, on every route, whole and streamed.

The backends (`support.backends`) refuse what real ones refuse; the clients (`support.talks`) hand back all that they
got, or documented fields alone.
"""

from typing import Any

import pytest

from tests.support.asking import toml
from tests.support.backends import BACKENDS, FINAL, ROUNDS, Backend, script_of
from tests.support.gateways import StartGateway
from tests.support.talks import ROUTES, Talk
from tests.support.upstream import Upstream

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
async def test_a_plain_answer(
    start_gateway: StartGateway, upstream: Upstream, backend: Backend, route: str, stream: bool
) -> None:
    server, refused = await start_gateway(toml(upstream, **backend.settings)), list[str]()
    upstream.will(script_of(backend, refused))
    talk = Talk(server, route, stream=stream, tools=[], **asked(route, backend))
    turn = await talk.say("How is the weather?")
    assert (turn.status, turn.text) == (200, FINAL), (turn.raw, refused)


@pytest.mark.parametrize("careful", [pytest.param(False, id="all"), pytest.param(True, id="documented")])
@pytest.mark.parametrize("stream", MODES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name.replace(" ", "-"))
async def test_three_rounds_of_calls(
    start_gateway: StartGateway, upstream: Upstream, backend: Backend, route: str, stream: bool, careful: bool
) -> None:
    server, refused = await start_gateway(toml(upstream, **backend.settings)), list[str]()
    upstream.will(script_of(backend, refused))
    talk = Talk(server, route, stream=stream, careful=careful, **asked(route, backend))
    turn = await talk.say("How is the weather?")
    for number in range(ROUNDS):
        assert turn.status == 200 and len(turn.calls) == 1, (number, turn.raw, refused)
        assert turn.calls[0][2] == {"path": f"notes/{number}.md"}
        if backend.thoughts:
            assert turn.thoughts == f"Note {number} first; it says more."
        turn = await talk.give(f"result {number}")
    assert (turn.status, turn.text) == (200, FINAL), (turn.raw, refused)
