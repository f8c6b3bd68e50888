"""Compaction of a conversation that is longer than the model's context, and counts of tokens."""

from typing import Any

from tests.support import upstream as up
from tests.support.asking import ask
from tests.support.gateways import Gateway
from tests.support.upstream import Exchange, Upstream

MOST_CHARS = 9_000


def talk(turns: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for number in range(turns):
        items += [
            {"type": "message", "role": "user", "content": f"read file {number}"},
            {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": f"fact {number} " + "x " * 400},
            {"type": "message", "role": "assistant", "content": f"read {number}"},
        ]
    return items


class Short:
    """A model with a short context: it refuses what is longer, and names the facts that it has read."""

    def __init__(self) -> None:
        self.refused = self.answered = 0

    async def __call__(self, exchange: Exchange) -> None:
        messages = exchange.seen.body["messages"]
        text = " ".join(str(message.get("content")) for message in messages)
        if len(text) > MOST_CHARS:
            self.refused += 1
            error = {"message": "maximum context length exceeded", "code": "context_length_exceeded"}
            await up.answer({"error": error}, status=400)(exchange)
            return
        self.answered += 1
        facts = [f"fact {number}" for number in range(20) if f"fact {number} " in text or f"fact {number}," in text]
        await up.answer(up.completion(", ".join(facts) + ","))(exchange)


async def test_what_is_longer_than_the_context_is_summarised_in_parts_and_no_part_is_lost(server: Gateway) -> None:
    model = Short()
    server.upstream.will(model)
    status, made, _ = await ask(server, "/v1/responses/compact", input=talk(20))
    assert status == 200 and model.refused and model.answered >= 2
    server.upstream.will(up.answer(up.completion("go on")))
    status, _, _ = await ask(server, "/v1/responses", input=[*made["output"], {"role": "user", "content": "next"}])
    assert status == 200
    shown = str(server.upstream.seen[-1].body["messages"])
    assert all(f"fact {number}" in shown for number in range(20))


async def test_a_conversation_that_no_number_of_parts_makes_fit_is_refused_after_a_bounded_number_of_calls(
    server: Gateway, upstream: Upstream
) -> None:
    model = Short()
    upstream.will(model)
    status, refused, _ = await ask(server, "/v1/responses/compact", input=talk(200))
    assert status == 400 and refused["error"]["code"] == "context_length_exceeded"
    assert model.refused + model.answered <= 15


async def test_a_count_says_that_it_is_an_estimate_until_the_models_upstream_has_counted(server: Gateway) -> None:
    text = "word " * 400
    _, first, _ = await ask(server, "/v1/responses/input_tokens", input=text)
    assert first["provider_specific_fields"] == {"usage_estimated": True}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 1, "total_tokens": 1_001}
    server.upstream.will(up.answer({**up.completion("done"), "usage": usage}))
    await ask(server, "/v1/responses", input=text)
    _, second, _ = await ask(server, "/v1/responses/input_tokens", input=text)
    assert "provider_specific_fields" not in second and abs(second["input_tokens"] - 1_000) <= 10
    _, double, _ = await ask(server, "/v1/responses/input_tokens", input=text * 2)
    assert abs(double["input_tokens"] - 2_000) <= 20
