"""A request that the browser holds until it is answered, read from `Fetch.requestPaused` with every field checked."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from gateway.domain import Json
from gateway.engines.render.frames import MAX_HEAD_BYTES

MAX_POSTED_BYTES = 65_536
"""Most that a page may post. Chosen: queries of an application's interface are a few KB; at half, long ones fail, at
double a page can send more of what it read to its own site."""
_MAX_URL_CHARS = 4_000
"""Longer addresses are no addresses for the fetcher (2,000 characters); the rest is slack for what it normalises."""
_MAX_FIELD_CHARS = 1_000
assert _MAX_URL_CHARS + 5 * _MAX_FIELD_CHARS < MAX_HEAD_BYTES // 2


@dataclass(frozen=True, slots=True)
class PausedRequest:
    """`id` and `session` as the browser names them; `head` as `frames` describes it, without `event` and `id`; `body`
    is what the page posts, None when it cannot be had or is too large. `is_main`: the document of the page itself."""

    id: str
    session: str
    head: Json
    body: bytes | None
    is_main: bool

    @property
    def is_service_worker(self) -> bool:
        """Whether this would be the script of a service worker, for which there is no use in a context of one call."""
        return bool(self.head.get("is_service_worker"))


def read_paused(session: str, parameters: Json, main_frame: str) -> PausedRequest | None:
    """The request; None when the message is none that Chromium sends."""
    number, request, kind = parameters.get("requestId"), parameters.get("request"), parameters.get("resourceType")
    if not isinstance(number, str) or not isinstance(request, dict) or not isinstance(kind, str):
        return None
    url, method, given = request.get("url"), request.get("method"), request.get("headers")
    if not isinstance(url, str) or not isinstance(method, str):
        return None
    headers = {
        name.lower(): value[:_MAX_FIELD_CHARS]
        for name, value in (given.items() if isinstance(given, dict) else ())
        if isinstance(value, str)
    }
    is_main = kind == "Document" and parameters.get("frameId") == main_frame
    head = {
        "url": url[: _MAX_URL_CHARS + 1],
        "method": method[:20],
        "kind": kind[:40],
        "accept": headers.get("accept", "*/*"),
        "origin": headers.get("origin", ""),
        "sends": headers.get("content-type", ""),
        "is_main": is_main,
        "is_service_worker": "service-worker" in headers,
    }
    return PausedRequest(number, session, head, _posted(request), is_main)


def _posted(request: Json) -> bytes | None:
    entries: Any = request.get("postDataEntries")
    if not request.get("hasPostData"):
        return b""
    if not isinstance(entries, list):
        return None
    posted = bytearray()
    for entry in entries:
        packed = entry.get("bytes") if isinstance(entry, dict) else None
        if not isinstance(packed, str) or len(packed) > 2 * MAX_POSTED_BYTES:
            return None
        try:
            posted += base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(posted) > MAX_POSTED_BYTES:
            return None
    return bytes(posted)
