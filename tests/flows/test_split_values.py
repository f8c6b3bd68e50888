"""Values that are split over parts, items and pieces of a stream, spelt again by tokens, or written in a data URL."""

import base64
import copy
from typing import Any

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, ask_stream, toml
from tests.support.gateways import Gateway, Serve
from tests.support.pieces import pieces_of
from tests.support.rich_bodies import RESPONSE_ANSWER
from tests.support.upstream import Upstream

HALVES = ("the card is 4539 14", "88 0343 6467 as you asked")
CARD = "4539 1488 0343 6467"
KEY = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"
SETTINGS = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'
REPORT = {"redacted": {"CREDIT_CARD": 1}, "flagged": {}}


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream) + SETTINGS)


@pytest.fixture
async def native(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream, responses="'native'") + SETTINGS)


@pytest.fixture
async def taking_files(serve: Serve, upstream: Upstream) -> Gateway:
    """Its upstream gets files as they were sent, instead of their text."""
    return await serve(toml(upstream, accepts_files="true") + SETTINGS)


def texts_of(response: Any) -> list[str]:
    items = [item for item in response["output"] if item["type"] == "message"]
    return [part["text"] for item in items for part in item["content"]]


def message(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts}


async def test_a_value_over_two_parts_of_a_message_never_leaves(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    parts = [{"type": "text", "text": text} for text in HALVES]
    _, data, _ = await ask(server, messages=[{"role": "user", "content": parts}])
    sent = [part["text"] for part in upstream.last.body["messages"][0]["content"]]
    assert sent == ["the card is [REDACTED:CREDIT_CARD]", " as you asked"]
    assert data["choices"][0]["provider_specific_fields"]["sanitization"] == REPORT


async def test_a_key_over_many_short_parts_is_masked_where_it_begins(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    pieces = ["use ", *pieces_of(KEY, 7), " now"]
    parts = [{"type": "text", "text": text} for text in pieces]
    await ask(server, messages=[{"role": "user", "content": parts}])
    assert "".join(part["text"] for part in upstream.last.body["messages"][0]["content"]) == "use [REDACTED:SECRET] now"


async def test_neighbours_that_make_no_value_stay_as_they_are(native: Gateway, upstream: Upstream) -> None:
    texts = ("It was in 2019", "17 of 23 were there", "at 4", "1111")
    upstream.will(up.answer({**RESPONSE_ANSWER, "output": [message(*texts)]}))
    _, data, _ = await ask(native, "/v1/responses", input="x")
    assert tuple(texts_of(data)) == texts and "sanitization" not in data["provider_specific_fields"]


async def test_a_blocked_split_value_ends_the_answer_where_it_begins(serve: Serve, upstream: Upstream) -> None:
    blocking = '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n'
    server = await serve(toml(upstream, responses="'native'") + SETTINGS + blocking)
    upstream.will(up.answer({**RESPONSE_ANSWER, "output": [message(*HALVES)]}))
    _, data, _ = await ask(server, "/v1/responses", input="x")
    assert data["status"] == "incomplete" and texts_of(data) == ["the card is ", ""]


def spelt(*texts: str) -> dict[str, Any]:
    tokens = [{"token": text, "logprob": -0.1, "bytes": list(text.encode()), "top_logprobs": []} for text in texts]
    return {"content": tokens, "refusal": None}


async def test_the_tokens_of_a_masked_text_go_and_those_of_another_stay(server: Gateway, upstream: Upstream) -> None:
    answer = up.completion("It is " + CARD)
    other = {"role": "assistant", "content": "It is"}
    answer["choices"].append({"index": 1, "message": other, "finish_reason": "stop"})
    answer["choices"][0]["logprobs"] = spelt("It is ", "4539 ", "1488 ", "0343 ", "6467")
    answer["choices"][1]["logprobs"] = spelt("It", " is")
    upstream.will(up.answer(copy.deepcopy(answer)))
    _, data, _ = await ask(server, n=2, logprobs=True)
    assert data["choices"][0]["logprobs"] is None and "REDACTED" in data["choices"][0]["message"]["content"]
    assert data["choices"][1]["logprobs"] == answer["choices"][1]["logprobs"]


async def test_the_tokens_of_a_masked_part_of_a_response_go(native: Gateway, upstream: Upstream) -> None:
    item = message("It is " + CARD, "It is")
    for part, tokens in zip(item["content"], (spelt("It is ", CARD), spelt("It", " is")), strict=True):
        part["logprobs"] = tokens["content"]
    upstream.will(up.answer({**RESPONSE_ANSWER, "output": [item]}))
    _, data, _ = await ask(native, "/v1/responses", input="x")
    assert [bool(part["logprobs"]) for part in data["output"][0]["content"]] == [False, True]


async def test_the_tokens_of_masked_chunks_go_and_those_of_others_stay(server: Gateway, upstream: Upstream) -> None:
    pieces = ["It ", "is ", "4539 ", "1488 ", "0343 ", "6467 ", "or ", "so ", "they ", "said"]
    chunks = [up.chunk({"role": "assistant", "content": ""})]
    for piece in pieces:
        data = {"index": 0, "delta": {"content": piece}, "finish_reason": None, "logprobs": spelt(piece)}
        chunks.append(up.frame({"id": "chatcmpl-up1", "object": "chat.completion.chunk", "choices": [data]}))
    upstream.will(up.stream(*chunks, up.chunk({}, "stop"), up.DONE))
    _, events = await ask_stream(server, logprobs=True)
    choices = [event["choices"][0] for event in events if event and event["choices"]]
    kept = [choice["logprobs"]["content"][0]["token"] for choice in choices if choice.get("logprobs")]
    assert kept == ["It ", "is ", "or ", "so ", "they ", "said"]


@pytest.mark.parametrize("head", ["data:text/plain;base64,", "data:application/json;charset=utf-8;base64,",
                                  "data:;base64,", "data:image/svg+xml;base64,", ""])  # fmt: skip
async def test_text_in_a_data_url_is_masked_inside(taking_files: Gateway, upstream: Upstream, head: str) -> None:
    upstream.will(up.answer())
    encoded = head + base64.b64encode(f"A note. Pay with {CARD} today.".encode()).decode()
    part = {"type": "file", "file": {"file_data": encoded, "filename": "note.txt"}}
    status, _, _ = await ask(taking_files, messages=[{"role": "user", "content": [part]}])
    sent = upstream.last.body["messages"][0]["content"][0]["file"]["file_data"]
    assert status == 200 and sent.startswith(head)
    assert base64.b64decode(sent[len(head) :]).decode() == "A note. Pay with [REDACTED:CREDIT_CARD] today."


async def test_streamed_arguments_with_a_masked_number_are_still_json(server: Gateway, upstream: Upstream) -> None:
    text = '{"card": 4539148803436467, "words": "my card 4539 1488 0343 6467"}'
    upstream.will(up.stream(*up.call_chunks(up.called("pay", text), 1), up.chunk({}, "tool_calls"), up.DONE))
    _, events, _ = await ask(server, "/v1/responses", input="x", stream=True)
    deltas = "".join(each["delta"] for each in events if each["type"] == "response.function_call_arguments.delta")
    [done] = [each["arguments"] for each in events if each["type"] == "response.function_call_arguments.done"]
    masked = "[REDACTED:CREDIT_CARD]"
    assert orjson.loads(deltas) == orjson.loads(done) == {"card": masked, "words": f"my card {masked}"}


def joined(value: Any, name: str = "", into: dict[str, str] | None = None) -> dict[str, str]:
    """The strings at each place of the events, one behind the other, as a reader joins them."""
    into = {} if into is None else into
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in ("id", "item_id", "signature"):
                joined(each, f"{name}.{key}", into)
    elif isinstance(value, list):
        for each in value:
            joined(each, f"{each['type']}{name}" if isinstance(each, dict) and "type" in each else name, into)
    elif isinstance(value, str):
        into[name] = into.get(name, "") + value
    return into


@pytest.mark.parametrize(
    ("channel", "other", "others"),
    [
        ("content", "reasoning_content", 1),
        ("content", "reasoning_content", 100),
        ("reasoning_content", "content", 1),
        ("refusal", "reasoning_content", 1),
    ],
)
async def test_a_value_whose_pieces_alternate_with_another_text_is_masked(
    server: Gateway, upstream: Upstream, channel: str, other: str, others: int
) -> None:
    text = f"the key is {KEY}, the card {CARD}."
    chunks = [up.chunk(delta) for each in pieces_of(text, 5) for delta in ({channel: each}, *[{other: "or "}] * others)]
    upstream.will(up.stream(*chunks, up.chunk({}, "stop"), up.DONE))
    got = joined((await ask_stream(server))[1])
    for shown in got.values():
        assert KEY[8:16] not in shown and KEY[-12:] not in shown and "1488" not in shown and "0343" not in shown
    masked = [shown for shown in got.values() if "[REDACTED:SECRET], the card [REDACTED:CREDIT_CARD]." in shown]
    assert len(masked) == 1
