"""The console's files, on the ops listener: a page that needs no network but this listener, and no key by itself."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from importlib import resources

from aiohttp import hdrs, web

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    hdrs.CACHE_CONTROL: "no-cache",
}
"""Scripts and styles come from files alone, and nothing may be sent elsewhere: what a model or a web page answers
cannot become code. Pictures may also be of the page's own making. Sources: www.w3.org/TR/CSP3, html.spec.whatwg.org
(read 2026-11-22)."""


class ConsolePages:
    """`GET /` is the page, `GET /console/NAME` another of its files; with an ETag, so that an upgrade is seen."""

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/", self.page)
        app.router.add_get("/console/{name}", self.file)

    async def page(self, request: web.Request) -> web.StreamResponse:
        """The page."""
        return self._answer(request, "index.html")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file of the page; 404 for any other name."""
        return self._answer(request, request.match_info["name"])

    @cached_property
    def _files(self) -> Mapping[str, bytes]:
        """Read when one is asked for: finding them imports a MiB that most workers never need."""
        folder = resources.files("gateway.console")
        return {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(tuple(_TYPES))}

    def _answer(self, request: web.Request, name: str) -> web.StreamResponse:
        content = self._files.get(name)
        if content is None:
            raise web.HTTPNotFound(text="no such file; the console is at /")
        tag = hashlib.sha256(content).hexdigest()[:32]
        if request.if_none_match is not None and any(each.value == tag for each in request.if_none_match):
            unchanged = web.Response(status=304, headers=_HEADERS)
            unchanged.etag = tag
            return unchanged
        reply = web.Response(body=content, headers=_HEADERS)
        reply.content_type = _TYPES["." + name.rpartition(".")[2]]
        reply.charset = "utf-8"
        reply.etag = tag
        return reply
