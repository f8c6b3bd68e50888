"""What search providers have in common: one HTTP client, the shape of results, operators of queries.

`SearchAdapter` is the base of each provider, whose module says where and how it is asked and what its fields mean. An
error's message has our own words alone; the provider's message, which may repeat the query, goes into `quoted`, without
the secrets that were sent in headers.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Any, ClassVar

import aiohttp
import orjson

from gateway import schemas, trace
from gateway.domain import Json, SearchRequest, WebCall
from gateway.engines.fetch.bounded_connector import are_headers_too_large
from gateway.errors import GatewayError, UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.key_scrubber import scrub_keys
from gateway.providers.egress import DIRECT, Egress
from gateway.providers.http import decoded_answer
from gateway.providers.search_results import in_shape
from gateway.resilience.slices import in_slices
from gateway.wire.mended_json import without_lone_surrogates
from gateway.wire.retry_after import retry_after_s
from gateway.wire.untrusted_json import tables_in


def alpha2(name: str | None) -> str | None:
    """The code in lower case (`de`) of a country's English name in lower case; None for no or an unknown name."""
    codes: list[str] = schemas.load("country")["x-codes"].get(name, [])
    return codes[0] if codes else None


MAX_ANSWER_BYTES = 16_777_216
"""Most bytes of an answer, decompressed; twenty results with raw content are a few MB."""
MAX_RETRY_AFTER_S = 5.0
"""Longest pause before the repeat, in seconds; a provider that asks for a longer one gets no repeat."""
_RETRY_PAUSE_S = 0.5
"""Seconds of the pause where the provider names none."""
_MAX_ERROR_BYTES = 65_536
"""An error body is decoded no further; its message is cut to _MAX_DETAIL_CHARS."""
_MAX_DETAIL_CHARS = 300
"""Most characters of a provider's message that are shown."""
_MAX_VALUES = 50_000
"""Most JSON values of an answer; the pages of SearXNG with many engines have some thousands."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request: `path` under the base URL, with query parameters (GET) or a JSON body (POST).

    `timeout_s` replaces the site's limit.
    """

    path: str
    params: Mapping[str, str] | None = None
    body: Json | None = None
    timeout_s: float | None = None


_PROBE_TIMEOUT_S = 5
_PROBE_LIMIT_S = 10
"""Seconds of one request of a probe, and of a probe with its repeat: people wait for the status."""
COMMON = frozenset({"max_results", "topic", "time_range", "include_images", "include_image_descriptions"})
"""Fields of a search that most providers honour."""
_FIELDS = ("title", "url", "content", "score", "published_date", "raw_content", "favicon")


