"""HTTP client for search providers: time limit, one repeat, and errors that say what the operator must do.

Knows no provider's fields. An error's message has our own words alone; the provider's message, which may repeat the
query, goes into `quoted`, without the secrets that were sent in headers.
"""

import asyncio
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from gateway import trace
from gateway.domain import Json, SearchRequest
from gateway.engines.fetch.header_limits import are_headers_too_large
from gateway.errors import GatewayError, UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.key_scrubber import scrub_keys
from gateway.providers.egress import DIRECT, Egress
from gateway.providers.http import decoded_answer
from gateway.resilience.slices import in_slices
from gateway.wire.repaired_json import without_lone_surrogates
from gateway.wire.retry_after import retry_after_s

MAX_ANSWER_BYTES = 16_777_216
"""Of an answer, decompressed. Chosen: twenty results with raw content are a few MB; at half long pages could exceed it,
at double a broken provider can take twice the memory."""
MAX_RETRY_AFTER_S = 5.0
"""The longest pause before the repeat; a provider that asks for more gets none. Chosen: agents wait some 30 s for a
search; at double two attempts could take longer, at half ordinary rate limits would not be waited for."""
_RETRY_PAUSE_S = 0.5
"""The pause where the provider names none. Chosen: enough for a restart behind a load balancer; at double every failed
search takes half a second longer."""
_MAX_ERROR_BYTES = 65_536
"""An error body is decoded no further; its message is cut to _MAX_DETAIL_CHARS."""
_MAX_DETAIL_CHARS = 300
"""Chosen: two or three sentences of a provider; at double more of a repeated query is shown."""
_MAX_VALUES = 50_000
"""JSON values of an answer. Chosen: twenty results with all their fields are a few hundred, the pages of SearXNG with
many engines some thousands. At half, lists of all images of large pages come near it; at double, an answer of nothing
but small values holds the loop for 50 ms where it is read."""


@dataclass(frozen=True, slots=True)
class ProviderSite:
    """One provider: its address, its authentication headers, and error texts for the statuses that only it uses.

    `status_hints` maps a status to the end of a sentence, `what is wrong; what the operator must do`.
    """

    name: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 15.0
    status_hints: Mapping[int, str] = field(default_factory=dict)
    egress: Egress = DIRECT


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request: `path` under the base URL, with query parameters (GET) or a JSON body (POST).

    `timeout_s` replaces the site's limit.
    """

    path: str
    params: Mapping[str, str] | None = None
    body: Json | None = None
    timeout_s: float | None = None


class SearchHttp:
    """The connections to one provider; opened at the first request."""

    def __init__(self, site: ProviderSite) -> None:
        self.site = site
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Closes the connections; a later request opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, request: ProviderRequest) -> Json:
        """The decoded JSON object of an answer with status 200. 429, 5xx and lost connections are repeated once.

        Raises UpstreamTimeout, UpstreamUnavailable (unreachable, 429, 5xx), UpstreamRefused (400, 413, 422) or
        UpstreamError (other statuses, not a JSON object, too large).
        """
        try:
            return await self._send(request)
        except UpstreamError as error:
            wait_s = error.retry_after_s if error.retry_after_s is not None else _RETRY_PAUSE_S
            if not error.retryable or isinstance(error, UpstreamTimeout) or wait_s > MAX_RETRY_AFTER_S:
                raise
            await asyncio.sleep(wait_s)
        return await self._send(request)

    async def _send(self, request: ProviderRequest) -> Json:
        name = self.site.name
        try:
            async with self._open(request) as response:
                raw = await _bounded(response)
                status, headers = response.status, response.headers
        except TimeoutError as error:
            raise UpstreamTimeout(f"the search provider {name} did not answer in time") from error
        except aiohttp.ClientHttpProxyError as error:
            raise UpstreamUnavailable(f"the proxy before the search provider {name} answered {error.status}") from None
        except (aiohttp.ClientError, OSError) as error:
            if are_headers_too_large(error):
                raise UpstreamError(f"the headers of the search provider {name} are too large") from error
            raise UpstreamUnavailable(
                f"the search provider {name} cannot be reached; the operator should check search.base_url"
            ) from error
        if status != 200:
            raise self._quoting(raw, self._failure(status, _retry_after_s(headers)))
        return await self._decode(raw)

    def _open(self, request: ProviderRequest) -> Any:
        if self._session is None:
            self._session = self.site.egress.open_session({}, headers=dict(self.site.headers))
        return self._session.request(
            "GET" if request.body is None else "POST",
            f"{self.site.base_url.rstrip('/')}{request.path}",
            params=request.params,
            data=None if request.body is None else orjson.dumps(request.body),
            headers=trace.outgoing() | ({} if request.body is None else {"Content-Type": "application/json"}),
            timeout=aiohttp.ClientTimeout(total=request.timeout_s or self.site.timeout_s, sock_connect=5),
            allow_redirects=False,
        )

    async def _decode(self, raw: bytes) -> Json:
        """The object of an answer. Pages cut in the middle of a character have an escaped lone surrogate, which is no
        Unicode; it becomes U+FFFD."""
        decoded = self._object(raw)
        if decoded is None and raw != (repaired := await in_slices(without_lone_surrogates(raw))):
            decoded = self._object(repaired)
        if not isinstance(decoded, dict):
            raise UpstreamError(
                f"the search provider {self.site.name} did not answer with JSON; the operator should check "
                "search.base_url"
            )
        return decoded

    def _object(self, raw: bytes) -> object:
        """The decoded answer; None for what is no JSON object."""
        if not raw.lstrip(b" \t\r\n").startswith(b"{"):
            return None
        return decoded_answer(raw, max_values=_MAX_VALUES, sender=f"the search provider {self.site.name}")

    def _quoting(self, raw: bytes, failure: UpstreamError) -> UpstreamError:
        """The error, with the provider's own words. A local name for it where it is raised would be a circle."""
        failure.quoted = _provider_message(raw, self.site.headers) or None
        return failure

    def _failure(self, status: int, retry_after_s: float | None) -> UpstreamError:
        """The error of a status. Its message ends in a full stop, since a sentence with `quoted` may follow it."""
        name = self.site.name
        hint = self.site.status_hints.get(status)
        if hint is not None:
            return _final(f"the search provider {name} answered {status}: {hint}.", f"search_provider_{status}")
        if status in (401, 403):
            refused = f"the search provider {name} refused the gateway's key ({status})"
            return _final(f"{refused}; the operator must set search.api_key.", "search_provider_key")
        if status == 429 or status >= 500:
            message = f"the search provider {name} is busy or in trouble ({status}); try again later."
            return UpstreamUnavailable(message, retry_after_s=retry_after_s)
        if status in (400, 413, 422):
            message = (
                f"the search provider {name} did not accept the request ({status}); change the query or its parameters."
            )
            return UpstreamRefused(message, status=400, code="search_provider_refused")
        return _final(f"the search provider {name} answered {status}; the operator should check search.base_url.")


