"""Tavily: search, and its own extract, crawl and map. Wire format: Tavily's OpenAPI of 2026-08-18, read 2026-11-21.

The data of the web tools has Tavily's field names, so that little is translated.
"""

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.providers.search import COMMON, ProviderRequest, SearchAdapter, image, phrase_or_words
from gateway.providers.search_results import failure_in_shape, pages_in_shape, web_address
from gateway.wire.untrusted_json import list_in, tables_in

_EXTRACT_TIMEOUT_S = 60
_CRAWL_TIMEOUT_S = 150
"""Seconds that an extraction, and a crawl, may take: Tavily reads the pages during the request."""


class Tavily(SearchAdapter):
    """Implements ports.WebEngine too. The probe reads the key's usage, which costs no credit."""

    name = "tavily"
    capabilities = COMMON | {
        "search_depth", "include_domains", "exclude_domains", "start_date", "end_date", "include_raw_content",
        "country", "include_favicon", "exact_match",
    }  # fmt: skip
    base_url = "https://api.tavily.com"
    hints: ClassVar[Mapping[int, str]] = {
        432: "the key or its plan has no credit left; the operator must raise the limit or change the plan",
        433: "the pay-as-you-go limit is reached; the operator must raise it",
    }
    probe_request = ProviderRequest("/usage")

    def request_for(self, request: SearchRequest) -> ProviderRequest:
        """See SearchAdapter."""
        return ProviderRequest("/search", body=search_body(request))

    def result(self, item: Json, request: SearchRequest) -> Json:
        """See SearchAdapter; with the images of the page."""
        made = super().result(item, request)
        return {**made, "images": _images(item, request)} if item.get("images") else made

    async def images(self, answer: Json, request: SearchRequest) -> list[Any]:
        """See SearchAdapter."""
        return _images(answer, request)

    def country_of(self, request: SearchRequest) -> str | None:
        """Tavily accepts it for general searches alone."""
        return request.country if request.topic == "general" else None

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """See ports.WebEngine."""
        started = time.monotonic()
        body: Json = {
            "urls": list(request.urls),
            "extract_depth": request.extract_depth,
            "include_images": request.include_images,
            "include_favicon": request.include_favicon,
            "format": request.format,
        }
        if request.query:
            body["query"] = request.query
        answer = await self.ask(ProviderRequest("/extract", body=body, timeout_s=_EXTRACT_TIMEOUT_S))
        pages = [_page(raw, request.include_favicon, request.include_images) for raw in self.listed(answer, "results")]
        failed = [failure_in_shape(raw) for raw in tables_in(answer, "failed_results")]
        return {
            "results": pages_in_shape(pages),
            "failed_results": failed,
            "response_time": round(time.monotonic() - started, 3),
        }

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """See ports.WebEngine; Tavily reports neither depths nor failed pages."""
        started = time.monotonic()
        body = {**_crawl_body(request), "extract_depth": request.extract_depth, "format": request.format}
        body["include_favicon"] = request.include_favicon
        answer = await self.ask(ProviderRequest("/crawl", body=body, timeout_s=_CRAWL_TIMEOUT_S))
        pages = [_page(raw, request.include_favicon) for raw in self.listed(answer, "results")]
        return {
            "base_url": request.url,
            "results": pages_in_shape(pages),
            "failed_results": [],
            "response_time": round(time.monotonic() - started, 3),
        }

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """See ports.WebEngine."""
        started = time.monotonic()
        answer = await self.ask(ProviderRequest("/map", body=_crawl_body(request), timeout_s=_CRAWL_TIMEOUT_S))
        self.listed(answer, "results")
        urls = [url for each in answer["results"] if (url := web_address(each)) is not None]
        return {"base_url": request.url, "results": urls, "response_time": round(time.monotonic() - started, 3)}


def search_body(request: SearchRequest) -> Json:
    """The body of POST /search. Optional fields are left out unless the caller set them."""
    body: Json = {
        "query": phrase_or_words(request),
        "search_depth": request.search_depth,
        "max_results": request.max_results,
        "topic": request.topic,
        "include_images": request.include_images,
        "include_image_descriptions": request.include_image_descriptions,
        "include_raw_content": "markdown" if request.include_raw_content else False,
        "include_favicon": request.include_favicon,
    }
    if request.include_domains:
        body["include_domains"] = list(request.include_domains)
    if request.exclude_domains:
        body["exclude_domains"] = list(request.exclude_domains)
    days = (("start_date", request.start_date), ("end_date", request.end_date))
    body |= {name: day.isoformat() for name, day in days if day}
    if request.time_range:
        body["time_range"] = request.time_range
    if request.country and request.topic == "general":
        body["country"] = request.country
    if request.exact_match:
        body["exact_match"] = True
    return body


def _images(holder: Json, request: SearchRequest) -> list[Any]:
    """Those under `images`: addresses, or `{url, description}`."""
    raw = list_in(holder, "images") if request.include_images else []
    described = [each if isinstance(each, dict) else {"url": each} for each in raw]
    return [image(each.get("url"), each.get("description"), request) for each in described]


def _page(raw: Json, favicon: bool, images: bool = False) -> Json:
    names = ["url", "raw_content", "title"] + ["favicon"] * favicon + ["images"] * images
    return {name: raw.get(name) for name in names}


def _crawl_body(request: CrawlRequest) -> Json:
    body: Json = {
        "url": request.url,
        "max_depth": request.max_depth,
        "max_breadth": request.max_breadth,
        "limit": request.limit,
        "allow_external": request.allow_external,
    }
    optional = {
        "instructions": request.instructions,
        "select_paths": list(request.select_paths),
        "select_domains": list(request.select_domains),
    }
    return body | {name: value for name, value in optional.items() if value}
