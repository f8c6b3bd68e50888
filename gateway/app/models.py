"""Composition of the model table: configured upstreams, then the embedded engines, the guardrail model, and the
embedded embedding model, one process for the search index's vectors and for callers' texts.
"""

import sys
import time
from collections.abc import Container
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from typing import cast

from gateway.access.private_files import USER_HASH_KEY, load_or_create_secret
from gateway.config.settings import Config, Model, Upstream
from gateway.domain import EMBEDDING_MODEL, OCR_MODEL, OCR_MODEL_ALIAS, TEXT_MODEL
from gateway.embedded.llm_server import CONTEXT_TOKENS
from gateway.embedded.servers import Embedded, EmbeddedUpstream
from gateway.engines.crawl.engine import EngineDeps
from gateway.engines.embedding.embedder import EmbeddingProcess, LocalEmbedder, is_installed
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.index.vectors import PassageVectors, VectorStore
from gateway.ports import CompletionUpstream, PagePictures
from gateway.providers.local_embeddings import LocalEmbeddings
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.providers.wrappers import (
    ChatOverResponses,
    FanOutUpstream,
    OnDemandUpstream,
    QueuedUpstream,
    queued_as_configured,
)
from gateway.sanitize.guardrail import Guardrail
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.service import CompletionService, OwnModel
from gateway.services.hosted_tools.model_without_calls import ForcedCalls
from gateway.services.ocr.documents import DocumentLimits, Documents
from gateway.services.ocr.images import ImageLoader, PixelWork
from gateway.services.ocr.service import OcrService
from gateway.services.ocr.upstream import OcrAdapter
from gateway.wire.chat.presets import rules_of
from gateway.wire.chat.request import UpstreamOptions

_WORKER = (sys.executable, "-m", "gateway.engines.index.vector_worker")


def local_embedder(resources: AsyncExitStack) -> LocalEmbedder:
    """Embeds texts in a process that is started at the first one."""
    process = EmbeddingProcess(_WORKER)
    resources.push_async_callback(process.close)
    return LocalEmbedder(process)


def passage_vectors(
    config: Config, deps: EngineDeps, embedder: LocalEmbedder, resources: AsyncExitStack
) -> PassageVectors | None:
    """The vectors of the local index, made while no page is read; None when it is not searched, or not by vectors."""
    is_searched = "local" in (*config.search.providers, *config.search.fallback)
    if config.search.semantic == "off" or not is_searched or not is_installed():
        return None
    store = cast(VectorStore, deps.index)  # both implementations are
    vectors = PassageVectors(store, embedder.process, lambda: deps.loader.pool.quiet_s)
    store.on_stored = vectors.wake
    resources.push_async_callback(vectors.close)
    return vectors


OCR_FIRST_BYTE_S, OCR_IDLE_S = 300.0, 120.0
"""Timeouts of the embedded OCR engine."""


def completion_service(
    config: Config, embedded: Embedded, images: Fetcher, resources: AsyncExitStack, embedder: LocalEmbedder
) -> CompletionService:
    """The model table: the configured models, then the embedded engines unless a configured model has their name."""
    rows = [_model(model, resources) for model in config.models if model.upstreams]
    configured = {name for row in rows for name in (row.name, *row.aliases)}
    for name, kind, aliases, upstream in (
        (TEXT_MODEL, "text", (), embedded.llm),
        (OCR_MODEL, "ocr", (OCR_MODEL_ALIAS,), embedded.ocr),
    ):
        if upstream is not None and name not in configured:
            settings = next((model for model in config.models if model.name == name), Model(name))
            free = tuple(alias for alias in (*aliases, *settings.aliases) if alias not in configured)
            target = _embedded_target(kind, upstream, resources)
            length = settings.context_length or (CONTEXT_TOKENS if kind == "text" else 0)
            rows.append(ModelEntry(name, kind, (target,), free, settings.fallback, int(time.time()), length))
    if EMBEDDING_MODEL not in configured and config.local_embedding.enabled and is_installed():
        rows.append(_local_embeddings(config, embedder, configured))
    return CompletionService(rows, images=images, user_key=load_or_create_secret(config.state_dir / USER_HASH_KEY))


