"""Conversations by the official client: items with cursors, turns that continue and add to them, bounds, other keys."""

import asyncio
import json
import sqlite3
from typing import Any

import openai
import pytest

from tests.support import upstream as up
from tests.support.asking import official, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

LIMIT_S = 20


def said(number: int) -> Any:
    return {"type": "message", "role": "user", "content": f"words {number}"}


async def test_a_conversation_is_made_shown_changed_and_deleted(client: Any) -> None:
    made = await client.conversations.create(items=[said(0)], metadata={"topic": "demo"})
    assert made.id.startswith("conv_") and made.object == "conversation" and made.metadata == {"topic": "demo"}
    assert (await client.conversations.retrieve(made.id)).created_at == made.created_at
    changed = await client.conversations.update(made.id, metadata={"topic": "other"})
    assert changed.metadata == {"topic": "other"}
    assert (await client.conversations.delete(made.id)).deleted
    with pytest.raises(openai.NotFoundError):
        await client.conversations.retrieve(made.id)


@pytest.mark.parametrize("body", [None, b""])
async def test_a_conversation_of_nothing_needs_no_body(server: Gateway, body: bytes | None) -> None:
    status, made, _ = await send(server, "/v1/conversations", body, Content_Type=None)
    assert status == 200 and made["object"] == "conversation"
    status, refused, _ = await send(server, f"/v1/conversations/{made['id']}/items", body, Content_Type=None)
    assert status == 415 and refused["error"]["code"] == "unsupported_media_type"


@pytest.mark.parametrize("kind", ["unheard_of", "Message", "x" * 300])
async def test_an_item_of_an_unknown_type_is_refused(server: Gateway, kind: str) -> None:
    items = [said(1), {"type": kind, "x": 1}]
    status, data, _ = await send(server, "/v1/conversations", {"items": items})
    assert status == 400 and data["error"]["param"] == "items[1].type"
    _, made, _ = await send(server, "/v1/conversations", {"items": items[:1]})
    status, data, _ = await send(server, f"/v1/conversations/{made['id']}/items", {"items": items})
    assert status == 400 and data["error"]["param"] == "items[1].type" and len(data["error"]["message"]) < 200


async def test_items_are_added_listed_in_pages_found_and_removed(client: Any) -> None:
    made = await client.conversations.create()
    for start in range(0, 45, 15):
        added = await client.conversations.items.create(made.id, items=[said(start + n) for n in range(15)])
        assert len(added.data) == 15 and added.first_id == added.data[0].id
    texts = [item.content[0].text async for item in client.conversations.items.list(made.id, order="asc", limit=20)]
    assert texts == [f"words {number}" for number in range(45)]
    newest = await client.conversations.items.list(made.id, limit=2)
    assert [item.content[0].text for item in newest.data] == ["words 44", "words 43"] and newest.has_more
    one = newest.data[0]
    assert one.status == "completed" and one.id is not None
    assert (await client.conversations.items.retrieve(one.id, conversation_id=made.id)) == one
    await client.conversations.items.delete(one.id, conversation_id=made.id)
    with pytest.raises(openai.NotFoundError):
        await client.conversations.items.retrieve(one.id, conversation_id=made.id)
    for wrong in ({"limit": 0}, {"limit": 101}, {"after": "msg_unknown"}):
        with pytest.raises(openai.BadRequestError):
            await client.conversations.items.list(made.id, **wrong)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_turn_reads_the_conversation_and_adds_its_input_and_output(
    client: Any, upstream: Upstream, is_streamed: bool
) -> None:
    made = await client.conversations.create(items=[said(0)])
    asked: Any = {"model": "SvcLLM", "input": "next", "conversation": made.id if is_streamed else {"id": made.id}}
    if is_streamed:
        upstream.will(up.stream(*up.text_stream()))
        events = [event async for event in await client.responses.create(stream=True, **asked)]
        final = events[-1].response
    else:
        upstream.will(up.answer())
        final = await client.responses.create(**asked)
    assert final.conversation.id == made.id
    assert [message["content"] for message in upstream.last.body["messages"]] == ["words 0", "next"]
    listed = await client.conversations.items.list(made.id, order="asc")
    roles = [(item.type, item.role) for item in listed.data]
    assert roles == [("message", "user"), ("message", "user"), ("message", "assistant")]
    upstream.will(up.answer())
    await client.responses.create(**{**asked, "store": False})
    assert len(upstream.last.body["messages"]) == 4
    assert len((await client.conversations.items.list(made.id)).data) == 3  # read, and not added to


async def test_a_turn_that_fails_adds_nothing_and_leaves_the_conversation_free(client: Any, upstream: Upstream) -> None:
    made = await client.conversations.create(items=[said(0)])
    upstream.will(up.answer({"error": {"message": "no"}}, status=400), up.answer())
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="SvcLLM", input="next", conversation=made.id)
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="SvcLLM", input="n", conversation=made.id, previous_response_id="resp_1")
    assert len((await client.conversations.items.list(made.id)).data) == 1
    await client.responses.create(model="SvcLLM", input="next", conversation=made.id)


