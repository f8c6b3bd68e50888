"""What a remote search provider found, in the one form that the web tools promise, whatever the provider sent.

Adapters take fields as they are; here a field of another type becomes empty, an address that is no web address goes,
and a result without one goes with it.
"""

import re
from typing import Any

from gateway.domain import Json
from gateway.engines.fetch.urls import MAX_URL_CHARS
from gateway.wire.untrusted_json import MOST_RESULTS

_WEB = re.compile(r"https?://[^\s/?#\\@\x00-\x1f\x7f]++([/?#][^\s\\\x00-\x1f\x7f]*+)?", re.IGNORECASE)
_MAX_TITLE_CHARS = 1_000
"""Most characters of a title, and of an image's description; the budget of a result counts only texts."""


def in_shape(data: Json) -> Json:
    """`data` of an adapter's search with its `results` and `images` in their form: in place, and returned."""
    shaped: list[Json] = []
    for raw in data["results"][:MOST_RESULTS]:
        if (result := _result(raw, len(shaped) + 1)) is not None:
            shaped.append(result)
    data["results"], data["images"] = shaped, _images(data.get("images"))
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
        pages.append(page | _optional(page) | {"url": url} | text)
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


def _result(raw: Json, rank: int) -> Json | None:
    url = web_address(raw.get("url"))
    if url is None:
        return None
    return {
        **raw,
        **_optional(raw),
        "url": url,
        "title": _text(raw.get("title"))[:_MAX_TITLE_CHARS] or url,
        "content": _text(raw.get("content")),
        "score": _score(raw.get("score"), rank),
    }


def _optional(raw: Json) -> Json:
    """The fields in their form that a result or a page need not have, of those that this one has."""
    forms = {"published_date": _text, "raw_content": _text_or_none, "favicon": web_address, "images": _images}
    return {name: form(raw[name]) for name, form in forms.items() if name in raw}


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


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _score(value: object, rank: int) -> float:
    """A number from 0 to 1; 1 divided by the rank for anything else: most providers send no scores."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return round(1 / rank, 4)
    return value
