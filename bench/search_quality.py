"""Quality of the local search over real documentation, with plain FTS5 bm25 over the same pages beside it.

`python -m bench.search_quality --set FOLDER [--docs /] [--semantic] [--state DIR]`. The set has `questions.json`
(`[{query, kind, site, pages: [path], passage}]`) and `off_topic.json` (`[query]`). Printed by kind of question:
the share of questions whose first right page is first (hit@1) or among three (hit@3), the mean of 1/rank within ten
(MRR@10), and the share whose passage stands word for word in the excerpts of the first three results.
An off-topic query counts as recognised when nothing is found or no score reaches `WEAK_SCORE`; a question whose best
score does not reach it is called off-topic wrongly. `--semantic` ranks by vectors as well, which takes a quarter of an
hour of CPU for 3,400 pages; `--state` keeps the index for the next run.
"""

import asyncio
import contextlib
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.documentation import MarkdownPage, argument_parser, page_url, read_json, read_pages, work_folder
from gateway.domain import SearchRequest, WebCall
from gateway.engines.embedding.embedder import EmbeddingProcess
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vectors import PassageVectors

WEAK_SCORE = 0.3
"""Chosen: a caller that drops results below it, as clients of scored search APIs do, would see none of them."""
_PAGES_AT_ONCE = 200
_CALL = WebCall("bench", "bench")
_LINK_TARGETS = re.compile(r"\]\([^)\s]*\)")
_STOP_WORDS = frozenset(
    {
        "a", "about", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has", "have",
        "how", "i", "in", "into", "is", "it", "me", "my", "not", "of", "on", "or", "should", "so", "than", "that",
        "the", "then", "there", "this", "to", "was", "what", "when", "where", "which", "why", "will", "with",
        "without", "you",
    }
)  # fmt: skip

Found = list[tuple[str, str]]
"""`(address, excerpt)` of each result, best first."""
Ask = Callable[[str], Awaitable[Found]]


@dataclass(frozen=True, slots=True)
class Score:
    """One question: `rank` of the first right page from 1, 0 for none; `quoted`: its passage was in an excerpt."""

    kind: str
    rank: int
    quoted: bool


def squeeze(text: str) -> str:
    """Letters and digits alone, in lower case: Markdown marks, link targets, spaces and punctuation do not count."""
    return "".join(re.findall(r"[^\W_]+", _LINK_TARGETS.sub("", text).lower()))


def score(question: dict[str, Any], found: Found) -> Score:
    right = {page_url(question["site"], page) for page in question["pages"]}
    rank = next((place for place, (url, _) in enumerate(found, 1) if url in right), 0)
    passage = squeeze(question["passage"])
    return Score(question["kind"], rank, any(passage in squeeze(excerpt) for _, excerpt in found[:3]))


def show(title: str, scores: list[Score], *, excerpts: bool) -> None:
    print(f"\n{title}\n{'kind':10} {'n':>4} {'hit@1':>7} {'hit@3':>7} {'MRR@10':>7} {'passage in top 3':>17}")
    for kind in (*dict.fromkeys(each.kind for each in scores), "all"):
        rows = [each for each in scores if kind in ("all", each.kind)]
        shares = [
            sum(each.rank == 1 for each in rows), sum(1 <= each.rank <= 3 for each in rows),
            sum(1 / each.rank for each in rows if each.rank),
        ]  # fmt: skip
        quoted = f"{sum(each.quoted for each in rows) / len(rows):.3f}" if excerpts else "-"
        print(f"{kind:10} {len(rows):4} " + " ".join(f"{each / len(rows):7.3f}" for each in shares) + f" {quoted:>17}")


def local_search(search: LocalSearch, depth: str) -> Ask:

    async def ask(query: str) -> Found:
        answer = await search.search(SearchRequest(query, search_depth=depth), _CALL)
        return [(each["url"], each["content"]) for each in answer["results"]]

    return ask


