"""The search index in PostgreSQL beside the one in SQLite: the same pages, the same questions, by words.

`python -m bench.index_backends --set FOLDER [--docs /] [--url postgresql://…] [--pages N]`. Without `--url` a server of
its own is started. `--pages` takes the pages that answer questions and others at even distances, N in all. Printed:
MRR@10 of both, the mean overlap of their first ten results, how many questions have equal results, and milliseconds of
a search at the median and the 95th percentile.
"""

import asyncio
import contextlib
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.documentation import (
    MarkdownPage,
    SourcePage,
    argument_parser,
    find_pages,
    page_url,
    read_json,
    to_markdown,
    work_folder,
)
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.port import Index
from gateway.engines.index.postgres_index import PostgresIndex
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex
from tests.support.postgres import postgres_server

_PROCESSES = 2


def sample(pages: list[SourcePage], questions: list[dict[str, Any]], count: int) -> list[SourcePage]:
    """The pages that answer, and others at even distances, `count` in all; all for 0."""
    if not count or count >= len(pages):
        return pages
    right = {page_url(each["site"], page) for each in questions for page in each["pages"]}
    answering = [page for page in pages if page.url in right]
    others = [page for page in pages if page.url not in right]
    step = max(1, len(others) // max(1, count - len(answering)))
    return answering + others[::step][: max(0, count - len(answering))]


def _read_page(page: SourcePage) -> MarkdownPage:
    return MarkdownPage(page, *to_markdown(page.file.read_bytes(), page.url))


async def results(index: Index, questions: list[dict[str, Any]]) -> tuple[list[list[str]], list[float]]:
    """The addresses found for each question, and the seconds of each search, the second time it is asked."""
    found, times = [], []
    for question in questions:
        query = IndexQuery(question["query"], ("",), passages=10)
        await index.search(query)
        start = time.perf_counter()
        found.append([hit.url for hit in await index.search(query)])
        times.append(time.perf_counter() - start)
    return found, times


def reciprocal(question: dict[str, Any], found: list[str]) -> float:
    right = {page_url(question["site"], page) for page in question["pages"]}
    return next((1 / place for place, url in enumerate(found, 1) if url in right), 0.0)


async def measure(pages: list[MarkdownPage], questions: list[dict[str, Any]], url: str) -> None:
    with work_folder() as state:
        indexes: dict[str, Index] = {"SQLite": PageIndex(Path(state) / "index.db"), "PostgreSQL": PostgresIndex(url)}
        rows = [IndexedPage(page.source.url, page.title, page.text) for page in pages if page.text]
        found: dict[str, list[list[str]]] = {}
        for name, index in indexes.items():
            start = time.perf_counter()
            problem = await index.add(rows)
            if problem:
                raise SystemExit(problem)
            filled = time.perf_counter() - start
            found[name], times = await results(index, questions)
            quality = statistics.mean(map(reciprocal, questions, found[name]))
            p50, p95 = statistics.median(times) * 1000, statistics.quantiles(times, n=20)[-1] * 1000
            print(f"{name}: {len(rows)} pages in {filled:.0f} s, MRR@10 {quality:.3f}, {p50:.0f} and {p95:.0f} ms")
            await index.close()
    pairs = list(zip(*found.values(), strict=True))
    overlap = statistics.mean(len({*one} & {*other}) / max(len(one), 1) for one, other in pairs)
    print(f"overlap of the first ten {overlap:.3f}; equal results {sum(a == b for a, b in pairs)} of {len(pairs)}")


def main(argv: list[str] | None = None) -> int:
    parser = argument_parser(__doc__)
    parser.add_argument("--url", help="a database that may be filled; default: a server of its own")
    parser.add_argument("--pages", type=int, default=0, help="default: all")
    options = parser.parse_args(argv)
    if options.set is None:
        print("index_backends: skipped, needs --set")
        return 0
    questions = read_json(options.set, "questions.json")
    sources = sample(find_pages(options.set, options.docs), questions, options.pages)
    with ProcessPoolExecutor(_PROCESSES) as processes:
        pages = list(processes.map(_read_page, sources, chunksize=8))
    with contextlib.ExitStack() as resources:
        url = options.url or resources.enter_context(postgres_server()).url
        asyncio.run(measure(pages, questions, url))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