def _local_embeddings(config: Config, embedder: LocalEmbedder, configured: Container[str]) -> ModelEntry:
    """The embedded embedding model, with the aliases that it is given and that no other model has."""
    settings = next((model for model in config.models if model.name == EMBEDDING_MODEL), Model(EMBEDDING_MODEL))
    return ModelEntry(
        EMBEDDING_MODEL,
        "embedding",
        (Target(LocalEmbeddings(embedder), UpstreamOptions(embedder.model)),),
        tuple(alias for alias in settings.aliases if alias not in configured),
        settings.fallback,
        int(time.time()),
        embedder.max_tokens,
    )


def image_loader(config: Config, fetcher: Fetcher, pixels: PixelWork) -> ImageLoader:
    """The loader of images for OCR models. Remote upstreams get them upright; the embedded engine turns them itself."""
    if not any(model.kind == "ocr" and model.upstreams for model in config.models):
        return ImageLoader(fetcher)
    return ImageLoader(fetcher, pixels)


def ocr_service(
    config: Config, completions: CompletionService, images: ImageLoader, pictures: PagePictures
) -> OcrService:
    """OCR over chat; `pictures` draws the pages of files."""
    limits = DocumentLimits(config.ocr.max_pages, config.ocr.max_document_bytes, config.ocr.page_timeout_s)
    return OcrService(completions, images, Documents(pictures, limits))


def _model(model: Model, resources: AsyncExitStack) -> ModelEntry:
    targets = []
    for number, settings in enumerate(model.upstreams, 1):
        client = OpenAICompatUpstream(settings.name or f"upstream-{number}", settings)
        resources.push_async_callback(client.close)
        queued = queued_as_configured(client, settings)
        if settings.responses == "native":
            queued = ChatOverResponses(queued)
        upstream = OcrAdapter(queued, image_placeholder=settings.image_placeholder) if model.kind == "ocr" else queued
        options = UpstreamOptions(
            settings.model,
            settings.extra_body,
            settings.json_object,
            accepts_files=settings.accepts_files,
            rules=rules_of(asdict(settings.parameters)),
            one_system=settings.one_system_message,
        )
        native = {"responses": settings.responses, "messages": settings.messages}
        speaks = frozenset(route for route, how in native.items() if how == "native")
        wait_s = settings.first_event_wait_s
        targets.append(Target(upstream, options, settings.weight, speaks, wait_s, client.listed_models))
    created, length = int(time.time()), model.context_length
    return ModelEntry(
        model.name, model.kind, tuple(targets), model.aliases, model.fallback, created, length, lists=model.list_models
    )


def _embedded_target(kind: str, embedded: EmbeddedUpstream, resources: AsyncExitStack) -> Target:
    """An embedded engine as an upstream of the model table."""
    settings = Upstream(embedded.base_url, embedded.model)
    if kind == "ocr":
        settings = replace(settings, first_byte_timeout_s=OCR_FIRST_BYTE_S, idle_timeout_s=OCR_IDLE_S)
    # llama.cpp closes a connection after a stream without saying so; on loopback a new one costs next to nothing.
    client = OpenAICompatUpstream(f"embedded-{kind}", settings, reuses_connections=False)
    queued = QueuedUpstream(client, embedded.queue, settings.first_byte_timeout_s)
    answering: CompletionUpstream = queued if kind == "ocr" else FanOutUpstream(ForcedCalls(queued))
    upstream = OnDemandUpstream(answering, embedded.wake, embedded.fingerprint)
    resources.push_async_callback(client.close)
    served = OcrAdapter(upstream, context_tokens=0, reports=True) if kind == "ocr" else upstream
    return Target(served, UpstreamOptions(embedded.model, has_tools=kind == "ocr"))


def guardrail(config: Config, completions: CompletionService) -> Guardrail:
    """The model that judges what the detectors have masked."""
    settings, model = config.guardrail, config.guardrail_model
    own_model, name = OwnModel(completions, settings.model), model.name if model else settings.model
    endpoint = f"{config.server.url}/v1/chat/completions"
    return Guardrail(settings, own_model, endpoint, name, enabled=not config.guardrail_off)
