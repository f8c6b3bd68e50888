"""The composition root: builds the application from a configuration. The only package that chooses concrete classes.

Only the entry points and tests import it. What must be closed is registered on one `AsyncExitStack`.

`models` builds the model table, `web_tools` the search and the web engine, `routes` the table of product routes.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack

from aiohttp import web

from gateway.access.api_keys import KeyStore
from gateway.access.rate_limits import BadKeyLimiter, LocalLimiter
from gateway.access.redis_limits import RedisLimiter
from gateway.app.embedding import local_embedder, passage_vectors
from gateway.app.models import completion_service, guardrail, image_loader
from gateway.app.routes import Handlers, endpoint_table
from gateway.app.web_tools import engine_deps, web_fetcher, websearch_service
from gateway.config.settings import Config
from gateway.embedded.servers import Embedded
from gateway.engines.index.port import Index
from gateway.engines.index.search_provider import LocalSearch
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.mcp.tools import Searched
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import Sanitizer
from gateway.services.completion.response_store import ResponseStore
from gateway.services.ocr.service import OcrService
from gateway.web.endpoints import EndpointTable
from gateway.web.handlers.chat import ChatHandler
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.web.handlers.models import ModelsHandler
from gateway.web.handlers.ops import OpsPages
from gateway.web.handlers.responses import ResponsesHandler
from gateway.web.in_flight import InFlight
from gateway.web.request_log import Recorder
from gateway.web.server.chain import application
from gateway.web.state import SERVER_STATE, ServerState


def build_app(config: Config, embedded: Embedded | None = None, docs_address: str = "") -> web.Application:
    """The application that serves the product routes; its cleanup closes everything that is opened here.

    `embedded`: addresses of the embedded servers, none by default. `docs_address`: `host:port` of the operations
    listener, of which callers may fetch the documentation in the embedded profile (`Config.reads_own_docs`).
    """
    fetcher, resources = web_fetcher(config, docs_address), AsyncExitStack()
    resources.push_async_callback(fetcher.close)
    completions = completion_service(config, embedded or Embedded(), fetcher, resources)
    judge = guardrail(config, completions)
    sanitizer = Sanitizer(config.sanitize, judge)
    deps, _ = engine_deps(config, fetcher, resources, completions)
    local = LocalSearch(deps.index, passage_vectors(config, deps.index, local_embedder(resources), resources))
    websearch = websearch_service(config, deps, (sanitizer, judge), local, resources)
    searched: Searched = "local" if config.search.provider == "local" else "web"
    mcp = WebSearchHandler(Dispatcher(websearch, RunningCalls(), searched))
    chat = ChatHandler(completions, OcrService(completions, image_loader(config, fetcher, resources)))
    responses = ResponsesHandler(completions, ResponseStore(config.limits.response_store_bytes_per_key))
    table = endpoint_table(config.server.base_path, Handlers(mcp, chat, responses, ModelsHandler(completions)))
    state = _server_state(config, table, sanitizer, deps.index, resources)
    app = application(state, config.server.max_body_bytes)
    app.cleanup_ctx.append(_close_at_cleanup(resources))
    return app


def build_ops_app(
    app: web.Application, waiting: Callable[[], list[str]], hosts: Collection[str] = (), metrics_folder: str = ""
) -> web.Application:
    """The operations pages (health, readiness, metrics, documentation) for an application of `build_app`.

    `waiting` names what is not ready yet; none means ready. `hosts`: names of the listener beside loopback's.
    `metrics_folder` holds the metrics that several workers share; empty with one worker.
    """
    return OpsPages(app[SERVER_STATE], waiting, hosts, metrics_folder).app()


def _server_state(
    config: Config, endpoints: EndpointTable, sanitizer: Sanitizer, index: Index, resources: AsyncExitStack
) -> ServerState:
    """The state that the middlewares share."""
    metrics = Metrics()
    local = LocalLimiter(config.limits, share_of=config.server.workers)
    limiter: LocalLimiter | RedisLimiter = local
    if config.shared.redis_url is not None:
        limiter = shared = RedisLimiter(config.shared.redis_url.reveal(), config.limits, local)
        resources.push_async_callback(shared.close)
    return ServerState(
        endpoints=endpoints,
        in_flight=InFlight(config.server.max_in_flight, config.limits.in_flight_share),
        keys=KeyStore(config.state_dir / config.access.keys_file),
        bad_keys=BadKeyLimiter(config.access.bad_keys_per_minute),
        limiter=limiter,
        sanitizer=sanitizer,
        metrics=metrics,
        recorder=Recorder(metrics),
        allowed_origins=frozenset(config.server.allowed_origins),
        body_timeout_s=config.server.body_timeout_s,
        max_json_values=config.server.max_json_values,
        index_problem=lambda: index.problem,
    )


def _close_at_cleanup(resources: AsyncExitStack) -> Callable[[web.Application], AsyncIterator[None]]:
    async def cleanup(app: web.Application) -> AsyncIterator[None]:
        yield
        await resources.aclose()

    return cleanup
