"""The embedding process of a gateway with a search index: embeds texts, and finds the passages nearest to a query.

`python -m gateway.engines.index.vector_worker`; protocol: see `engines.embedding.worker`.
"""

from pathlib import Path

from gateway.domain import Json
from gateway.engines.embedding.encoder import Encoder
from gateway.engines.embedding.model_file import MODEL_VERSION
from gateway.engines.embedding.worker import Job, embed_jobs, serve
from gateway.engines.index.nearest import NearestPassages


def index_jobs(encoder: Encoder) -> dict[str, Job]:
    """Those of every embedding process, and `nearest`: `{index, text, owners, count, max_tokens}` to `{found}`, a list
    of passages and cosines, nearest first. `index` is the path of the index's file, the same one in every job."""
    indexes: dict[str, NearestPassages] = {}

    def nearest(job: Json) -> tuple[Json, bytes]:
        path: str = job["index"]
        if path not in indexes:
            indexes.clear()
            indexes[path] = NearestPassages(Path(path), MODEL_VERSION)
        vectors, _, _ = encoder.encode([job["text"]], job["max_tokens"])
        return {"found": indexes[path].find(vectors[0], job["owners"], job["count"])}, b""

    return {**embed_jobs(encoder), "nearest": nearest}


if __name__ == "__main__":
    serve(index_jobs)
