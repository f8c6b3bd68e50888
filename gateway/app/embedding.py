"""Composition of the embedded embedding model: one process, for the search index's vectors and for callers' texts."""

import sys
from contextlib import AsyncExitStack
from typing import cast

from gateway.config.settings import Config
from gateway.engines.embedding.embedder import LocalEmbedder
from gateway.engines.embedding.model_file import is_installed
from gateway.engines.embedding.process import EmbeddingProcess
from gateway.engines.index.port import Index
from gateway.engines.index.vectors import PassageVectors, VectorStore

_WORKER = (sys.executable, "-m", "gateway.engines.index.vector_worker")


def local_embedder(resources: AsyncExitStack) -> LocalEmbedder:
    """Embeds texts in a process that is started at the first one."""
    process = EmbeddingProcess(_WORKER)
    resources.push_async_callback(process.close)
    return LocalEmbedder(process)


def passage_vectors(
    config: Config, index: Index, embedder: LocalEmbedder, resources: AsyncExitStack
) -> PassageVectors | None:
    """The vectors of the local index; None when it is not searched, or not by vectors."""
    is_searched = "local" in (config.search.provider, *config.search.fallback)
    if config.search.semantic == "off" or not is_searched or not is_installed():
        return None
    store = cast(VectorStore, index)  # both implementations are
    vectors = PassageVectors(store, embedder.process)
    store.on_stored = vectors.wake
    resources.push_async_callback(vectors.close)
    return vectors
