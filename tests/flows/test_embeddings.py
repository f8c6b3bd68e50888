"""`POST /v1/embeddings` over upstreams of kind `embedding`, read by the official client."""

import base64
import struct
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from gateway.engines.embedding.embedder import is_installed
from tests.support import upstream as up
from tests.support.asking import OFF, official, send
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream, scripted_upstream

CARD = "4539 1488 0343 6467"


def settings(*upstreams: Upstream, more: str = "") -> str:
    lines = ["[[models]]\nname = 'Vectors'\nkind = 'embedding'\naliases = ['ada']\ncontext_length = 512"]
    for each in upstreams:
        lines.append(f"  [[models.upstreams]]\n  base_url = '{each.url}'\n  model = 'up-model'\n  weight = 1")
    text = "[[models]]\nname = 'Text'\n  [[models.upstreams]]\n  base_url = 'http://127.0.0.1:9/v1'\n  model = 'x'"
    return "\n".join([*lines, text, OFF, more])


@pytest.fixture
async def gateway(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(settings(upstream))


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[openai.AsyncOpenAI]:
    async with official(gateway) as made:
        yield made


def vectors(*embeddings: Any, **more: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": number, "embedding": each} for number, each in enumerate(embeddings)]
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    return {"object": "list", "data": data, "model": "up-model", "usage": usage, **more}


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


async def posted(server: Gateway, **body: Any) -> tuple[int, Any]:
    status, answer, _ = await send(server, "/v1/embeddings", {"model": "Vectors", "input": "x", **body})
    return status, answer


async def test_the_client_reads_numbers_that_came_as_base64(client: openai.AsyncOpenAI, upstream: Upstream) -> None:
    upstream.will(up.answer(vectors(packed(0.5, -2.0), packed(1.0, 4.0))))
    answer = await client.embeddings.create(model="ada", input=["a", "b"], user="alice")
    assert [item.embedding for item in answer.data] == [[0.5, -2.0], [1.0, 4.0]]
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.total_tokens) == ("Vectors", 4, 4)
    sent = upstream.last.body
    assert upstream.last.path == "/v1/embeddings" and (sent["model"], sent["input"]) == ("up-model", ["a", "b"])
    assert sent["encoding_format"] == "base64" and sent["user"].startswith("user_")


async def test_base64_is_handed_on_byte_for_byte(gateway: Gateway, upstream: Upstream) -> None:
    text = packed(*(number / 7 for number in range(384)))
    upstream.will(up.answer(vectors(text)))
    status, answer = await posted(gateway, encoding_format="base64", dimensions=384)
    assert status == 200 and answer["data"] == [{"object": "embedding", "index": 0, "embedding": text}]
    assert upstream.last.body["dimensions"] == 384


INPUTS = {"a text": ("x", 1), "texts": (["x", "y"], 2), "tokens": ([1, 2, 3], 1), "lists of tokens": ([[1], [2, 3]], 2)}


@pytest.mark.parametrize("case", INPUTS)
async def test_every_form_of_input_is_counted(gateway: Gateway, upstream: Upstream, case: str) -> None:
    value, count = INPUTS[case]
    upstream.will(up.answer(vectors(*([0.5, 1] for _ in range(count)))))
    status, answer = await posted(gateway, input=value)
    assert status == 200 and len(answer["data"]) == count and upstream.last.body["input"] == value


@pytest.mark.parametrize("value", [["a"] * 2049, [[1]] * 2049], ids=["texts", "tokens"])
async def test_too_many_inputs_are_refused(gateway: Gateway, value: Any) -> None:
    status, answer = await posted(gateway, input=value)
    assert status == 400 and "at most 2048 texts" in answer["error"]["message"]


async def test_items_are_put_in_order(gateway: Gateway, upstream: Upstream) -> None:
    answer = vectors([1.0], [2.0])
    answer["data"].reverse()
    upstream.will(up.answer(answer))
    _, ordered = await posted(gateway, input=["a", "b"])
    assert [item["embedding"] for item in ordered["data"]] == [[1.0], [2.0]]


async def test_a_missing_count_is_estimated_and_said_to_be(gateway: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(vectors([1.0], usage=None)))
    _, answer = await posted(gateway, input="x" * 40)
    assert answer["usage"] == {"prompt_tokens": 10, "total_tokens": 10}
    assert answer["provider_specific_fields"]["usage_estimated"] is True


BROKEN = {
    "too few": vectors([1.0]),
    "too many": vectors([1.0], [1.0], [1.0]),
    "no list": {"data": "x"},
    "words": vectors(["a"], ["b"]),
    "empty": vectors([], []),
    "no base64": vectors("a b c d", "a b c d"),
    "two lengths": vectors([1.0], [1.0, 2.0]),
    "twice the same": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
    "a place beyond": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 7, "embedding": [1.0]}]},
}


