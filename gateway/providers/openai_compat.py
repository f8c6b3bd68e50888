"""An upstream that speaks OpenAI's HTTP API: vLLM, llama.cpp, Ollama, a hosted service, our own embedded servers.

Implements ports.CompletionUpstream. Every failure becomes an error of the domain; of an upstream's body only the
message of a refusal is quoted, without keys and addresses. Does not know what bodies mean. Source: OpenAI API
reference, read 2026-11-21.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import orjson

from gateway.config.settings import Upstream
from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamError
from gateway.providers.http import Answer, HttpClient, Timeouts, decoded_answer, egress_of
from gateway.wire import sse
from gateway.wire.openai_error import upstream_error

_MAX_ERROR_BYTES = 64 * 1024
"""An error body is read no further. Chosen: its message is cut to 500 characters; a larger body only costs time."""
_WHOLE_ANSWER_FACTOR = 5
"""The headers of a whole answer come when it has been generated, so its limit is this many times that of a stream's.
Chosen: 60 s for a stream's first event become 300 s; at half long answers fail, at double a hung upstream is noticed
after ten minutes."""


class OpenAICompatUpstream:
    """A client of one upstream; close it once. `name` is shown in logs and `provider_specific_fields.provider`."""

    def __init__(self, name: str, config: Upstream, *, reuses_connections: bool = True) -> None:
        self._name = name
        self._url = config.base_url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        self._max_answer_bytes = config.max_answer_bytes
        self._secrets = () if config.api_key is None else (config.api_key.reveal(),)
        if config.api_key is not None:
            self._headers["Authorization"] = f"Bearer {config.api_key.reveal()}"
        self._client = HttpClient(
            Timeouts(
                connect_s=config.connect_timeout_s,
                first_byte_s=config.first_byte_timeout_s,
                idle_s=config.idle_timeout_s,
                total_s=config.total_timeout_s,
            ),
            egress_of(config),
            reuses_connections=reuses_connections,
        )

    @property
    def name(self) -> str:
        """See ports.CompletionUpstream."""
        return self._name

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.close()

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """The decoded JSON object. Raises UpstreamError: unreachable, refused, too slow, too large, not an object.

        An `error` object in an answer with status 200 is raised as well.
        """
        timeouts = self._client.timeouts
        wait_s = min(timeouts.first_byte_s * _WHOLE_ANSWER_FACTOR, timeouts.total_s)
        started_s = time.perf_counter()
        try:
            answer = await self._client.post(
                f"{self._url}/{route}", orjson.dumps(body), self._headers, first_byte_s=wait_s
            )
            try:
                if answer.status != 200:
                    raise await self._refusal(answer)
                decoded = decoded_answer(await answer.read(self._max_answer_bytes), repairs=True)
            finally:
                answer.close()
        finally:
            stats.upstream_s += time.perf_counter() - started_s
        if not isinstance(decoded, dict):
            raise UpstreamError("the upstream's answer is not a JSON object")
        if decoded.get("error"):
            raise upstream_error(500, decoded, None, self._secrets)
        return decoded

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events of one read at a time; a whole JSON answer comes as one event.

        Raises UpstreamError, also after the first events.
        """
        started_s = time.perf_counter()
        clock = time.perf_counter
        parser = sse.Parser()
        headers = {**self._headers, "Accept": "text/event-stream"}
        answer: Answer | None = None
        is_complete = False
        try:
            answer = await self._client.post(f"{self._url}/{route}", orjson.dumps(body), headers)
            if answer.status != 200:
                raise await self._refusal(answer)
            if answer.content_type == "application/json":  # a whole answer though a stream was asked
                yield [await answer.read(self._max_answer_bytes)]
                return
            if answer.content_type in ("text/html", "text/xml", "application/xml"):
                raise UpstreamError("the upstream's answer is not an event stream")
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    batch = parser.feed(chunk)
                    if batch:
                        stats.upstream_s += clock() - started_s
                        if b"[DONE]" in batch:
                            is_complete = True
                            del batch[batch.index(b"[DONE]") + 1 :]  # what comes behind is no part of the answer
                        yield batch
                        if is_complete:
                            return
                        started_s = clock()
            if batch := parser.close():
                yield batch
        finally:
            if answer is not None:
                answer.close(is_complete=is_complete)
            stats.upstream_s += clock() - started_s

    async def _refusal(self, answer: Answer) -> UpstreamError:
        """The error of an answer with another status than 200."""
        if answer.status < 400:
            return UpstreamError(f"the upstream answered with status {answer.status}")
        try:
            body = decoded_answer(await answer.read(_MAX_ERROR_BYTES))
        except UpstreamError:
            body = None
        return upstream_error(answer.status, body, answer.retry_after_s, self._secrets)
