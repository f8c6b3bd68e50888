"""What `sanitize.routes` = chat does on the messages route: requests, whole answers, streams, blocked streams."""

import orjson
import pytest

from tests.flows.test_every_place import holds
from tests.support import upstream as up
from tests.support.asking import ask, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.messages_route import ADD, MODEL, raw_stream
from tests.support.upstream import Upstream

SANITIZED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\n'
CARD = "4539 1488 0343 6467"


@pytest.fixture
async def masking(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + SANITIZED)


async def test_a_whole_answer_is_masked_and_says_so(masking: InProcessGateway, upstream: Upstream) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": orjson.dumps({"a": CARD}).decode()},
    }
    upstream.will(up.answer(up.completion(f"it is {CARD}", "tool_calls", tool_calls=[call])))
    status, answer, _ = await ask(masking, "/v1/messages", **MODEL, tools=[ADD])
    assert status == 200 and not holds(answer) and answer["content"][1]["input"]["a"].startswith("[REDACTED")
    assert answer["provider_specific_fields"]["sanitization"]["redacted"] == {"CREDIT_CARD": 2}


STREAMED: dict[str, list[bytes]] = {
    "text": [up.chunk({"content": piece}) for piece in ("it is 4539 14", "88 0343", " 6467, keep")],
    "thinking": [up.chunk({"reasoning_content": piece}) for piece in ("4539 14", "88 0343 64", "67 !")],
    "arguments": [up.chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": ""}}]})]
    + [up.chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
       for piece in ('{"a":"4539 14', "88 0343", ' 6467"}')],
}  # fmt: skip


@pytest.mark.parametrize("case", STREAMED)
async def test_a_value_split_over_deltas_is_masked(masking: InProcessGateway, upstream: Upstream, case: str) -> None:
    upstream.will(up.stream(*STREAMED[case], up.chunk({}, "stop"), up.DONE))
    events = await raw_stream(masking, tools=[ADD], thinking={"type": "enabled"})
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    said = "".join(delta.get("text") or delta.get("thinking") or delta.get("partial_json") or "" for delta in deltas)
    assert events[-1]["type"] == "message_stop" and "0343" not in said
    assert all(event.keys() == {"type", "index"} for event in events if event["type"] == "content_block_stop")


async def test_a_blocked_stream_ends_with_refusal_and_closed_blocks(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    block = '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n'
    server = await start_gateway(toml(upstream) + SANITIZED + block)
    upstream.will(up.stream(up.chunk({"content": "It is. "}), up.chunk({"content": f"{CARD} x"}), up.chunk({}, "stop"),
                            up.DONE))  # fmt: skip
    events = await raw_stream(server)
    kinds = [event["type"] for event in events]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 1
    assert kinds[-2:] == ["message_delta", "message_stop"] and events[-2]["delta"]["stop_reason"] == "refusal"
    assert not holds(events)
