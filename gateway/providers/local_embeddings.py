"""The embedded embedding model as an upstream of the model table, which answers the route `embeddings` alone.

Implements ports.CompletionUpstream. Source of the shapes: OpenAI API reference (Embeddings), read 2026-11-22.
`Embedder` is what `engines.embedding` offers.
"""

import asyncio
import base64
import struct
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

from gateway.domain import Json, Relay, RequestStats
from gateway.errors import TEXTS_ALONE, InvalidRequest, UpstreamError, UpstreamTimeout

_WAIT_S = 120.0
"""Seconds to wait for an answer; 2,048 short texts take a minute on two cores (22 ms for 128 tokens)."""


class TextVectors(Protocol):
    """Vectors of texts, one for each: `tokens` read, and whether the text was longer than the model reads (`cut`)."""

    @property
    def vectors(self) -> list[list[float]]: ...

    @property
    def tokens(self) -> list[int]: ...

    @property
    def cut(self) -> list[bool]: ...


class Embedder(Protocol):
    """The embedded model."""

    @property
    def dimensions(self) -> int: ...

    async def embed_counted(self, texts: Sequence[str], key_id: str, /) -> TextVectors:
        """Raises GatewayError: EngineMissing, Overloaded, UpstreamUnavailable."""
        ...


class LocalEmbeddings:
    """`name` is shown in `provider_specific_fields.provider`."""

    name = "embedded-embedding"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """`{data: [{index, embedding}], usage, truncated?}`; `truncated` lists the inputs that were cut, by index.

        Raises InvalidRequest for token ids and for other `dimensions`, and as `Embedder.embed_counted`.
        """
        if route != "embeddings":
            raise UpstreamError("the embedding model answers embeddings alone", code="upstream_misconfigured")
        texts, started_s = self._texts(body), time.perf_counter()
        try:
            async with asyncio.timeout(_WAIT_S):
                found = await self._embedder.embed_counted(texts, stats.key_id)
        except TimeoutError:
            raise UpstreamTimeout(f"the embedding model did not answer within {_WAIT_S:g} s") from None
        finally:
            stats.upstream_s += time.perf_counter() - started_s
        is_packed = body.get("encoding_format") == "base64"
        data = [
            {"index": index, "embedding": _packed(vector) if is_packed else vector}
            for index, vector in enumerate(found.vectors)
        ]
        answer: Json = {"data": data, "usage": {"prompt_tokens": sum(found.tokens)}}
        if cut := [index for index, is_cut in enumerate(found.cut) if is_cut]:
            answer["truncated"] = cut
        return answer

    def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """Raises UpstreamError: there are no streams of embeddings."""
        raise UpstreamError("the embedding model has no streams", code="upstream_misconfigured")

    def _texts(self, body: Json) -> list[str]:
        value: Any = body["input"]
        texts = [value] if isinstance(value, str) else value
        if not all(isinstance(text, str) for text in texts):
            raise InvalidRequest(f"input: this model takes no token ids ({TEXTS_ALONE})", param="input")
        if body.get("dimensions") not in (None, self._embedder.dimensions):
            raise InvalidRequest(f"dimensions: this model has {self._embedder.dimensions}", param="dimensions")
        return [text.encode(errors="replace").decode() for text in texts]


def _packed(vector: list[float]) -> str:
    """Base64 of little-endian 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
