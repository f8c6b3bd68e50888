"""Clients carry what an upstream must get back: after a restart, when nothing is remembered any more."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import toml
from tests.support.backends import BACKENDS, FINAL, script_of
from tests.support.gateways import start_in_process
from tests.support.talks import Talk
from tests.support.upstream import Upstream

THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ["responses", "messages"])
async def test_sealed_thoughts_reach_their_upstream_after_a_restart(
    tmp_path: Path, upstream: Upstream, route: str, stream: bool
) -> None:
    refused: list[str] = []
    upstream.will(script_of(BACKENDS[2], refused))
    more = THINKING if route == "messages" else {}
    async with start_in_process(tmp_path, toml(upstream)) as server:
        talk = Talk(server, route, stream=stream, careful=True, **more)
        first = await talk.say("How is the weather?")
        sealed = [item.get("signature") or item.get("encrypted_content") for item in _items(first.raw)]
        assert any(sealed) and "Note 0" not in str(sealed)
        key = server.key
    async with start_in_process(tmp_path, toml(upstream)) as server:
        talk.move_to(server, key)
        turn = await talk.give("result 0")
        for number in (1, 2):
            turn = await talk.give(f"result {number}")
    assert turn.text == FINAL, (turn.raw, refused)


async def test_a_sealed_state_of_another_key_says_nothing(tmp_path: Path, upstream: Upstream) -> None:
    refused: list[str] = []
    upstream.will(script_of(BACKENDS[2], refused))
    async with start_in_process(tmp_path, toml(upstream)) as server:
        talk = Talk(server, "messages", careful=True, **THINKING)
        await talk.say("How is the weather?")
        talk.move_to(server, server.make_key("chat"))
        await talk.give("result 0")
    assert refused, "the upstream got no state of another's conversation"


def _items(raw: Any) -> Any:
    return raw.get("output") or raw["content"]