@pytest.mark.parametrize("case", BROKEN)
async def test_an_answer_that_does_not_fit_is_an_error(gateway: Gateway, upstream: Upstream, case: str) -> None:
    upstream.will(up.answer(BROKEN[case]))
    status, answer = await posted(gateway, input=["a", "b"])
    assert (status, answer["error"]["code"]) == (502, "upstream_error")


async def test_another_upstream_takes_over(serve: Serve, upstream: Upstream) -> None:
    async with scripted_upstream() as second:
        server = await serve(settings(upstream, second))
        upstream.will(up.answer({"error": "x"}, status=500))
        second.will(up.answer(vectors([1.0])))
        assert [(await posted(server))[0] for _ in range(4)] == [200] * 4


async def test_refusals_name_what_is_wrong(gateway: Gateway, upstream: Upstream) -> None:
    for body, status, words in (
        ({"input": []}, 400, "input"),
        ({"encoding_format": "int8"}, 400, "encoding_format"),
        ({"model": "Text"}, 400, "/v1/chat/completions"),
        ({"model": "None"}, 404, "available: Text, Vectors"),
    ):
        code, answer = await posted(gateway, **body)
        assert code == status and words in answer["error"]["message"], answer
    assert not upstream.seen


async def test_refused_tokens_name_the_setting_of_the_client_that_sends_them(gateway: Gateway) -> None:
    for value in ([[1, 2]], [1, 2], "text"):
        gateway.upstream.will(up.answer({"error": {"message": "input must be text"}}, status=400))
        code, answer = await posted(gateway, input=value)
        assert code == 400 and answer["error"]["message"].startswith("input must be text")
        assert ("check_embedding_ctx_length=False" in answer["error"]["message"]) is (value != "text")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
async def test_no_other_route_takes_a_model_of_this_kind(gateway: Gateway, path: str) -> None:
    body = {"model": "Vectors", "max_tokens": 9, "input": "x", "messages": [{"role": "user", "content": "x"}]}
    status, told, _ = await send(gateway, path, body)
    assert status == 400 and "/v1/embeddings" in told["error"]["message"]


async def test_a_key_needs_the_scope(gateway: Gateway) -> None:
    body = {"model": "Vectors", "input": "x"}
    status, told, _ = await send(gateway, "/v1/embeddings", body, key=gateway.make_key("chat"))
    assert status == 403 and "embeddings" in told["error"]["message"]


async def test_inputs_are_masked_and_the_answer_says_so(serve: Serve, upstream: Upstream) -> None:
    more = "[guardrail]\nenabled = 'off'\n[sanitize]\nroutes = ['embeddings']\n"
    server = await serve(settings(upstream, more=more))
    upstream.will(up.answer(vectors([1.0], [2.0])))
    status, answer = await posted(server, input=["plain", f"it is {CARD}"])
    assert status == 200 and upstream.last.body["input"] == ["plain", "it is [REDACTED:CREDIT_CARD]"]
    assert answer["provider_specific_fields"]["sanitization"]["redacted"] == {"CREDIT_CARD": 1}


async def test_the_context_length_is_shown_where_it_is_known(gateway: Gateway) -> None:
    _, listed, _ = await send(gateway, "/v1/models", method="GET")
    shown = {model["id"]: (model["kind"], model.get("context_length")) for model in listed["data"]}
    assert shown == {"Vectors": ("embedding", 512), "Text": ("text", None)}


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the semantic extra is not installed")
async def test_the_embedded_model_puts_like_texts_near_each_other(serve: Serve) -> None:
    server = await serve("[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n")
    texts = ["The cat sleeps on the sofa.", "A kitten naps on the couch.", "Interest rates rose again."]
    async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key=server.key, timeout=60) as client:
        answer = await client.embeddings.create(model="SvcEmbedding", input=texts)
    cat, kitten, rates = (item.embedding for item in answer.data)

    def likeness(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert len(cat) == 384 and answer.usage.prompt_tokens > 15
    assert likeness(cat, kitten) > 0.5 > 0.2 > likeness(cat, rates)
