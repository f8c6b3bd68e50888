"""Composition of the embedded embedding model: one process, for the search index's vectors and for callers' texts."""

import sys
from contextlib import AsyncExitStack

from gateway.config.settings import Config
from gateway.engines.embedding.embedder import LocalEmbedder
from gateway.engines.embedding.model_file import is_installed
from gateway.engines.embedding.process import EmbeddingProcess
from gateway.engines.index.port import Index
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vectors import PassageVectors

_WORKER = (sys.executable, "-m", "gateway.engines.index.vector_worker")


def local_embedder(resources: AsyncExitStack) -> LocalEmbedder:
    """Embeds texts in a process that is started at the first one."""
    process = EmbeddingProcess(_WORKER)
    resources.push_async_callback(process.close)
    return LocalEmbedder(process)


def passage_vectors(
    config: Config, index: Index, embedder: LocalEmbedder, resources: AsyncExitStack
) -> PassageVectors | None:
    """The vectors of the local index; None when it is not searched, or not by vectors, or is no SQLite file."""
    is_searched = "local" in (config.search.provider, *config.search.fallback)
    if not isinstance(index, PageIndex) or config.search.semantic == "off":
        return None
    if not is_searched or not is_installed():
        return None
    vectors = PassageVectors(index, embedder.process)
    index.on_stored = vectors.wake
    resources.push_async_callback(vectors.close)
    return vectors
