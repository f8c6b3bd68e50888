"""Perplexity's Search API. Wire format: its API reference, "Search the Web", and its guides to the filters of dates and
domains (docs.perplexity.ai), read 2026-11-29.

Never tried with a key: the answers in the tests are documented ones, not recorded ones.
Perplexity sends no scores. It takes up to 20 domains, wanted or unwanted ones; the service filters by domains and dates
again.
"""

from collections.abc import Mapping
from typing import ClassVar

from gateway.domain import Json, SearchRequest
from gateway.providers.search import ProviderRequest, SearchAdapter, count_for, phrase_or_words, us_date

_MAX_DOMAINS = 20
_MAX_RESULTS = 20
_EXCERPT_TOKENS = 512
"""Most tokens of a result's text: 2,000 characters, as other providers send; Perplexity's own default is 4,096."""


class Perplexity(SearchAdapter):
    """See SearchAdapter. Perplexity charges for the probe, a search for one result."""

    name = "perplexity"
    capabilities = frozenset({"max_results", "time_range", "country"})
    base_url = "https://api.perplexity.ai"
    fields: ClassVar[Mapping[str, str]] = {"content": "snippet", "published_date": "date"}
    probe_request = ProviderRequest("/search", body={"query": "test", "max_results": 1, "max_tokens_per_page": 64})

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        count = count_for(request, _MAX_RESULTS)
        body: Json = {
            "query": phrase_or_words(request),
            "max_results": count,
            "max_tokens": count * _EXCERPT_TOKENS,
            "max_tokens_per_page": _EXCERPT_TOKENS,
        }
        if 0 < len(request.include_domains) <= _MAX_DOMAINS:
            body["search_domain_filter"] = list(request.include_domains)
        elif request.exclude_domains:
            body["search_domain_filter"] = [f"-{name}" for name in request.exclude_domains[:_MAX_DOMAINS]]
        days = (("search_after_date_filter", request.start_date), ("search_before_date_filter", request.end_date))
        body |= {name: us_date(day) for name, day in days if day}
        if request.time_range:
            body["search_recency_filter"] = request.time_range
        if code := self.country_of(request):
            body["country"] = code.upper()
        return ProviderRequest("/search", body=body)
