"""The composition root: builds the application from a configuration. The only package that chooses concrete classes.

Only the entry points and tests import it. What must be closed is registered on one `AsyncExitStack`.

`models` builds the model table, `web_tools` the search and the web engine, `routes` the table of product routes.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from aiohttp import web

from gateway.access.budgets import OwnUse
from gateway.access.people import People
from gateway.access.redis_keys import registry_of
from gateway.app.models import completion_service, guardrail, image_loader, local_embedder, ocr_service, passage_vectors
from gateway.app.responses import response_parts
from gateway.app.routes import Handlers, admin_rows, endpoint_table, socket_row
from gateway.app.sampler import Sampler
from gateway.app.shared import SharedParts, shared_parts
from gateway.app.web_engine import engine_deps, parse_pool, web_fetcher
from gateway.app.web_tools import file_reader, hosted_mcp, hosted_settings, picture_reader, websearch_services
from gateway.calls.in_flight import InFlight
from gateway.config.settings import Config
from gateway.embedded.servers import Embedded
from gateway.engines.documents.pictures import PooledPictures, PooledPixels
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.vectors import PassageVectors
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import Cancellations, RunningCalls
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import Sanitizer
from gateway.services.completion.service import CompletionService, OwnModel
from gateway.services.completion.turns import carried_names
from gateway.services.file_parts import FileParts
from gateway.services.hosted_tools.hosted_responses import HostedResponses
from gateway.services.hosted_tools.hosted_search import HostedSearch
from gateway.services.responses.background import Runs
from gateway.services.websearch.tools import Searched, WebTools
from gateway.web.client_address import client_address
from gateway.web.endpoints import EndpointTable
from gateway.web.handlers.admin import AdminHandler, AdminKeysHandler
from gateway.web.handlers.chat import ChatHandler
from gateway.web.handlers.embeddings import EmbeddingsHandler
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.web.handlers.messages import MessagesHandler
from gateway.web.handlers.models import ModelsHandler
from gateway.web.handlers.ops import OpsPages
from gateway.web.openapi import document
from gateway.web.request_log import Recorder
from gateway.web.server.runner import CertificateWatch, application, same_application
from gateway.web.state import SERVER_STATE, ServerState
from gateway.wire.json_body import JsonLimits

CONSOLE_API = web.AppKey("console_api", web.Application)
RUNS = web.AppKey("runs", Runs)
"""The background runs of the application's process."""
_CONSOLE_PATH = "/api"


def build_app(config: Config, embedded: Embedded | None = None, docs_address: str = "") -> web.Application:
    """The application that serves the product routes; its cleanup closes everything that is opened here.

    `embedded`: addresses of the embedded servers, none by default. `docs_address`: `host:port` of the operations
    listener, of which callers may fetch the documentation in the embedded profile (`Config.reads_own_docs`).
    """
    fetcher, resources = web_fetcher(config, docs_address), AsyncExitStack()
    resources.push_async_callback(fetcher.close)
    shared, embedder = shared_parts(config, resources), local_embedder(resources)
    completions = completion_service(config, embedded or Embedded(), fetcher, resources, embedder)
    shared.agree_on_user_key(completions)
    completions.sealer = shared.sealer
    judge = guardrail(config, completions)
    sanitizer = Sanitizer(config.sanitize, judge)
    pool = parse_pool(config, resources)
    ocr = ocr_service(config, completions, image_loader(config, fetcher, PooledPixels(pool)), PooledPictures(pool))
    metrics = Metrics()
    budgets = shared.budgets(completions, metrics)
    own_use = OwnUse(shared.keys.caller_of, budgets, shared.usage, metrics)
    pictures = picture_reader(config, pool, ocr, own_use)
    chooses = config.web.instructions_model
    model_of = partial(OwnModel, completions, chooses, own_use) if chooses else None
    deps = engine_deps(config, fetcher, pool, resources, model_of, pictures)
    files = FileParts(file_reader(pool, pictures), config.ocr.max_document_bytes)
    vectors = passage_vectors(config, deps, embedder, resources)
    local = LocalSearch(deps.index, vectors)
    websearch, index_alone = websearch_services(config, deps, (sanitizer, judge), local, resources)
    searched: Searched = "local" if config.search.providers == ("local",) else "web"
    websearch.cache.shared, running = shared.searches, RunningCalls()
    mcp = WebSearchHandler(Dispatcher(websearch, running, searched, Cancellations(running, shared.bus).cancel))
    settings = hosted_settings(config, websearch, index_alone, searched)
    hosted, tool_servers = HostedSearch(completions, settings), hosted_mcp(config, settings.tools, resources)
    chat = ChatHandler(completions, ocr, hosted, files)
    answers = HostedResponses(hosted, tool_servers)
    responses = response_parts(config, shared, completions, answers, files, budgets.tokens)
    messages, embeddings = MessagesHandler(completions, hosted, files), EmbeddingsHandler(completions)
    handlers = Handlers(mcp, chat, responses, messages, embeddings, ModelsHandler(completions))
    table = endpoint_table(config.server.base_path, handlers, [socket_row(responses.sockets)])
    certificate = CertificateWatch(config.server.tls)
    server = replace(
        _server_state(config, table, sanitizer, shared, metrics, completions),
        budgets=budgets,
        notes=lambda: [
            *shared.notes(),
            *completions.notes(),
            *filter(None, [deps.index.problem, certificate.problem()]),
        ],
    )
    app = application(server, config.server.max_body_bytes)
    sampler = Sampler(server, shared, completions, deps.index)
    app[CONSOLE_API] = _console_api(config, server, handlers, sampler, websearch)
    app[RUNS] = responses.runs
    app.cleanup_ctx.append(_start_and_close(shared, sampler, vectors, responses.runs, resources))
    return app


