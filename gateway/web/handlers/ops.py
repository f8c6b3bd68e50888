"""The ops listener: health, readiness, metrics, documentation and the console's files, without keys, on loopback.

A probe never calls a model. Readiness names what is missing; a failing upstream does not make it 503.
"""

import hashlib
import html
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from importlib import resources

from aiohttp import hdrs, web
from prometheus_client import generate_latest

from gateway.domain import Json
from gateway.web.handlers.documents import PAGE_HEADERS, DocumentPages
from gateway.web.openapi import reference
from gateway.web.own_hosts import only_own_hosts
from gateway.web.state import ServerState

# The console's files, on the ops listener: a page that needs no network but this listener, and no key by itself.

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_CSP = "Content-Security-Policy"
_HEADERS = {
    **PAGE_HEADERS,
    _CSP: PAGE_HEADERS[_CSP].replace("data:", "data: blob:"),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    hdrs.CACHE_CONTROL: "no-cache",
}
"""Scripts and styles come from files alone, and nothing may be sent elsewhere: what a model or a web page answers
cannot become code. Pictures may also be of the page's own making. Sources: www.w3.org/TR/CSP3, html.spec.whatwg.org
(read 2026-11-22)."""


class ConsolePages:
    """`GET /` is the page, `GET /console/NAME` another of its files; with an ETag, so that an upgrade is seen.
    `product`: the address of the product listener, which stands in code that the page offers to copy."""

    def __init__(self, product: str) -> None:
        self._product = product

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
        files = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(tuple(_TYPES))}
        page, place = files["index.html"], b'name="product" content="'
        return {**files, "index.html": page.replace(place, place + html.escape(self._product).encode())}

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


METRICS_TYPE = "text/plain; version=0.0.4"
"""Content-Type of Prometheus' text format (prometheus.io, "Exposition formats")."""


class OpsPages:
    """The listener's handlers. `waiting()`: names of the parts that are not ready yet. `hosts`: what a request may name
    as Host (see `only_own_hosts`). `openapi` makes the document of the routes below `/api` (`openapi.document`)."""

    def __init__(
        self,
        server: ServerState,
        waiting: Callable[[], list[str]],
        hosts: Collection[str] = (),
        openapi: Callable[[], Json] = dict,
    ) -> None:
        self._server = server
        self._waiting = waiting
        self._hosts = hosts
        self._openapi = openapi
        self._documents = DocumentPages({"interface": lambda: reference(openapi())})

    def app(self) -> web.Application:
        """A new application with the routes."""
        app = web.Application(middlewares=[only_own_hosts(self._hosts)])
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/readyz", self.ready)
        app.router.add_get("/metrics", self.metrics)
        ConsolePages(self._server.own_url).add_to(app)
        app.router.add_get("/openapi.json", self.openapi)
        self._documents.add_to(app)
        return app

    async def health(self, request: web.Request) -> web.Response:
        """`{status: "ok"}` as long as the process answers."""
        return web.json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        """`{status: "ready", in_flight}`, or 503 with `{status: "draining", in_flight}` or
        `{status: "starting", waiting_for: [name]}`. `notes: [text]` is added when the operator must mend something."""
        in_flight = self._server.in_flight
        if in_flight.draining:
            return web.json_response({"status": "draining", "in_flight": len(in_flight)}, status=503)
        notes = [note for note in (self._server.keys.problem(), *self._server.notes()) if note]
        more = {"notes": notes} if notes else {}
        waiting = self._waiting()
        if waiting:
            return web.json_response({"status": "starting", "waiting_for": waiting, **more}, status=503)
        return web.json_response({"status": "ready", "in_flight": len(in_flight), **more})

    async def metrics(self, request: web.Request) -> web.Response:
        """All metrics in Prometheus' text format; with several workers, of all of them together."""
        self._server.recorder.flush()
        body = generate_latest(self._server.metrics.of_all())
        return web.Response(body=body, headers={"Content-Type": METRICS_TYPE})

    async def openapi(self, request: web.Request) -> web.Response:
        """The OpenAPI document."""
        return web.json_response(self._openapi())
