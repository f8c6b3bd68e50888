"""The ops listener: health, readiness, metrics, documentation and the console's files, without keys, on loopback.

A probe never calls a model. Readiness names what is missing; a failing upstream does not make it 503. Knows no product
route: those below `/api` are an application of their own.
"""

from collections.abc import Callable, Collection

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest, multiprocess

from gateway.domain import Json
from gateway.web.handlers.console import ConsolePages
from gateway.web.handlers.documents import DocumentPages
from gateway.web.handlers.openapi import reference
from gateway.web.middleware.own_host import only_own_hosts
from gateway.web.state import ServerState

METRICS_TYPE = "text/plain; version=0.0.4"
"""Content-Type of Prometheus' text format (prometheus.io, "Exposition formats")."""


class OpsPages:
    """The listener's handlers. `waiting()`: names of the parts that are not ready yet. `hosts`: what a request may name
    as Host (see `only_own_hosts`). `metrics_folder`: where several workers write their metrics; empty for a single
    process. `openapi` makes the document of the routes below `/api` (`handlers.openapi`)."""

    def __init__(
        self,
        server: ServerState,
        waiting: Callable[[], list[str]],
        hosts: Collection[str] = (),
        metrics_folder: str = "",
        openapi: Callable[[], Json] = dict,
    ) -> None:
        self._server = server
        self._waiting = waiting
        self._hosts = hosts
        self._metrics_folder = metrics_folder
        self._openapi = openapi
        self._documents = DocumentPages({"interface": lambda: reference(openapi())})

    def app(self) -> web.Application:
        """A new application with the routes."""
        app = web.Application(middlewares=[only_own_hosts(self._hosts)])
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/readyz", self.ready)
        app.router.add_get("/metrics", self.metrics)
        ConsolePages().add_to(app)
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
        registry = self._server.metrics.registry
        if self._metrics_folder:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, path=self._metrics_folder)  # type: ignore[no-untyped-call]
        return web.Response(body=generate_latest(registry), headers={"Content-Type": METRICS_TYPE})

    async def openapi(self, request: web.Request) -> web.Response:
        """The OpenAPI document."""
        return web.json_response(self._openapi())
