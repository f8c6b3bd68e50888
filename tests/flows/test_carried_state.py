"""Clients carry what an upstream must get back: after a restart, when nothing is remembered any more."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import MESSAGES, RESPONSES, send, toml
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


MASKED = "\n[sanitize]\nroutes = ['chat', 'responses']\nprofile = 'reversible'\n[guardrail]\nenabled = 'off'\n"
JANE, EVE = "jane.doe@posthaus.org", "eve.low@posthaus.org"


def _turn(route: str, who: str, items: list[Any]) -> dict[str, Any]:
    """A request that names somebody, before the items of an answer with a call, if any, and the call's result."""
    said = {"role": "user", "content": f"you know {who}"}
    if route == RESPONSES:
        result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
        tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
        more = {"store": False, "include": ["reasoning.encrypted_content"], "tools": [tool]}
        return {"model": "SvcLLM", "input": [said, *items, *([result] if items else [])], **more}
    content = [{"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}]
    later = [{"role": "assistant", "content": items}, {"role": "user", "content": content}] if items else []
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    return {"model": "SvcLLM", "max_tokens": 4000, "tools": tools, "messages": [said, *later], **THINKING}


@pytest.mark.parametrize("remembers", [True, False], ids=["remembered", "carried by the client"])
@pytest.mark.parametrize("route", [RESPONSES, MESSAGES])
async def test_a_name_in_thoughts_stands_for_its_own_value_in_another_history(
    tmp_path: Path, upstream: Upstream, route: str, remembers: bool
) -> None:
    said = {"reasoning_content": "the boss is [EMAIL_1]", "tool_calls": [up.called("f", "{}")]}
    upstream.will(up.answer(up.completion(None, "tool_calls", **said)))
    async with start_in_process(tmp_path, toml(upstream) + MASKED) as server:
        status, first, _ = await send(server, route, _turn(route, JANE, []))
        key = server.key
        if remembers:
            second, _, _ = await send(server, route, _turn(route, EVE, _items(first)))
    if not remembers:
        async with start_in_process(tmp_path, toml(upstream) + MASKED) as server:
            second, _, _ = await send(server, route, _turn(route, EVE, _items(first)), key=key)
    sent = upstream.seen[-1].body["messages"]
    assert (status, second) == (200, 200) and sent[0]["content"] == "you know [EMAIL_2]"
    assert sent[1]["reasoning_content"] == "the boss is [EMAIL_1]"


@pytest.mark.parametrize("route", [RESPONSES, MESSAGES])
async def test_signed_thoughts_go_back_as_they_were_whatever_comes_before_them(
    tmp_path: Path, upstream: Upstream, route: str
) -> None:
    signed = [{"type": "reasoning.text", "text": "the boss is [EMAIL_1]", "signature": "c2lnbmVk"}]
    thoughts = {"reasoning": "the boss is [EMAIL_1]", "reasoning_details": signed}
    upstream.will(up.answer(up.completion(None, "tool_calls", tool_calls=[up.called("f", "{}")], **thoughts)))
    async with start_in_process(tmp_path, toml(upstream) + MASKED) as server:
        _, first, _ = await send(server, route, _turn(route, JANE, []))
        again = _turn(route, JANE, _items(first))
        again["instructions" if route == RESPONSES else "system"] = f"you work for {EVE}"
        status, second, _ = await send(server, route, again)
    assert status == 200, second
    sent = upstream.seen[-1].body["messages"]
    assert sent[0]["content"] == "you work for [EMAIL_2]" and sent[2]["reasoning_details"] == signed