def build_ops_app(
    app: web.Application, waiting: Callable[[], list[str]], hosts: Collection[str] = (), metrics_folder: str = ""
) -> web.Application:
    """The operations pages (health, readiness, metrics, documentation) for an application of `build_app`.

    `waiting` names what is not ready yet; none means ready. `hosts`: names of the listener beside loopback's.
    `metrics_folder` holds the metrics that several workers share; empty with one worker.
    """
    openapi = partial(document, app[CONSOLE_API][SERVER_STATE].endpoints.rows, _CONSOLE_PATH)
    app[SERVER_STATE].metrics.folder = metrics_folder
    ops = OpsPages(app[SERVER_STATE], waiting, hosts, openapi).app()
    ops.add_subapp(_CONSOLE_PATH, app[CONSOLE_API])
    return ops


def _console_api(
    config: Config, server: ServerState, handlers: Handlers, sampler: Sampler, tools: WebTools
) -> web.Application:
    """The product routes and the console's data, below `/api` of the ops listener: a page there needs no other origin.
    The base path is for proxies before the product listener, so there is none here."""
    shared = sampler.shared
    admin = AdminHandler(shared.history, shared.usage_reader, config, tools, sampler.upstreams)
    keys = AdminKeysHandler(registry_of(config))
    table = endpoint_table("", handlers, admin_rows(admin, keys), mounted_at=_CONSOLE_PATH)
    return same_application(replace(server, endpoints=table, origin_is_checked=True), config.server.max_body_bytes)


def _server_state(
    config: Config,
    endpoints: EndpointTable,
    sanitizer: Sanitizer,
    shared: SharedParts,
    metrics: Metrics,
    completions: CompletionService,
) -> ServerState:
    """The state that the middlewares share."""
    return ServerState(
        endpoints=endpoints,
        in_flight=InFlight(config.server.max_in_flight, config.limits.in_flight_share),
        keys=shared.keys,
        bad_keys=shared.bad_keys,
        limiter=shared.limiter,
        sanitizer=sanitizer,
        metrics=metrics,
        recorder=Recorder(metrics, shared.usage, shared.history if config.ops.port else None),
        allowed_origins=frozenset(config.server.allowed_origins),
        local_origins=config.server.local_origins,
        own_url=config.server.url,
        console_url=config.ops.url,
        body_timeout_s=config.server.body_timeout_s,
        json_limits=JsonLimits(
            config.server.max_text_bytes, config.server.max_json_values, config.server.max_json_numbers
        ),
        address_of=client_address(config.server.trusted_proxies),
        carried_names=partial(carried_names, shared.sealer),
        people=People(completions.digest).of,
    )


def _start_and_close(
    shared: SharedParts, sampler: Sampler, vectors: PassageVectors | None, runs: Runs, resources: AsyncExitStack
) -> Callable[[web.Application], AsyncIterator[None]]:
    async def lifetime(app: web.Application) -> AsyncIterator[None]:
        await shared.start()
        sampler.start()
        if vectors is not None:
            vectors.start()
        yield
        await runs.close()
        await sampler.close()
        app[SERVER_STATE].recorder.flush()  # what was used is written when the rest closes
        await resources.aclose()

    return lifetime
