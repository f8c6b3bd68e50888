"""What a remote search provider found, in the one form that the web tools promise, whatever the provider sent.

Adapters take fields as they are; here a field of another type becomes empty, an address that is no web address goes,
and a result without one goes with it. Pure; knows no provider.
"""

import math
import re
from typing import Any

from gateway.domain import Json
from gateway.engines.fetch.urls import MAX_URL_CHARS
from gateway.wire.untrusted_json import MOST_RESULTS

_WEB = re.compile(r"https?://[^\s/?#\\@\x00-\x1f\x7f]++([/?#][^\s\\\x00-\x1f\x7f]*+)?", re.IGNORECASE)
_MAX_TITLE_CHARS = 1_000
"""Of a title, and of an image's description. Chosen: the budget of a result counts only texts; titles have at most a
few hundred characters. At half none is lost, at double twenty results have 40,000 characters beside their texts."""


def in_shape(data: Json) -> Json:
    """`data` of an adapter's search with its `results` and `images` in their form: in place, and returned."""
    data["results"] = [shaped for result in data["results"][:MOST_RESULTS] if (shaped := _result(result)) is not None]
    data["images"] = _images(data.get("images"))
    return data


def pages_in_shape(raw: list[Json]) -> list[Json]:
    """Pages that a provider has read, `{url, title, raw_content, favicon?, images?}`; one without an address is left
    out."""
    pages = []
    for page in raw:
        url = web_address(page.get("url"))
        if url is None:
            continue
        text = {"raw_content": _text(page.get("raw_content")), "title": _text(page.get("title"))[:_MAX_TITLE_CHARS]}
        shaped = page | {"url": url} | text
        if "favicon" in page:
            shaped["favicon"] = web_address(page["favicon"])
        if "images" in page:
            shaped["images"] = _images(page["images"])
        pages.append(shaped)
    return pages


def failure_in_shape(raw: Json) -> Json:
    """`{url, error}` of a page that a provider could not read."""
    return {"url": _text(raw.get("url"))[:MAX_URL_CHARS], "error": _text(raw.get("error"))[:300] or "not extracted"}


def web_address(value: object) -> str | None:
    """An http(s) URL of at most MAX_URL_CHARS without blanks and control characters; None for anything else."""
    if not isinstance(value, str) or len(value) > MAX_URL_CHARS:
        return None
    address = f"https:{value}" if value.startswith("//") else value
    return address if _WEB.fullmatch(address) else None


def _result(raw: Json) -> Json | None:
    url = web_address(raw.get("url"))
    if url is None:
        return None
    shaped = raw | {
        "url": url,
        "title": _text(raw.get("title"))[:_MAX_TITLE_CHARS] or url,
        "content": _text(raw.get("content")),
        "score": _score(raw.get("score")),
    }
    if "published_date" in raw:
        shaped["published_date"] = _text(raw["published_date"])
    if "raw_content" in raw:
        shaped["raw_content"] = raw["raw_content"] if isinstance(raw["raw_content"], str) else None
    if "favicon" in raw:
        shaped["favicon"] = web_address(raw["favicon"])
    if "images" in raw:
        shaped["images"] = _images(raw["images"])
    return shaped


def _images(raw: Any) -> list[Any]:
    """Addresses, or `{url, description}`, as they came."""
    images: list[Any] = []
    for each in raw[:MOST_RESULTS] if isinstance(raw, list) else []:
        is_described = isinstance(each, dict)
        url = web_address(each.get("url") if is_described else each)
        if url is not None:
            described = (
                {"url": url, "description": _text(each.get("description"))[:_MAX_TITLE_CHARS]} if is_described else url
            )
            images.append(described)
    return images


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _score(value: object) -> float:
    """A number from 0 to 1; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return value if 0 <= value <= 1 else 0.0
