"""A chat body that one schema calls plain is one that nothing would have changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain import Json
from gateway.schemas import Checker, load
from gateway.services.completion.turns import Turn, TurnMemory
from gateway.wire.chat.call_ids import MARK
from gateway.wire.chat.kept import BETWEEN_TURNS
from gateway.wire.chat.request import UpstreamOptions, image_parts, plain_chat, to_upstream

CHAT = Checker(load("chat"))
PLAIN = Checker(plain_chat())
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TEXT = {"type": "text", "text": "Hi"}


def body_of(*messages: Json) -> Json:
    return {"model": "m", "messages": list(messages)}


MESSAGES_AND_WHETHER_THEY_ARE_PLAIN = [
    ({"role": "user", "content": "Hi"}, True), ({"role": "system", "content": "Hi", "name": "a"}, True),
    ({"role": "assistant", "content": None, "tool_calls": [CALL]}, True),
    ({"role": "assistant", "content": "Hi", "audio": "a"}, True),
    ({"role": "assistant", "content": "Hi", "refusal": None, "annotations": []}, True),
    ({"role": "assistant", "content": "Hi", "annotations": [{}]}, False),
    ({"role": "user", "content": "Hi", "tool_call_id": ""}, False),
    ({"role": "tool", "tool_call_id": "call_1", "content": "Hi"}, True),
    ({"role": "developer", "content": "Hi"}, False), ({"role": "user", "content": [TEXT]}, False),
    ({"role": "tool", "content": "Hi"}, False), ({"role": "function", "name": "f", "content": "Hi"}, False),
    ({"role": "assistant", "content": None, "function_call": {"name": "f"}}, False),
    *(({"role": "assistant", "content": "Hi", name: "Hm"}, False) for name in BETWEEN_TURNS),
    ({"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": f"call_1{MARK}2"}]}, False),
]  # fmt: skip


@pytest.mark.parametrize(("message", "is_plain"), MESSAGES_AND_WHETHER_THEY_ARE_PLAIN)
def test_a_message_is_plain_when_every_upstream_gets_it_as_it_came(message: Json, is_plain: bool) -> None:
    assert PLAIN.allows(body_of(message)) is is_plain and CHAT.allows(body_of(message))


TEXTS = st.sampled_from(["", "Hi", "call_1_again_2", None, 7, [TEXT], [{"type": "image_url", "image_url": "u"}]])
MEMBERS = {"tool_call_id": TEXTS, "name": TEXTS, "reasoning": TEXTS, "gateway_state": TEXTS, "function_call": TEXTS}
CALLS = st.sampled_from([None, [], [CALL], [{**CALL, "id": "call_1_again_2"}], [{"type": "function"}], ["call"]])
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "other"])},
    optional={"content": TEXTS, "tool_calls": CALLS, **MEMBERS},
)


@given(st.lists(MESSAGES, min_size=1, max_size=4))
def test_nothing_changes_a_body_that_is_plain(messages: list[Json]) -> None:
    body = body_of(*messages)
    if PLAIN.allows(body):
        options = UpstreamOptions("up")
        assert CHAT.allows(body) and to_upstream(body, options, is_plain=True) == to_upstream(body, options)
        assert to_upstream(body, options)["messages"] == messages
        assert not image_parts(body) and not Turn(TurnMemory(), "key", messages).states
