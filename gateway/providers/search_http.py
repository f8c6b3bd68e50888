"""One HTTP exchange with a search provider: timeout, one patient retry, and errors that say what the operator must do.

Knows no provider's fields. An error's message is our own words; what the provider said, which may repeat the query,
stands apart in `quoted`, without anything that was sent as a secret.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from gateway.domain import Json, SearchRequest
from gateway.errors import GatewayError, UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.key_scrubber import scrub_keys
from gateway.wire.retry_after import retry_after_s

MAX_ANSWER_BYTES = 16_777_216
MAX_RETRY_AFTER_S = 5.0
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ProviderSite:
    """Who is asked, how it is authenticated, and what to say about statuses only it uses."""

    name: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 15.0
    status_hints: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request: `path` under the base URL, query parameters or a JSON body."""

    path: str
    params: Mapping[str, str] | None = None
    body: Json | None = None
    timeout_s: float | None = None


class SearchHttp:
    """A provider's connections; opened at first use."""

    def __init__(self, site: ProviderSite) -> None:
        self.site = site
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, exchange: ProviderRequest) -> Json:
        """The decoded JSON object. 429 and 5xx are tried once more. Raises UpstreamError and its kin."""
        try:
            return await self._once(exchange)
        except UpstreamError as error:
            wait_s = error.retry_after_s if error.retry_after_s is not None else 0.5
            if not error.retryable or isinstance(error, UpstreamTimeout) or wait_s > MAX_RETRY_AFTER_S:
                raise
            await asyncio.sleep(wait_s)
        return await self._once(exchange)

    async def _once(self, exchange: ProviderRequest) -> Json:
        name = self.site.name
        try:
            async with self._request(exchange) as response:
                raw = await _bounded(response)
                status, headers = response.status, response.headers
        except TimeoutError as error:
            raise UpstreamTimeout(f"the search provider {name} did not answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamUnavailable(
                f"the search provider {name} cannot be reached; the operator should check search.base_url"
            ) from error
        if status != 200:
            failure = self._failure(status, _retry_after_s(headers))
            failure.quoted = _detail(raw, self.site.headers) or None
            raise failure
        return self._decoded(raw)

    def _request(self, exchange: ProviderRequest) -> Any:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), headers=dict(self.site.headers)
            )
        return self._session.request(
            "GET" if exchange.body is None else "POST",
            f"{self.site.base_url.rstrip('/')}{exchange.path}",
            params=exchange.params,
            data=None if exchange.body is None else orjson.dumps(exchange.body),
            headers=None if exchange.body is None else {"Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=exchange.timeout_s or self.site.timeout_s, sock_connect=5),
            allow_redirects=False,
        )

    def _decoded(self, raw: bytes) -> Json:
        try:
            decoded = _read(raw)
        except (ValueError, RecursionError):
            decoded = None
        if not isinstance(decoded, dict):
            raise UpstreamError(
                f"the search provider {self.site.name} did not answer with JSON; the operator should check "
                "search.base_url"
            )
        return decoded

    def _failure(self, status: int, retry_after_s: float | None) -> UpstreamError:
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
            message = f"the search provider {name} did not accept the request ({status})."
            return UpstreamRefused(message, status=400, code="search_provider_refused")
        return _final(f"the search provider {name} answered {status}; the operator should check search.base_url.")


def will_filter(request: SearchRequest) -> bool:
    """True when the service will drop some results of a provider without these filters: more should be asked for."""
    return bool(request.include_domains or request.exclude_domains or request.exact_match or request.start_date)


async def with_images(made: Json, images: Awaitable[list[Any]]) -> Json:
    """The answer with its images, which cost a second request: when that fails, the results still count."""
    try:
        made["images"] = await images
    except GatewayError as error:
        made["note"] = f"There are no images: {error.message}"
    return made


def _final(message: str, code: str | None = None) -> UpstreamError:
    """An error that asking again will not mend."""
    error = UpstreamError(message, code=code)
    error.retryable = False
    return error


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise UpstreamError("the search provider's answer is too large")
    return bytes(body)


def _read(raw: bytes) -> Any:
    """The value of a JSON text. Raises ValueError, RecursionError.

    Python's json reads what orjson refuses: half a surrogate pair, escaped, as pages cut in the middle of a character
    have it. That half becomes U+FFFD; whatever else orjson refuses, it refuses again.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = json.dumps(json.loads(raw.decode()), ensure_ascii=False, allow_nan=False)
        return orjson.loads(_HALF_A_PAIR.sub("\ufffd", text))


def _detail(raw: bytes, headers: Mapping[str, str]) -> str:
    """What the provider says in a short error body of a known shape; never anything that was sent as a secret."""
    try:
        decoded = orjson.loads(raw[:65_536])
    except orjson.JSONDecodeError:
        return ""
    sent = [word for value in headers.values() for word in value.split()]
    text = scrub_keys(_said(decoded), sent)
    return re.sub(r"\s+", " ", text).strip()[:300]


def _said(decoded: Any) -> str:
    """The text under detail, error or message, however deep."""
    for _ in range(4):
        if isinstance(decoded, str):
            return decoded
        if not isinstance(decoded, dict):
            return ""
        decoded = next((decoded[key] for key in ("detail", "error", "message", "msg") if decoded.get(key)), None)
    return decoded if isinstance(decoded, str) else ""


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """From Retry-After (seconds or a date), else from the first window of X-RateLimit-Reset, as Brave has it."""
    if "Retry-After" in headers:
        return retry_after_s(headers["Retry-After"])
    reset = headers.get("X-RateLimit-Reset", "").partition(",")[0].strip()
    return float(reset) if reset.isdecimal() and len(reset) < 5 else None
