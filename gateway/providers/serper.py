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
from gateway.errors import UpstreamError
from gateway.providers.search import (
    COMMON,
    ProviderRequest,
    SearchAdapter,
    count_for,
    image,
    message_in,
    phrase_or_words,
    us_date,
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


class Serper(SearchAdapter):
    """See SearchAdapter. The probe, a search for one result, costs one credit."""

    name = "serper"
    capabilities = COMMON | {"start_date", "end_date", "country"}
    base_url = "https://google.serper.dev"
    key_header = "X-API-KEY"
    hints: ClassVar[Mapping[int, str]] = {402: "the account has no credits left; the operator must buy some"}
    fields: ClassVar[Mapping[str, str]] = {"url": "link", "content": "snippet"}
    probe_request = ProviderRequest("/search", body={"q": "test", "num": 1})

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        body: Json = {"q": _query(request), "num": count_for(request, _WIDE_COUNT)}
        if code := self.country_of(request):
            body["gl"] = code
        if request.start_date or request.end_date:
            bounds = (("cd_min", request.start_date), ("cd_max", request.end_date))
            body["tbs"] = ",".join(["cdr:1", *(f"{name}:{us_date(day)}" for name, day in bounds if day)])
        if request.time_range:
            body["tbs"] = _RANGES[request.time_range]
        return ProviderRequest("/news" if request.topic == "news" else "/search", body=body)

    def items(self, answer: Json, request: SearchRequest) -> list[Json]:
        """See SearchAdapter."""
        return self.listed(answer, "news" if request.topic == "news" else "organic", is_optional=True)

    def result(self, item: Json, request: SearchRequest) -> Json:
        """See SearchAdapter."""
        day = day_of(item.get("date"))
        return super().result(item | {"published_date": day.isoformat() if day is not None else None}, request)

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        body = {"q": _query(request), "num": request.max_results}
        found = tables_in(await self.ask(ProviderRequest("/images", body=body)), "images")
        return [image(item.get("imageUrl"), item.get("title"), request) for item in found[: request.max_results]]

    def failure(self, status: int, wait_s: float | None, body: Json) -> UpstreamError:
        """See SearchAdapter; a spent account, of which Serper says 400, is not a fault of the request."""
        if status == 400 and "credits" in message_in(body).lower():
            return self.spent()
        return super().failure(status, wait_s, body)


def _query(request: SearchRequest) -> str:
    """The query, quoted for an exact match; domain operators are appended as long as Google reads them."""
    query = " ".join(phrase_or_words(request).split())
    return with_sites(query, request, lambda longer: len(longer.split()) <= MAX_QUERY_WORDS)


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
