"""A large body is let go once it was taken; any other stays as it is."""

import gc
import weakref
from typing import Any

import orjson
import pytest

from gateway.services.completion.held_body import HeldBody
from gateway.wire.large_json import encode


class Watched(dict[str, Any]):
    """A message whose end can be seen."""


def json_of(sent: dict[str, Any]) -> bytes:
    document = encode(sent)
    return document if isinstance(document, bytes) else b"".join(document)


@pytest.mark.slow
async def test_a_large_body_is_let_go_and_comes_back_for_another_attempt() -> None:
    message = Watched(role="user", content="hi")
    body: dict[str, Any] = {"model": "m", "messages": [message]}
    seen, held = weakref.ref(message), HeldBody(body, 1)
    del message
    assert held.is_let_go
    sent = await held.pack(held.take(), is_read=False)
    body.clear()
    gc.collect()
    assert seen() is None
    assert json_of(sent) == b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    assert held.take() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert held.take() is not held.take()


async def test_only_lists_and_objects_that_nobody_else_has_are_emptied() -> None:
    whole = {"messages": [{"role": "user"}] * 600, "tools": [{"type": "function"}], "extra": {"a": [1]}}
    for is_owned in (True, False):
        body = orjson.loads(orjson.dumps(whole))
        held = HeldBody(body, 1, is_owned=is_owned)
        taken = held.take()
        added = {"of": ["the operator"]}
        sent = await held.pack(
            {**taken, "messages": [*taken["messages"]], "tools": [{**taken["tools"][0]}], "added": added}, is_read=False
        )
        assert orjson.loads(json_of(sent)) == {**whole, "added": {"of": ["the operator"]}} and added["of"]
        assert (body["messages"] == []) is is_owned and body["tools"] == whole["tools"]
        assert held.take() == whole


async def test_what_an_adapter_reads_is_sent_as_it_is() -> None:
    held = HeldBody({"messages": [{"role": "user"}]}, 1, is_owned=True)
    assert await held.pack(held.take(), is_read=True) == {"messages": [{"role": "user"}]} == held.take()


def test_any_other_body_stays_as_it_is() -> None:
    body = {"model": "m"}
    held = HeldBody(body, 0)
    assert not held.is_let_go and held.take() is body and held.take() is body


def test_nothing_is_kept_of_a_large_body_whose_answer_has_begun() -> None:
    for values, rest in ((1, {}), (0, {"model": "m"})):
        held = HeldBody({"model": "m"}, values)
        held.close()
        assert held.take() == rest
