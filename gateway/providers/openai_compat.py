"""An upstream that speaks OpenAI's HTTP API: vLLM, llama.cpp, Ollama, a hosted service, our own embedded servers.

Implements ports.CompletionUpstream. Every failure becomes an error of the domain. Only the message of a refusal is
quoted from an upstream's body, without keys and addresses. Source: OpenAI API reference, read 2026-11-21.
"""

import math
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import orjson

from gateway.config.settings import Upstream
from gateway.domain import ANTHROPIC_VERSION, Json, Relay, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.providers.egress import egress_of
from gateway.providers.http import Answer, HttpClient, Timeouts, caused, decoded_answer
from gateway.resilience.bounded_cache import BoundedCache
from gateway.wire import sse
from gateway.wire.openai_error import NOT_SERVED, error_in_answer, upstream_error
from gateway.wire.parameters import Refused, refused_parameter
from gateway.wire.untrusted_json import tables_in, words_of

_MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error body that are read; its message is cut to 500 characters."""
_PAGES = ("text/html", "text/xml", "application/xml")
_BETWEEN_LINES = re.compile(rb"(?<=\})\s*\n\s*(?=\{)")
"""Between two objects of a stream whose lines are JSON; no JSON value holds it."""
_MESSAGES = "messages"
_MOST_LISTED = 1_000
_MAX_REPAIRS = 3
"""Parameters of one request that may be left out one after the other."""
_MAX_REFUSED, _REFUSED_S = 256, 3600.0
_WHOLE_ANSWER_FACTOR = 5
"""A whole answer may take this many times a stream's first event: its headers come once it has been generated."""


