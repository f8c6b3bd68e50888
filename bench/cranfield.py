"""Quality and speed of the local search index on the Cranfield collection.

`python -m bench.cranfield [--data DIR] [--semantic]` prints nDCG@10 (gain 5 minus the judged code) and queries per
second, with `--semantic` by vectors as well.
DIR holds cranfield/cran.all.1400, cran.qry and cranqrel.
"""

import argparse
import asyncio
import math
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from gateway.engines.embedding.embedder import EmbeddingProcess
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.rows import IndexedPage
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vectors import PassageVectors


def documents(text: str) -> list[tuple[int, str, str]]:
    """(number, title, text) of each abstract."""
    out = []
    for entry in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]:
        number = int(entry.split("\n", 1)[0])
        title = re.search(r"^\.T\n(.*?)^\.A", entry, re.MULTILINE | re.DOTALL)
        body = re.search(r"^\.W\n(.*)", entry, re.MULTILINE | re.DOTALL)
        out.append((number, " ".join(title[1].split()) if title else "", " ".join(body[1].split()) if body else ""))
    return out


def queries(text: str) -> list[str]:
    return [" ".join(entry.split(".W", 1)[1].split()) for entry in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]]


def judgements(text: str) -> dict[int, dict[int, int]]:
    """Query (by position) -> document -> gain. The collection's 1 is best, 4 least; -1 marks the question's source."""
    out: dict[int, dict[int, int]] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 3:
            out.setdefault(int(fields[0]), {})[int(fields[1])] = max(0, 5 - int(fields[2])) if int(fields[2]) > 0 else 0
    return out


def ndcg(found: list[int], gains: dict[int, int], depth: int = 10) -> float:
    got = sum(gains.get(doc, 0) / math.log2(at + 2) for at, doc in enumerate(found[:depth]))
    ideal = sum(gain / math.log2(at + 2) for at, gain in enumerate(sorted(gains.values(), reverse=True)[:depth]))
    return got / ideal if ideal else 0.0


async def measure(folder: Path, *, semantic: bool) -> dict[str, float]:
    docs = documents((folder / "cran.all.1400").read_text(errors="replace"))
    asked = queries((folder / "cran.qry").read_text(errors="replace"))
    gains = judgements((folder / "cranqrel").read_text(errors="replace"))
    with tempfile.TemporaryDirectory() as state:
        index = PageIndex(Path(state) / "index.db")
        process = EmbeddingProcess((sys.executable, "-m", "gateway.engines.index.vector_worker"))
        vectors = PassageVectors(index, process) if semantic else None
        started = time.perf_counter()
        await index.add([IndexedPage(f"https://cran.test/{n}", title, body) for n, title, body in docs])
        indexed_s = time.perf_counter() - started
        if vectors is not None:
            await vectors.fill()
        scores = []
        started, cpu = time.perf_counter(), time.process_time()
        for at, text in enumerate(asked, 1):
            near = () if vectors is None else tuple(await vectors.nearest(text, ("",), "bench"))
            hits = await index.search(IndexQuery(text, ("",), 10, near=near))
            scores.append(ndcg([int(hit.url.rpartition("/")[2]) for hit in hits], gains.get(at, {})))
        searched_s, searched_cpu_s = time.perf_counter() - started, time.process_time() - cpu
        if vectors is not None:
            await vectors.close()
        await process.close()
        await index.close()
    return {
        "ndcg_at_10": sum(scores) / len(scores),
        "queries_per_s": len(asked) / searched_s,
        "queries_per_cpu_s": len(asked) / searched_cpu_s,
        "pages_indexed_per_s": len(docs) / indexed_s,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--semantic", action="store_true", help="by vectors as well; needs the extra 'semantic'")
    options = parser.parse_args(argv)
    folder = options.data / "cranfield"
    if not folder.is_dir():
        print(f"cranfield: skipped, no data at {folder}")
        return 0
    for name, value in asyncio.run(measure(folder, semantic=options.semantic)).items():
        print(f"cranfield {name}: {value:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
