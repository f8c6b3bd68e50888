"""An upstream that has the responses route alone answers on every route of the gateway."""

import pytest

from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Serve
from tests.support.talks import Talk
from tests.support.upstream import Exchange, Upstream

REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}],
             "encrypted_content": "c2VhbA=="}  # fmt: skip
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Mons"}'}


@pytest.mark.parametrize("stream", [False, True, "without deltas"], ids=["whole", "stream", "stream-without-deltas"])
@pytest.mark.parametrize("route", ["chat", "responses", "messages"])
async def test_a_turn_with_a_call_is_answered_and_its_reasoning_goes_back(
    serve: Serve, upstream: Upstream, route: str, stream: bool | str
) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.seen.path.endswith("chat/completions"):
            await up.answer({"detail": "Not Found"}, status=404)(exchange)
            return
        body = exchange.seen.body
        given = [item.get("type", "message") for item in body["input"]]
        whole = up.response(*(["Rain."] if "function_call_output" in given else [REASONING, CALL]))
        if body.get("stream"):
            events = up.response_stream(whole)  # LM Studio: a call's arguments come at its end alone (litellm#25321)
            await up.stream(*(each for each in events if stream is True or b".delta" not in each))(exchange)
        else:
            await up.answer(whole)(exchange)

    server = await serve(toml(upstream, responses="'native'"))
    upstream.will(script)
    talk = Talk(server, route, stream=bool(stream))
    first = await talk.say("How is the weather?")
    assert [each[1:] for each in first.calls] == [("weather", {"city": "Mons"})], first.raw
    second = await talk.give("it rains")
    assert (second.status, second.text) == (200, "Rain."), second.raw
    sent = upstream.last.body["input"]
    assert [item.get("type", "message") for item in sent] == [
        "message", "reasoning", "function_call", "function_call_output",
    ]  # fmt: skip
    assert sent[1]["encrypted_content"] == "c2VhbA==" and sent[2]["call_id"] == sent[3]["call_id"]
