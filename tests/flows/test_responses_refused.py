"""What `POST /v1/responses` and the questions about kept responses refuse, and by which name; what a model refuses."""

import asyncio

import pydantic
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, official, send
from tests.support.gateways import Gateway
from tests.support.upstream import Upstream

LIMIT_S = 10


@pytest.mark.parametrize(
    ("query", "param"),
    [("/input_items?limit=0", "limit"), ("/input_items?order=up", "order"), ("/input_items?after=x", "after"),
     ("?stream=true", "stream")],
)  # fmt: skip
async def test_a_wrong_question_about_a_kept_response_is_named(server: Gateway, query: str, param: str) -> None:
    server.upstream.will(up.answer())
    _, made, _ = await ask(server, "/v1/responses", input="hello")
    status, told, _ = await send(server, f"/v1/responses/{made['id']}{query}", method="GET")
    assert (status, told["error"]["param"]) == (400, param) and told["error"]["message"].startswith(f"{param}: ")


class Sum(pydantic.BaseModel):
    value: int


@pytest.mark.slow  # through the official client
async def test_a_refusal_is_not_parsed_as_the_answer_that_was_asked_for(server: Gateway, upstream: Upstream) -> None:
    pieces = [up.chunk({"refusal": piece}) for piece in ("I can", "not.")]
    upstream.will(up.stream(*pieces, up.chunk({}, "stop"), up.usage_chunk(), up.DONE))
    async with asyncio.timeout(LIMIT_S), official(server) as client:
        async with client.responses.stream(model="SvcLLM", input="x", text_format=Sum) as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response()
        upstream.will(up.answer(up.completion(None, refusal="I cannot.")))
        whole = await client.responses.parse(model="SvcLLM", input="x", text_format=Sum)
    assert "".join(event.delta for event in events if event.type == "response.refusal.delta") == "I cannot."
    assert [event.refusal for event in events if event.type == "response.refusal.done"] == ["I cannot."]
    assert final.output_parsed is None and final.output_text == "" and final.status == "completed"
    refusal = {"type": "refusal", "refusal": "I cannot."}
    assert whole.output_parsed is None and whole.output[0].to_dict()["content"] == [refusal]


async def test_what_a_translated_request_asks_for_goes_on_or_is_told(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    _, data, _ = await ask(server, "/v1/responses", input="x", text={"verbosity": "low"}, truncation="auto")
    assert upstream.last.body["verbosity"] == "low" and "truncation" not in upstream.last.body
    [warning] = data["provider_specific_fields"]["warnings"]
    assert "truncation is not done" in warning


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("told", "named"), [("messages[0].content", "input"), ("max_tokens", "max_output_tokens")])
async def test_what_the_upstream_refuses_is_named_as_the_caller_knows_it(
    server: Gateway, upstream: Upstream, told: str, named: str, streamed: bool
) -> None:
    upstream.will(up.answer({"error": {"message": "too long", "param": told, "code": "invalid_value"}}, status=400))
    status, data, _ = await ask(server, "/v1/responses", input="hello", stream=streamed)
    assert (status, data["error"]["param"]) == (400, named)