def will_filter(request: SearchRequest) -> bool:
    """True when the service will drop some of the results of a provider without filters: request more of them."""
    return bool(request.include_domains or request.exclude_domains or request.exact_match or request.start_date)


async def with_images(answer: Json, images: Awaitable[list[Any]]) -> Json:
    """The answer with `images` set, or with a `note` when their own request fails: the results are still good."""
    try:
        answer["images"] = await images
    except GatewayError as error:
        answer["note"] = f"There are no images: {error.message}"
    return answer


def _final(message: str, code: str | None = None) -> UpstreamError:
    """An error that a repeat cannot correct."""
    error = UpstreamError(message, code=code)
    error.retryable = False
    return error


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise UpstreamError("the search provider's answer is too large; ask for fewer results")
    return bytes(body)


def _provider_message(raw: bytes, headers: Mapping[str, str]) -> str:
    """The message in an error body, on one line, without the secrets of the headers; empty when there is none."""
    try:
        decoded = orjson.loads(raw[:_MAX_ERROR_BYTES])
    except orjson.JSONDecodeError:
        return ""
    sent = [word for value in headers.values() for word in value.split()]
    text = scrub_keys(_message_text(decoded), sent)
    return re.sub(r"\s+", " ", text).strip()[:_MAX_DETAIL_CHARS]


def _message_text(decoded: Any) -> str:
    """The text under `detail`, `error`, `message` or `msg`, also of nested objects, four levels at most."""
    for _ in range(4):
        if isinstance(decoded, str):
            return decoded
        if not isinstance(decoded, dict):
            return ""
        decoded = next((decoded[key] for key in ("detail", "error", "message", "msg") if decoded.get(key)), None)
    return decoded if isinstance(decoded, str) else ""


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from Retry-After, else from the first window of X-RateLimit-Reset, which Brave sends."""
    if "Retry-After" in headers:
        return retry_after_s(headers["Retry-After"])
    reset = headers.get("X-RateLimit-Reset", "").partition(",")[0].strip()
    return float(reset) if reset.isdecimal() and len(reset) < 5 else None
