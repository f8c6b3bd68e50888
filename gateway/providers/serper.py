"""Serper, which answers with Google's results. Wire format: the OpenAPI description of the Serper API and the service's
own pages (serper.dev), read 2026-11-22; date ranges as Google's `tbs=cdr` has them.

Never tried with a key: the answers in the tests are documented ones, not recorded ones.
Serper sends no scores. Domains go into the query as Google's operators, and the service filters again.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.providers.search import (
    COMMON,
    PROBE_TIMEOUT_S,
    ProviderRequest,
    SearchAdapter,
    image,
    phrase_or_words,
    result,
    will_filter,
    with_sites,
)
from gateway.wire.untrusted_json import tables_in

MAX_QUERY_WORDS = 32
"""Google's own limit: it ignores the words after it."""
_WIDE_COUNT = 20
"""Results requested when the service will filter them: two pages of Google's."""
_RANGES = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m", "year": "qdr:y"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"([A-Za-z]{3})[a-z]{0,6}\.? (\d{1,2}), (\d{4})")
_AGO = re.compile(r"(\d{1,3}) (minute|min|hour|day|week)s? ago")
_HOURS = {"minute": 0, "min": 0, "hour": 1, "day": 24, "week": 168}
_NO_CREDITS = "the search provider serper has no credits left for the gateway's key; the operator must buy some."


class Serper(SearchAdapter):
    """See SearchAdapter. The probe, a search for one result, costs one credit."""

    name = "serper"
    capabilities = COMMON | {"start_date", "end_date", "country"}
    base_url = "https://google.serper.dev"
    key_header = "X-API-KEY"
    hints: ClassVar[Mapping[int, str]] = {
        402: "the account has no credits left; the operator must buy some",
        403: "it does not know the gateway's key; the operator must set search.api_key",
    }
    probe_request = ProviderRequest("/search", body={"q": "test", "num": 1}, timeout_s=PROBE_TIMEOUT_S)

    async def _search(self, request: SearchRequest) -> Json:
        path, field = ("/news", "news") if request.topic == "news" else ("/search", "organic")
        answer = await self.ask(ProviderRequest(path, body=self._body(request)))
        return {"results": [_result(item, request) for item in self._listed(answer, field, is_optional=True)]}

    async def _own_images(self, request: SearchRequest) -> list[Any]:
        body = {"q": _query(request), "num": request.max_results}
        found = tables_in(await self.ask(ProviderRequest("/images", body=body)), "images")
        return [image(item.get("imageUrl"), item.get("title"), request) for item in found[: request.max_results]]

    async def ask(self, request: ProviderRequest) -> Json:
        """See SearchAdapter; a spent account, of which Serper says 400, is not a fault of the request."""
        try:
            return await super().ask(request)
        except UpstreamRefused as error:
            if "credits" not in (error.quoted or "").lower():
                raise
            spent = UpstreamError(_NO_CREDITS, code="search_provider_402")
            spent.retryable = False
            raise spent from error

    def _body(self, request: SearchRequest) -> Json:
        """The body of POST /search and /news. Optional fields are left out unless the caller set them."""
        body: Json = {"q": _query(request), "num": _WIDE_COUNT if will_filter(request) else request.max_results}
        if code := self._country(request):
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


def _result(item: Json, request: SearchRequest) -> Json:
    day = day_of(item.get("date"))
    return result(
        request,
        title=item.get("title"),
        url=item.get("link"),
        content=item.get("snippet"),
        published_date=day.isoformat() if day is not None else None,
    )


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