class SearchAdapter:
    """A provider with one key; its connections are opened at the first request.

    `key` is the API key; an empty `base_url` means the public service; `timeout_s` is for one request; `egress`: how
    requests leave for it. An adapter sets the attributes below and implements `request_for`, and what else differs of
    `find`, `items`, `result`, `images`, `country_of` and `failure`.
    """

    name: ClassVar[str]
    capabilities: ClassVar[frozenset[str]]
    """The fields of SearchRequest that it honours itself; see ports.SearchProvider."""
    results_are_per_key = False
    base_url: ClassVar[str] = ""
    """The public address; empty when every operator has one of his own."""
    key_header: ClassVar[str] = "Authorization"
    """The header of the key. In `Authorization` the word Bearer precedes it."""
    hints: ClassVar[Mapping[int, str]] = MappingProxyType({})
    """{status: end of a sentence, `what is wrong; what the operator must do`}."""
    fields: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """{`title`, `url`, `content`, `score`, `published_date`, `raw_content` or `favicon`: the provider's word for it},
    where it has another one."""
    depths: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """{`search_depth`: the provider's word for it}, of those that it has."""
    probe_request: ClassVar[ProviderRequest]
    """The cheapest request that needs the key."""

    def __init__(self, key: str, base_url: str = "", timeout_s: float = 15.0, egress: Egress = DIRECT) -> None:
        self._address = (base_url or self.base_url).rstrip("/")
        self._headers = {"Accept": "application/json"}
        if key:
            self._headers[self.key_header] = f"Bearer {key}" if self.key_header == "Authorization" else key
        self._timeout_s = timeout_s
        self._egress = egress
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Closes the connections; a later request opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def probe(self) -> str | None:
        """See ports.SearchProvider."""
        request = self.probe_request
        try:
            async with asyncio.timeout(_PROBE_LIMIT_S):
                await self.ask(replace(request, timeout_s=request.timeout_s or _PROBE_TIMEOUT_S))
        except GatewayError as error:
            return error.message
        except TimeoutError:
            return f"the search provider {self.name} did not answer in time"
        return None

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """See ports.SearchProvider."""
        answer = await self.find(request)
        try:
            data: Json = {"results": [self.result(item, request) for item in self.items(answer, request)]}
        except (LookupError, TypeError, ValueError, AttributeError) as error:  # an adapter of others trusts its service
            raise UpstreamError(f"the answer of the search provider {self.name} cannot be read") from error
        words = {"search_depth": self.depths.get(request.search_depth)} if self.depths else {}
        words |= {"country": self.country_of(request)} if request.country else {}
        data["ignored"] = [name for name, word in words.items() if word is None and name in self.capabilities]
        if request.include_images:
            try:
                data["images"] = await self.images(answer, request)
            except GatewayError as error:  # the results are still good
                data["note"] = f"There are no images: {error.message}"
        return in_shape(data)

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """The search in the provider's words. Optional fields are left out unless the caller set them."""
        raise NotImplementedError

    async def find(self, request: SearchRequest) -> Json:
        """The provider's answer to a search. Raises as `ask` does."""
        return await self.ask(self.request_for(request))

    def items(self, answer: Json, request: SearchRequest) -> list[Json]:
        """The results in an answer as the provider sent them, best first. Raises as `listed` does."""
        return self.listed(answer, "results")

    def result(self, item: Json, request: SearchRequest) -> Json:
        """A result of one item: `title`, `url` and `content` always, and of the other fields those that it has and that
        the request asks for. Values of another type become empty later."""
        made = {name: item.get(self.fields.get(name, name)) for name in _FIELDS}
        wanted = {"raw_content": request.include_raw_content, "favicon": request.include_favicon}
        return {n: v for n, v in made.items() if wanted.get(n, v or n in ("title", "url", "content"))}

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """The images of a search, at most `max_results`, made by `image`: those of the answer, or those of a request of
        their own. Raises as `ask` does."""
        return []

    def country_of(self, request: SearchRequest) -> str | None:
        """The provider's word for the request's country; None where it has none."""
        return alpha2(request.country)

    def listed(self, answer: Json, field: str, *, is_optional: bool = False) -> list[Json]:
        """The objects of a list in the answer. Raises UpstreamError when there is no such list: it is another kind of
        answer then, which says nothing of what could be found. `is_optional`: providers that leave out empty lists."""
        value = answer.get(field)
        if isinstance(value, list) or (is_optional and value is None and "error" not in answer):
            return tables_in(answer, field)
        raise UpstreamError(
            f"the search provider {self.name} answered without a list of results; the operator should check "
            "search.base_url"
        )

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
        name = self.name
        try:
            async with self._open(request) as response:
                raw = await self._bounded(response)
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
            raise self._quoting(raw, status, _retry_after_s(headers))
        return await self._decode(raw)

    def _open(self, request: ProviderRequest) -> Any:
        if self._session is None:
            self._session = self._egress.open_session({}, headers=self._headers)
        return self._session.request(
            "GET" if request.body is None else "POST",
            f"{self._address}{request.path}",
            params=request.params,
            data=None if request.body is None else orjson.dumps(request.body),
            headers=trace.outgoing() | ({} if request.body is None else {"Content-Type": "application/json"}),
            timeout=aiohttp.ClientTimeout(total=request.timeout_s or self._timeout_s, sock_connect=5),
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
                f"the search provider {self.name} did not answer with JSON; the operator should check search.base_url"
            )
        return decoded

    def _object(self, raw: bytes) -> object:
        """The decoded answer; None for what is no JSON object."""
        if not raw.lstrip(b" \t\r\n").startswith(b"{"):
            return None
        return decoded_answer(raw, max_values=_MAX_VALUES, sender=f"the search provider {self.name}")

    def _quoting(self, raw: bytes, status: int, wait_s: float | None) -> UpstreamError:
        """The error of an answer, with the provider's own words, on one line and without the secrets that were sent. A
        local name for it where it is raised would be a circle."""
        try:
            body = orjson.loads(raw[:_MAX_ERROR_BYTES])
        except orjson.JSONDecodeError:
            body = None
        failure = self.failure(status, wait_s, body if isinstance(body, dict) else {})
        sent = [word for value in self._headers.values() for word in value.split()]
        said = re.sub(r"\s+", " ", scrub_keys(message_in(body), sent)).strip()
        failure.quoted = said[:_MAX_DETAIL_CHARS] or None
        return failure

    def failure(self, status: int, wait_s: float | None, body: Json) -> UpstreamError:
        """The error of a status other than 200; `wait_s`: as the provider asks, `body`: its JSON, empty for none. The
        error's message has no word of it, and ends in a full stop, since a sentence with `quoted` may follow it."""
        name = self.name
        hint = self.hints.get(status)
        if hint is not None:
            return _final(f"the search provider {name} answered {status}: {hint}.", f"search_provider_{status}")
        if status in (401, 403):
            refused = f"the search provider {name} refused the gateway's key ({status})"
            return _final(f"{refused}; the operator must set search.api_key.", "search_provider_key")
        if status == 429 or status >= 500:
            message = f"the search provider {name} is busy or in trouble ({status}); try again later."
            return UpstreamUnavailable(message, retry_after_s=wait_s)
        if status in (400, 413, 422):
            message = (
                f"the search provider {name} did not accept the request ({status}); change the query or its parameters."
            )
            return UpstreamRefused(message, status=400, code="search_provider_refused")
        return _final(f"the search provider {name} answered {status}; the operator should check search.base_url.")

    def spent(self) -> UpstreamError:
        """The error of an account without credit, where the status says something else."""
        message = (
            f"the search provider {self.name} has no credits left for the gateway's key; the operator must buy some."
        )
        return _final(message, "search_provider_402")

    async def _bounded(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise UpstreamError(
                    f"the answer of the search provider {self.name} is too large; ask for fewer results"
                )
        return bytes(body)


def _final(message: str, code: str | None = None) -> UpstreamError:
    """An error that a repeat cannot correct."""
    error = UpstreamError(message, code=code)
    error.retryable = False
    return error


def message_in(decoded: Any) -> str:
    """The text under `detail`, `error`, `message` or `msg` of an error's body, also of nested objects, four levels at
    most; empty when there is none."""
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


def count_for(request: SearchRequest, widest: int) -> int:
    """How many results to request: `widest` where the service will drop some, as a provider without filters sends them
    mixed."""
    if request.include_domains or request.exclude_domains or request.exact_match or request.start_date:
        return widest
    return request.max_results


def phrase_or_words(request: SearchRequest) -> str:
    """The query, as one phrase in quotation marks for an exact match that has none of its own."""
    return f'"{request.query}"' if request.exact_match and '"' not in request.query else request.query


def with_sites(query: str, request: SearchRequest, fits: Callable[[str], bool]) -> str:
    """The query with the request's domains as operators behind it, those of them with which it still `fits`."""
    operators = [" OR ".join(f"site:{name}" for name in request.include_domains)] if request.include_domains else []
    for operator in (*operators, *(f"-site:{name}" for name in request.exclude_domains)):
        longer = f"{query} {operator}"
        if fits(longer):
            query = longer
    return query


def us_date(day: date) -> str:
    """A day as Americans write it: `3/1/2026` is the first of March."""
    return f"{day.month}/{day.day}/{day.year}"


def image(url: Any, title: Any, request: SearchRequest) -> Any:
    """An image as the web tools show it: its address, with its description when the request asks for it."""
    return {"url": url, "description": title} if request.include_image_descriptions else url
