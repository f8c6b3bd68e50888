"""Deferred tools over a chat upstream: found by the gateway's search, or by the caller's own."""

from typing import Any

from tests.support import upstream as up
from tests.support.asking import ask, official
from tests.support.gateways import Gateway
from tests.support.upstream import Upstream

ORDERS = {
    "type": "function", "name": "list_open_orders", "description": "List open orders of a customer.",
    "defer_loading": True, "parameters": {"type": "object", "properties": {"customer": {"type": "string"}}},
}  # fmt: skip
CRM = {"type": "namespace", "name": "crm", "description": "Customer records.", "tools": [ORDERS]}
CLOCK = {"type": "function", "name": "clock", "description": "The time.", "parameters": {"type": "object"}}
WEATHER = {**CLOCK, "name": "weather", "description": "Weather of a place.", "parameters": {}, "defer_loading": True}


def calling(name: str, arguments: str) -> Any:
    return up.answer(up.completion(None, "tool_calls", tool_calls=[up.called(name, arguments)]))


def names(upstream: Upstream, index: int) -> list[str]:
    return [tool["function"]["name"] for tool in upstream.seen[index].body.get("tools") or ()]


async def test_a_model_finds_a_deferred_tool_and_calls_it_in_the_same_answer(server: Gateway) -> None:
    asked = (("tool_search", '{"query":"open orders"}'), ("crm__list_open_orders", '{"customer":"7"}'))
    server.upstream.will(*(up.stream(*up.call_stream(up.called(*each))) for each in asked))
    tools: list[Any] = [{"type": "tool_search"}, CRM, WEATHER, CLOCK]
    async with (
        official(server) as client,
        client.responses.stream(model="SvcLLM", input="orders of 7?", tools=tools) as events,
    ):
        async for _ in events:
            pass
        final = await events.get_final_response()
    assert names(server.upstream, 0) == ["clock", "tool_search"]
    described = server.upstream.seen[0].body["tools"][-1]["function"]["description"]
    assert "crm__list_open_orders" in described and "Weather of a place." in described
    assert names(server.upstream, 1) == ["clock", "crm__list_open_orders", "tool_search"]
    search, found, call = final.output
    assert (search.type, search.execution, search.call_id, search.arguments) == (
        "tool_search_call", "server", None, {"query": "open orders"},
    )  # fmt: skip
    assert found.type == "tool_search_output" and [tool.name for tool in found.tools] == ["crm"]
    assert (call.type, call.name, call.namespace) == ("function_call", "list_open_orders", "crm")
    server.upstream.will(up.answer())
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "none"}
    status, _, _ = await ask(server, "/v1/responses", input=[output], previous_response_id=final.id, tools=tools)
    assert status == 200 and "crm__list_open_orders" in names(server.upstream, 2)  # found once, it stays


async def test_a_search_that_fits_nothing_says_so_to_the_model(server: Gateway, upstream: Upstream) -> None:
    upstream.will(calling("tool_search", '{"query":"zebra"}'), up.answer())
    status, data, _ = await ask(server, "/v1/responses", input="x", tools=[{"type": "tool_search"}, WEATHER])
    assert status == 200 and [item["type"] for item in data["output"]] == [
        "tool_search_call", "tool_search_output", "message",
    ]  # fmt: skip
    assert upstream.last.body["messages"][-1]["content"] == "No tool fits these words."


async def test_the_callers_own_search_brings_its_tools(server: Gateway, upstream: Upstream) -> None:
    own = {"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": {"type": "object"}}
    tools = [own, CRM, CLOCK]
    upstream.will(calling("tool_search", '{"paths":["crm"]}'), up.answer())
    _, data, _ = await ask(server, "/v1/responses", input="x", tools=tools)
    call = data["output"][0]
    assert (call["type"], call["execution"]) == ("tool_search_call", "client")
    assert names(upstream, 0) == ["tool_search", "clock"]
    output = {"type": "tool_search_output", "call_id": call["call_id"], "execution": "client", "tools": [CRM]}
    items = [{"role": "user", "content": "x"}, call, output]
    status, _, _ = await ask(server, "/v1/responses", input=items, tools=tools)
    assert status == 200 and "crm__list_open_orders" in names(upstream, 1)


async def test_deferred_tools_without_a_search_are_offered_at_once(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    await ask(server, "/v1/responses", input="x", tools=[WEATHER])
    assert names(upstream, 0) == ["weather"]