class PlainFts:
    """What SQLite alone finds: the same titles and texts, the porter stemmer, bm25 with a title weight of four."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, body, tokenize='porter')")

    def add(self, pages: Iterable[MarkdownPage]) -> None:
        self._db.executemany("INSERT INTO pages VALUES (?, ?, ?)", ((p.source.url, p.title, p.text) for p in pages))

    async def ask(self, query: str) -> Found:
        words = re.findall(r"\w+", query.lower())
        match = " OR ".join(f'"{word}"' for word in [each for each in words if each not in _STOP_WORDS] or words)
        rows = self._db.execute(
            "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 4, 1) LIMIT 10", (match,)
        )
        return [(url, "") for (url,) in rows]


async def fill(folder: Path, docs: Path, index: PageIndex, plain: PlainFts) -> int:
    """Reads the set into both. Returns the number of pages with text."""
    pages = [page for page in read_pages(folder, docs) if page.text]
    plain.add(pages)
    if (await index.stats())["pages"]:
        return len(pages)
    for at in range(0, len(pages), _PAGES_AT_ONCE):
        part = pages[at : at + _PAGES_AT_ONCE]
        problem = await index.add([IndexedPage(page.source.url, page.title, page.text) for page in part])
        if problem:
            raise SystemExit(f"the index did not take the pages: {problem}")
    return len(pages)


@contextlib.asynccontextmanager
async def embedding(index: PageIndex) -> AsyncIterator[PassageVectors]:
    """The vectors of the index, those that are missing made first."""
    process = EmbeddingProcess((sys.executable, "-m", "gateway.engines.index.vector_worker"))
    vectors = PassageVectors(index, process)
    try:
        await vectors.fill()
        yield vectors
    finally:
        await vectors.close()
        await process.close()


async def measure(folder: Path, docs: Path, state: Path, *, semantic: bool) -> None:
    index, plain = PageIndex(state / "index.db"), PlainFts()
    questions, off_topic = read_json(folder, "questions.json"), read_json(folder, "off_topic.json")
    async with contextlib.AsyncExitStack() as resources:
        resources.push_async_callback(index.close)
        print(f"{await fill(folder, docs, index, plain)} pages")
        words = LocalSearch(index)
        rankings = [("local search, depth basic", words, "basic"), ("local search, depth fast", words, "fast")]
        if semantic:
            vectors = await resources.enter_async_context(embedding(index))
            rankings.append(("local search with vectors, depth basic", LocalSearch(index, vectors), "basic"))
        for title, search, depth in rankings:
            await show_questions(title, local_search(search, depth), questions, excerpts=True)
            await show_off_topic(search, off_topic, questions)
        await show_questions("plain FTS5 bm25", plain.ask, questions, excerpts=False)


async def show_questions(title: str, ask: Ask, questions: list[dict[str, Any]], *, excerpts: bool) -> None:
    """All questions, and every third one, which no weight was chosen on."""
    scores = [score(question, await ask(question["query"])) for question in questions]
    show(title, scores, excerpts=excerpts)
    show(f"{title}: every third question alone", scores[2::3], excerpts=excerpts)


async def show_off_topic(search: LocalSearch, off_topic: list[str], questions: list[dict[str, Any]]) -> None:
    counts = []
    for queries in (off_topic, [each["query"] for each in questions]):
        answers = [await search.search(SearchRequest(query), _CALL) for query in queries]
        counts.append(sum(all(each["score"] < WEAK_SCORE for each in answer["results"]) for answer in answers))
    print(
        f"\ncalled off-topic: {counts[0]} of {len(off_topic)} such queries, {counts[1]} of {len(questions)} questions"
    )


def main(argv: list[str] | None = None) -> int:
    parser = argument_parser(__doc__)
    parser.add_argument("--semantic", action="store_true", help="by vectors as well; needs the extra 'semantic'")
    parser.add_argument("--state", type=Path, help="where the index is kept; default: nowhere")
    options = parser.parse_args(argv)
    if options.set is None:
        print("search_quality: skipped, needs --set")
        return 0
    with work_folder() as state:
        folder = options.state or Path(state)
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(measure(options.set, options.docs, folder, semantic=options.semantic))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