class OpenAICompatUpstream:
    """A client of one upstream; close it once. `name` is shown in logs and `provider_specific_fields.provider`."""

    def __init__(self, name: str, config: Upstream, *, reuses_connections: bool = True) -> None:
        self._name = name
        address, mark, query = config.base_url.partition("?")
        self._url = address.rstrip("/").replace("{", "{{").replace("}", "}}") + "/{}" + mark + query
        self._refused: BoundedCache[tuple[str, str], str] = BoundedCache(_MAX_REFUSED, ttl_s=_REFUSED_S)
        """{(model, name of a refused parameter): its other name, empty for none}."""
        self._headers = {"Content-Type": "application/json"}
        self._max_answer_bytes = config.max_answer_bytes
        self._secrets = () if config.api_key is None else (config.api_key.reveal(),)
        if config.api_key is not None:
            is_azure, key = config.parameters.preset == "azure", config.api_key.reveal()
            self._headers |= {"api-key": key} if is_azure else {"Authorization": f"Bearer {key}"}
        self._messages_headers, self._speaks_messages = self._headers, config.messages == "native"
        if self._speaks_messages and config.messages_credential == "x-api-key" and config.api_key is not None:
            self._messages_headers = {"Content-Type": "application/json", "x-api-key": config.api_key.reveal()}
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
            answer = await self._answered(route, body, stats, self._headers_for(route, stats), wait_s)
            try:
                decoded = decoded_answer(await answer.read(self._max_answer_bytes), repairs=True)
            finally:
                answer.close()
        finally:
            stats.upstream_s += time.perf_counter() - started_s
        if (error := error_in_answer(decoded, self._secrets)) is not None:
            raise error
        if not isinstance(decoded, dict):
            raise _not_json(answer)
        return decoded

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events of one read at a time; a whole JSON answer comes as one event, chunks that are lines
        of JSON as one each, once all are there.

        Raises UpstreamError, also after the first events.
        """
        started_s = time.perf_counter()
        parser = sse.Parser()
        if relay is not None:
            relay.parse = parser.feed
        headers = {**self._headers_for(route, stats), "Accept": "text/event-stream"}
        answer: Answer | None = None
        is_complete = has_begun = False
        whole: bytes | None = None
        try:
            answer = await self._answered(route, body, stats, headers, self._client.timeouts.first_byte_s)
            if answer.content_type in _PAGES:
                raise _not_json(answer)
            async with aclosing(answer.chunks(relay)) as chunks:
                async for chunk in chunks:
                    if whole is not None or (not has_begun and chunk.lstrip()[:1] in (b"{", b"[")):
                        whole = self._more(whole or b"", chunk)  # a whole answer, whatever its type says
                        continue
                    has_begun = has_begun or bool(chunk.strip())
                    if relay is not None and relay.left:
                        batch, relay.left = relay.left, []
                    else:
                        batch = parser.feed(chunk)
                    if batch or (relay is not None and relay.is_over):
                        stats.upstream_s += time.perf_counter() - started_s
                        started_s = math.inf  # nobody waits for the upstream
                        if b"[DONE]" in batch:
                            is_complete = True
                            del batch[batch.index(b"[DONE]") + 1 :]  # what comes behind is no part of the answer
                        yield batch
                        if is_complete:
                            return
                        started_s = time.perf_counter()
            if batch := _BETWEEN_LINES.split(whole) if whole is not None else parser.close():
                yield batch
        finally:
            if answer is not None:
                answer.close(is_complete=is_complete)
            stats.upstream_s += max(0.0, time.perf_counter() - started_s)

    async def listed_models(self) -> list[str]:
        """The names at `GET /models`, at most _MOST_LISTED. Raises UpstreamError; with the code NOT_SERVED where the
        answer is no list of models."""
        headers, url = self._headers, self._url.format("models")
        if self._speaks_messages:
            headers = {**self._messages_headers, "anthropic-version": ANTHROPIC_VERSION}
            url += f"{'&' if '?' in url else '?'}limit={_MOST_LISTED}"
        answer = await self._client.get(url, headers)
        try:
            if answer.status != 200:
                raise await self._refusal(answer)
            if answer.content_type in _PAGES:
                raise _not_json(answer)
            listed = decoded_answer(await answer.read(self._max_answer_bytes))
        finally:
            answer.close()
        if not isinstance(listed, dict) or not isinstance(listed.get("data"), list):
            raise UpstreamError("the upstream's answer is no list of models", code=NOT_SERVED)
        names = [model["id"] for model in tables_in(listed, "data") if isinstance(model.get("id"), str)]
        return names[:_MOST_LISTED]

    def _headers_for(self, route: str, stats: RequestStats) -> Mapping[str, str]:
        if not route.startswith(_MESSAGES):
            return self._headers
        return {**self._messages_headers, **(stats.headers or {})}

    def _more(self, whole: bytes, chunk: bytes) -> bytes:
        if len(whole) + len(chunk) > self._max_answer_bytes:
            raise UpstreamError(
                f"the upstream's answer is too large; the limit is {self._max_answer_bytes} bytes (max_answer_bytes)"
            )
        return whole + chunk

    async def _answered(
        self, route: str, body: Json, stats: RequestStats, headers: Mapping[str, str], first_byte_s: float
    ) -> Answer:
        """The answer with status 200. A request that is refused for a parameter which the upstream does not have is
        sent again without it, or with its other name; that is remembered, and told to the caller."""
        model, sent = str(body.get("model")), body
        for name in body if len(self._refused) else ():
            if (other := self._refused.get((model, name))) is not None:
                sent = self._changed(sent, Refused(name, other), stats)
        for number in range(_MAX_REPAIRS + 1):
            answer = await self._client.post(
                self._url.format(route), orjson.dumps(sent), headers, first_byte_s=first_byte_s
            )
            if answer.status == 200:
                return answer
            try:
                error = await self._refusal(answer)
            finally:
                answer.close()
            is_refused = isinstance(error, UpstreamRefused) and error.status == 400 and number < _MAX_REPAIRS
            is_refused = is_refused and not route.startswith(_MESSAGES)  # what its caller wrote goes on as it is
            found = refused_parameter(sent, f"{error.code}: {error.message}", error.param) if is_refused else None
            if found is None:
                raise error
            if found.lasts:
                self._refused.put((model, found.name), found.other)
            sent = self._changed(sent, found, stats)
        raise AssertionError("the last refusal was raised")

    def _changed(self, sent: Json, found: Refused, stats: RequestStats) -> Json:
        """A copy of a body with what its upstream takes in place of a refused parameter or value."""
        changed = {name: value for name, value in sent.items() if name != found.name}
        if found.value is not None:
            changed[found.name] = found.value
        elif found.other:
            changed.setdefault(found.other, sent[found.name])
        how = f"sent as {instead}" if (instead := words_of(found.value) or found.other) else "left out"
        what = "parameter" if found.lasts else "value"
        warning = f"{found.name}: the upstream {self._name} does not take this {what}; it was {how}"
        if warning not in stats.warnings:
            stats.warnings.append(warning)
        return changed

    async def _refusal(self, answer: Answer) -> UpstreamError:
        """The error of an answer with another status than 200."""
        if answer.status < 400:
            return UpstreamError(f"the upstream answered with status {answer.status}")
        try:
            body = decoded_answer(await answer.read(_MAX_ERROR_BYTES))
        except UpstreamError:
            body = None
        return upstream_error(answer.status, body, answer.retry_after_s, self._secrets)


def _not_json(answer: Answer) -> UpstreamError:
    """The error of an answer with status 200 that no API gives, such as the page of a login."""
    is_page = answer.content_type in _PAGES
    what = "a web page, not JSON; the operator must correct its base_url" if is_page else "not a JSON object"
    return caused(UpstreamError(f"the upstream's answer is {what}"), "not json")
