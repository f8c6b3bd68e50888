"""Serper, which answers with Google's results. Wire format: the OpenAPI description of the Serper API and the service's
own pages (serper.dev), read 2026-11-22; date ranges as Google's `tbs=cdr` has them.

Implements ports.SearchProvider. Written from that documentation, never tried with a key: the answers in the tests are
documented ones, not recorded ones. Serper sends no scores: a result's score is 1 divided by its rank. Domains go into
the query as Google's operators, and the service filters again. Knows no HTTP beyond `SearchHttp`.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.providers.search import (
    PROBE_TIMEOUT_S,
    ProviderRequest,
    PublicSite,
    SearchAdapter,
    alpha2,
    image,
    phrase_or_words,
    will_filter,
    with_images,
    with_sites,
)
from gateway.wire.untrusted_json import tables_in

BASE_URL = "https://google.serper.dev"
CAPABILITIES = frozenset(
    {
        "max_results", "topic", "time_range", "start_date", "end_date", "country", "include_images",
        "include_image_descriptions",
    }
)  # fmt: skip
MAX_QUERY_WORDS = 32
"""Google's own limit: it ignores the words after it."""
_WIDE_COUNT = 20
"""Results requested when the service will filter them. Chosen: two pages of Google's; at half few are left, at double a
search costs more credits."""
_RANGES = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m", "year": "qdr:y"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"([A-Za-z]{3})[a-z]{0,6}\.? (\d{1,2}), (\d{4})")
_AGO = re.compile(r"(\d{1,3}) (minute|min|hour|day|week)s? ago")
_HOURS = {"minute": 0, "min": 0, "hour": 1, "day": 24, "week": 168}
_HINTS = {
    402: "the account has no credits left; the operator must buy some",
    403: "it does not know the gateway's key; the operator must set search.api_key",
}
_NO_CREDITS = "the search provider serper has no credits left for the gateway's key; the operator must buy some."


class Serper(SearchAdapter):
    """See SearchAdapter. The probe, a search for one result, costs one credit."""

    name = "serper"
    capabilities = CAPABILITIES
    site = PublicSite(BASE_URL, "X-API-KEY", status_hints=_HINTS)
    probe_request = ProviderRequest("/search", body={"q": "test", "num": 1}, timeout_s=PROBE_TIMEOUT_S)

    async def _search(self, request: SearchRequest) -> Json:
        """See SearchAdapter."""
        path, field = ("/news", "news") if request.topic == "news" else ("/search", "organic")
        answer = await self._ask(ProviderRequest(path, body=search_body(request)))
        raw = [item for item in self._listed(answer, field, is_optional=True) if item.get("link")]
        data: Json = {"results": [_result(rank, item) for rank, item in enumerate(raw, 1)], "images": []}
        if request.country and alpha2(request.country) is None:
            data["ignored"] = ["country"]
        return await with_images(data, self._images(request)) if request.include_images else data

    async def _images(self, request: SearchRequest) -> list[Any]:
        body = {"q": _query(request), "num": request.max_results}
        raw = tables_in(await self._ask(ProviderRequest("/images", body=body)), "images")
        images = [image(item["imageUrl"], item.get("title"), request) for item in raw if item.get("imageUrl")]
        return images[: request.max_results]

    async def _ask(self, request: ProviderRequest) -> Json:
        """As SearchHttp.ask; a spent account, of which Serper says 400, is not a fault of the request."""
        try:
            return await super()._ask(request)
        except UpstreamRefused as error:
            if "credits" not in (error.quoted or "").lower():
                raise
            spent = UpstreamError(_NO_CREDITS, code="search_provider_402")
            spent.retryable = False
            raise spent from error


def search_body(request: SearchRequest) -> Json:
    """The body of POST /search and /news. Optional fields are left out unless the caller set them."""
    body: Json = {"q": _query(request), "num": _WIDE_COUNT if will_filter(request) else request.max_results}
    if code := alpha2(request.country):
        body["gl"] = code
    if request.start_date or request.end_date:
        bounds = (("cd_min", request.start_date), ("cd_max", request.end_date))
        body["tbs"] = ",".join(["cdr:1", *(f"{name}:{_us_date(day)}" for name, day in bounds if day)])
    if request.time_range:
        body["tbs"] = _RANGES[request.time_range]
    return body


def _us_date(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def _query(request: SearchRequest) -> str:
    """The query, quoted for an exact match; domain operators are appended as long as Google reads them."""
    query = " ".join(phrase_or_words(request).split())
    return with_sites(query, request, lambda longer: len(longer.split()) <= MAX_QUERY_WORDS)


def _result(rank: int, item: Json) -> Json:
    result: Json = {
        "title": item.get("title"),
        "url": item["link"],
        "content": item.get("snippet"),
        "score": round(1 / rank, 4),
    }
    day = day_of(item.get("date"))
    if day is not None:
        result["published_date"] = day.isoformat()
    return result


def day_of(text: Any) -> date | None:
    """The day of a date as Google writes it (`Nov 3, 2026`, `5 hours ago`); None for anything else."""
    if not isinstance(text, str):
        return None
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return (datetime.now(UTC) - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])).date()
    written = _DATE.fullmatch(text.strip())
    if written is None or written[1].lower() not in _MONTHS:
        return None
    try:
        return date(int(written[3]), _MONTHS.index(written[1].lower()) + 1, int(written[2]))
    except ValueError:  # for instance the 30th of February
        return None
