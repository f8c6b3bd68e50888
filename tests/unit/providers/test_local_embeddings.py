"""The embedded embedding model as an upstream: forms of answers, and what it refuses."""

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.domain import RequestStats
from gateway.errors import InvalidRequest, UpstreamError
from gateway.providers.local_embeddings import LocalEmbeddings


@dataclass
class Found:
    vectors: list[list[float]]
    tokens: list[int]
    cut: list[bool]


class Letters:
    """Embeds a text as its length and its first letter; reads nine letters."""

    dimensions = 2

    async def embed_counted(self, texts: Sequence[str], key_id: str, /) -> Found:
        vectors = [[float(len(text)), float(ord(text[0]))] for text in texts]
        return Found(vectors, [len(text) for text in texts], [len(text) > 9 for text in texts])


async def asked(**body: Any) -> Any:
    return await LocalEmbeddings(Letters()).complete(body, RequestStats(key_id="k"), route="embeddings")


async def test_a_text_and_a_list_of_texts_are_embedded_and_counted() -> None:
    assert await asked(input="abc") == {"data": [{"index": 0, "embedding": [3.0, 97.0]}], "usage": {"prompt_tokens": 3}}
    answer = await asked(input=["abc", "a much longer text"])
    assert [item["index"] for item in answer["data"]] == [0, 1] and answer["truncated"] == [1]


async def test_base64_holds_little_endian_floats() -> None:
    answer = await asked(input="abc", encoding_format="base64", dimensions=2)
    assert struct.unpack("<2f", base64.b64decode(answer["data"][0]["embedding"])) == (3.0, 97.0)


@pytest.mark.parametrize("body", [{"input": [1, 2]}, {"input": [[1], [2]]}, {"input": "x", "dimensions": 3}])
async def test_tokens_and_other_dimensions_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await asked(**body)


async def test_no_other_route_is_answered() -> None:
    upstream = LocalEmbeddings(Letters())
    with pytest.raises(UpstreamError):
        await upstream.complete({"input": "x"}, RequestStats())
    with pytest.raises(UpstreamError):
        upstream.stream({"input": "x"}, RequestStats(), route="embeddings")
