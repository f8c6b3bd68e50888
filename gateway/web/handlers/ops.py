"""The ops listener: health, readiness, metrics and the project's documentation, without keys, on loopback.

A probe never calls a model. Readiness names what is missing; a failing upstream does not make it 503. Knows no product
route.
"""

import html
import importlib
from collections.abc import Callable, Collection, Iterable
from importlib import resources

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest, multiprocess

from gateway.web.middleware.own_host import only_own_hosts
from gateway.web.state import ServerState

METRICS_TYPE = "text/plain; version=0.0.4"
"""Content-Type of Prometheus' text format (prometheus.io, "Exposition formats")."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><nav>{links}</nav><main>{body}</main></body></html>
"""


class OpsPages:
    """The listener's handlers. `waiting()`: names of the parts that are not ready yet. `hosts`: what a request may name
    as Host (see `only_own_hosts`). `metrics_folder`: where several workers write their metrics; empty for a single
    process."""

    def __init__(
        self,
        server: ServerState,
        waiting: Callable[[], list[str]],
        hosts: Collection[str] = (),
        metrics_folder: str = "",
    ) -> None:
        self._server = server
        self._waiting = waiting
        self._hosts = hosts
        self._metrics_folder = metrics_folder
        self._docs = _documents()

    def app(self) -> web.Application:
        """A new application with the routes."""
        app = web.Application(middlewares=[only_own_hosts(self._hosts)])
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/readyz", self.ready)
        app.router.add_get("/metrics", self.metrics)
        app.router.add_get("/docs/", self.contents)
        app.router.add_get("/docs/{page:.+}", self.page)
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
        registry = self._server.metrics.registry
        if self._metrics_folder:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, path=self._metrics_folder)  # type: ignore[no-untyped-call]
        return web.Response(body=generate_latest(registry), headers={"Content-Type": METRICS_TYPE})

    async def contents(self, request: web.Request) -> web.Response:
        """The list of documentation pages, as HTML."""
        titles = {name: _title(name, _read_document(name)) for name in self._docs}
        items = "".join(f'<li><a href="{name}">{html.escape(title)}</a></li>' for name, title in titles.items())
        body = f"<h1>Documentation of the gateway</h1><ul>{items}</ul>"
        return _html("Documentation of the gateway", body, self._docs)

    async def page(self, request: web.Request) -> web.Response:
        """One page as HTML, or as Markdown without the [web] extra; 404 for an unknown one. Names as the files link to
        each other in the repository (`docs/errors.md`) are redirected."""
        path = request.match_info["page"]
        name = path.rsplit("/", 1)[-1].removesuffix(".md").lower()
        if name not in self._docs:
            raise web.HTTPNotFound(text="no such page; see /docs/")
        if name != path:
            raise web.HTTPMovedPermanently(f"/docs/{name}")
        text = _read_document(name)
        try:  # on the first use: a process that serves no documentation needs neither its time nor its memory
            markdown = importlib.import_module("markdown_it").MarkdownIt("commonmark").enable("table")
        except ImportError:
            return web.Response(text=text, content_type="text/markdown", charset="utf-8")
        return _html(_title(name, text), markdown.render(text), self._docs)


def _documents() -> list[str]:
    """Names of the pages. Their texts, a third of a megabyte, are read when they are asked for."""
    names = (entry.name for entry in resources.files("gateway_docs").iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


def _read_document(name: str) -> str:
    return resources.files("gateway_docs").joinpath(f"{name}.md").read_text(encoding="utf-8")


def _title(name: str, text: str) -> str:
    first = text.split("\n", 1)[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else name


def _html(title: str, body: str, pages: Iterable[str]) -> web.Response:
    links = " ".join(f'<a href="/docs/{name}">{html.escape(name)}</a>' for name in pages)
    text = _PAGE.format(title=html.escape(title), links=links, body=body)
    return web.Response(text=text, content_type="text/html", charset="utf-8")