async def test_two_turns_at_once_are_refused_and_a_client_that_leaves_frees_it(client: Any, upstream: Upstream) -> None:
    made = await client.conversations.create(items=[said(0)])
    upstream.will(up.silent(upstream, *up.text_stream()[:2]), up.answer())
    async with asyncio.timeout(LIMIT_S):
        stream = await client.responses.create(model="SvcLLM", input="a", conversation=made.id, stream=True)
        await anext(aiter(stream))
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model="SvcLLM", input="b", conversation=made.id)
        assert refused.value.code == "conversation_locked" and refused.value.param == "conversation"
        await stream.close()
        await upstream.released.wait()
        while True:
            try:
                await client.responses.create(model="SvcLLM", input="b", conversation=made.id)
                break
            except openai.BadRequestError:
                await asyncio.sleep(0.05)


async def test_another_keys_conversation_is_not_there(server: Gateway, client: Any, upstream: Upstream) -> None:
    key = server.make_key("responses")
    made = await client.conversations.create(items=[said(0)])
    item = (await client.conversations.items.list(made.id)).data[0]
    path = f"/v1/conversations/{made.id}"
    for method, end, body in (
        ("GET", "", None), ("POST", "", {"metadata": {}}), ("DELETE", "", None), ("GET", "/items", None),
        ("POST", "/items", {"items": [said(1)]}), ("GET", f"/items/{item.id}", None),
        ("DELETE", f"/items/{item.id}", None),
    ):  # fmt: skip
        assert (await send(server, path + end, body, method=method, key=key))[0] == 404, (method, end)
    asked = {"model": "SvcLLM", "input": "hi", "conversation": made.id}
    assert (await send(server, "/v1/responses", asked, key=key))[0] == 404
    assert not upstream.seen


async def test_a_key_has_so_many_conversations_of_so_many_items_and_bytes(serve: Serve, upstream: Upstream) -> None:
    limits = "conversations = { per_key = 2, items = 3, max_bytes = 2048 }"
    server = await serve(toml(upstream) + f"\n[responses]\n{limits}\n")
    async with official(server) as client:
        first = await client.conversations.create(items=[said(0), said(1)])
        kept = await client.conversations.create()
        with pytest.raises(openai.RateLimitError, match="delete some"):
            await client.conversations.create()
        await client.conversations.delete(kept.id)
        made = await asyncio.gather(*(client.conversations.create() for _ in range(20)), return_exceptions=True)
        made_now = sum(not isinstance(each, BaseException) for each in made)
        assert made_now == 1, "the key has two, however many come at once"
        with pytest.raises(openai.BadRequestError, match="4 items; the limit is 3"):
            await client.conversations.items.create(first.id, items=[said(2), said(3)])
        with pytest.raises(openai.BadRequestError, match="bytes; the limit is 2048"):
            await client.conversations.items.create(first.id, items=[{**said(2), "content": "x" * 3000}])
        upstream.will(up.answer())
        with pytest.raises(openai.BadRequestError, match="the limit is 3"):
            await client.responses.create(model="SvcLLM", input="next", conversation=first.id)


async def test_items_are_masked_as_they_come_and_as_they_go(serve: Serve, upstream: Upstream) -> None:
    more = "\n[sanitize]\nroutes = ['responses']\n[guardrail]\nenabled = 'off'\n"
    server = await serve(toml(upstream) + more)
    secret = "aws_access_key_id=AKIAQ3EGRJ7TYVPLQWNE"
    upstream.will(up.answer(up.completion(secret)))
    async with official(server) as client:
        made = await client.conversations.create(items=[{**said(0), "content": secret}], metadata={"note": secret})
        await client.responses.create(model="SvcLLM", input="next", conversation=made.id)
        listed = await client.conversations.items.list(made.id)
        items = client.conversations.items
        shown = [await items.retrieve(item.id, conversation_id=made.id) for item in listed.data]
    texts = made.model_dump_json() + listed.model_dump_json() + "".join(item.model_dump_json() for item in shown)
    assert "AKIAQ3EGRJ7TYVPLQWNE" not in texts and texts.count("[REDACTED:SECRET]") >= 5
    assert "AKIA" not in json.dumps(upstream.last.body) and "AKIA" not in server.log_text()


async def test_the_names_of_metadata_that_was_replaced_are_forgotten(serve: Serve, upstream: Upstream) -> None:
    more = "\n[sanitize]\nroutes = ['responses']\nprofile = 'reversible'\n[guardrail]\nenabled = 'off'\n"
    server = await serve(toml(upstream) + more)
    place = "/v1/conversations"
    _, made, _ = await send(server, place, {"items": [{"role": "user", "content": "I am ann@posthaus.org"}]})
    sizes = []
    for turn in range(6):
        metadata = {f"m{n}": f"p{turn}.{n}@posthaus.org" for n in range(16)}
        _, shown, _ = await send(server, f"{place}/{made['id']}", {"metadata": metadata})
        assert shown["metadata"] == metadata
        database = sqlite3.connect(server.config.state_dir / "state.sqlite3")
        sizes.append(sum(len(str(row)) for row in database.iterdump()))
        database.close()
    assert max(sizes) < 1.1 * sizes[0]
    _, items, _ = await send(server, f"{place}/{made['id']}/items", method="GET")
    assert items["data"][0]["content"][0]["text"] == "I am ann@posthaus.org"
