"""The search index in PostgreSQL, on a real server: the same pages and ranking as in SQLite, outages, two gateways."""

import asyncio
import itertools
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gateway.domain import Progress, SearchRequest, WebCall
from gateway.engines.embedding.embedder import MODEL_VERSION, EmbeddingProcess
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.port import Index, copy_pages
from gateway.engines.index.postgres_connections import IndexUnavailable, Times
from gateway.engines.index.postgres_index import PostgresIndex
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vectors import PassageVectors
from gateway.errors import UpstreamUnavailable
from tests.support.gateway_process import run_command
from tests.support.paths import ROOT
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.scripted_embedding import COMMAND

pytestmark = pytest.mark.system

QUICK = Times(connect_s=2, call_s=3.0, retry_s=0.1)
QUERIES = (
    "how do I make a key", "redis limits shared by machines", "cache of searches",
    "what happens when a client leaves", "search.semantic vectors", "masking of streams", "PageIndex", "日本の検索",
    "which upstream is tried next", "readiness note", "the", "rate limit headers", "OCR of a PDF with tables",
    "удаление старого пакета", "wie entferne ich Pakete", "Pakete entfernen",
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as started:
        yield started


@pytest.fixture
def empty(server: PostgresServer) -> PostgresServer:
    tables = "gateway_vectors, gateway_vector_model, gateway_passages, gateway_pages, gateway_index"
    server.sql(f"DROP TABLE IF EXISTS {tables}")
    return server


@asynccontextmanager
async def opened(server: PostgresServer, **more: object) -> AsyncIterator[PostgresIndex]:
    index = PostgresIndex(server.url, **{"times": QUICK, **more})  # type: ignore[arg-type]
    try:
        yield index
    finally:
        await index.close()


@pytest.fixture
async def index(empty: PostgresServer) -> AsyncIterator[PostgresIndex]:
    async with opened(empty) as made:
        yield made


def documents() -> list[IndexedPage]:
    """This project's own documents, one of another key, and one in Japanese."""
    files = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
    pages = [IndexedPage(f"https://docs.test/{file.name}", file.stem, file.read_text()) for file in files]
    pages.append(IndexedPage("https://jp.test/a", "検索", "日本の検索エンジンについて。 " * 9))
    pages.append(IndexedPage("https://ru.test/a", "Пакеты", "Удалить старые пакеты можно одной командой. " * 9))
    pages.append(IndexedPage("https://de.test/a", "Paket", "Wie man ein altes Paket mit dem Befehl entfernt. " * 9))
    pages.append(IndexedPage("https://own.test/a", "Own", "Pages that only one key may see: redis limits.", owner="k1"))
    return pages


async def found(index: Index, text: str, *owners: str) -> list[str]:
    return [hit.url for hit in await index.search(IndexQuery(text, owners or ("",)))]


async def until_found(index: Index, text: str) -> list[str]:
    """What is found once the database can be asked again; fails after 20 s."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await found(index, text)
            except IndexUnavailable:
                await asyncio.sleep(0.05)


NARROWED: tuple[dict[str, Any], ...] = (
    {},
    {"phrases": ("search index",)},
    {"phrases": ("日本",)},
    {"include_domains": ("docs.test",)},
)


async def test_both_stores_rank_the_same_pages_the_same_and_score_them_alike(index: Index, tmp_path: Path) -> None:
    lite = PageIndex(tmp_path / "i.db")
    for each in (lite, index):
        assert await each.add(documents()) is None
    for text, more in itertools.product(QUERIES, NARROWED):
        query = IndexQuery(text, ("", "k1"), passages=3, **more)
        expected, hits = await lite.search(query), await index.search(query)
        if "phrases" in more:  # PostgreSQL counts a phrase as often as the rarest of its words
            assert {hit.url for hit in hits} == {hit.url for hit in expected}, text
            continue
        assert [hit.url for hit in hits] == [hit.url for hit in expected], text
        assert [set(hit.passages) for hit in hits] == [set(hit.passages) for hit in expected], text
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=2e-4), text
    await lite.close()


async def test_pages_are_seen_by_their_owner_and_all_within_the_dates_and_sites_asked_for(index: Index) -> None:
    one = IndexedPage("https://a.test/1", "One", "zebra stripes", owner="k1", published="2024-02-03")
    two = IndexedPage("https://b.test/1", "Two", "zebra stripes", owner="k2")
    pages = [one, two, IndexedPage("https://a_c.test/1", "Three", "zebra stripes")]
    assert await index.add(pages) is None
    assert sorted(await found(index, "zebra", "k1", "")) == ["https://a.test/1", "https://a_c.test/1"]
    assert await found(index, "zebra", "k2") == ["https://b.test/1"]
    assert await found(index, "zebra", "k3") == []
    dated = IndexQuery("zebra", ("k1", ""), start=date(2024, 2, 1), end=date(2024, 2, 5))
    assert [hit.url for hit in await index.search(dated)] == ["https://a.test/1"]
    excluded = IndexQuery("zebra", ("k1", ""), exclude_domains=("a_c.test",))
    assert [hit.url for hit in await index.search(excluded)] == ["https://a.test/1"]
    assert await index.remove("https://a.test/1", "k2") == 0
    assert await index.remove("https://a.test/", "k1") == 1
    assert await found(index, "zebra", "k1") == []


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE gateway_pages; --", "a & | ! <-> b", "\\' : * (", "%s %(x)s ?", "\x00nul\x00", "x" * 5000]
)
async def test_no_text_is_read_as_query_syntax_or_refused(index: Index, text: str) -> None:
    page = IndexedPage(f"https://a.test/{text}", f"T {text}", f"{text} zebra {text} \ud800", favicon=text)
    assert await index.add([page]) is None
    await found(index, text)
    await index.search(IndexQuery(text, ("",), phrases=(text,), include_domains=(text,)))
    assert len(await found(index, "zebra")) == 1


async def test_a_page_is_replaced_and_age_and_number_of_pages_are_bounded(empty: PostgresServer) -> None:
    now = time.time()
    async with opened(empty, max_pages=30, ttl_days=30) as index:
        old = IndexedPage("https://a.test/old", "Old", "ancient zebra", fetched_at=now - 40 * 86_400)
        assert await index.add([old]) is None
        assert await found(index, "zebra") == []
        pages = [IndexedPage(f"https://a.test/{n}", "", f"lion {n}", fetched_at=now + n) for n in range(500)]
        assert await index.add(pages) is None
        assert (await index.stats())["pages"] == 30
        assert await found(index, "lion") and not await found(index, "ancient")
        assert await index.add([IndexedPage("https://a.test/499", "", "tiger now", fetched_at=now)]) is None
        assert await found(index, "tiger") == ["https://a.test/499"]
        assert "https://a.test/499" not in await found(index, "lion")


async def test_a_database_killed_in_the_middle_is_told_and_used_again_when_it_is_back(
    empty: PostgresServer, index: PostgresIndex, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    search = LocalSearch(index)
    assert await index.add([IndexedPage("https://a.test/1", "One", "zebra")]) is None
    flood = [IndexedPage(f"https://a.test/f{n}", "", f"flood {n} " * 200) for n in range(5_000)]
    writing = asyncio.create_task(index.add(flood))
    async with asyncio.timeout(20):
        while not await found(index, "flood"):
            pass
    await asyncio.to_thread(empty.kill)
    problem = await asyncio.wait_for(writing, 20)
    assert problem is not None and "the index's database" in problem and "postgresql" not in problem
    with pytest.raises(UpstreamUnavailable) as failure:
        await search.search(SearchRequest("zebra"), WebCall("k1", "k1"))
    assert failure.value.retryable and "ask again later" in failure.value.message
    async with asyncio.timeout(QUICK.connect_s):  # while it is away nobody waits for it
        with pytest.raises(IndexUnavailable):
            await found(index, "zebra")
    problem = (await index.stats())["error"]
    assert problem is not None and problem == index.problem
    await asyncio.to_thread(empty.start)
    assert await until_found(index, "zebra") == ["https://a.test/1"]
    assert (await index.stats())["error"] is None
    assert (await index.add([IndexedPage("https://a.test/2", "", "lion")])) is None
    events = [record.message for record in caplog.records if record.message.startswith("index_")]
    assert events == ["index_unavailable", "index_available"], "one line each"


async def test_a_silent_database_holds_nobody_for_long_and_comes_back(empty: PostgresServer, index: Index) -> None:
    assert await index.add([IndexedPage("https://a.test/1", "One", "zebra")]) is None
    empty.pause()
    try:
        async with asyncio.timeout(QUICK.call_s + 3):
            with pytest.raises(IndexUnavailable):
                await found(index, "zebra")
    finally:
        empty.resume()
    assert await until_found(index, "zebra") == ["https://a.test/1"]


async def test_a_cancelled_call_frees_its_connection_and_ends_its_statement(
    empty: PostgresServer, index: PostgresIndex
) -> None:
    assert await index.add([IndexedPage("https://a.test/1", "One", "zebra")]) is None
    sleeps = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'"
    run = index._connections.run
    calls = [asyncio.create_task(run(lambda each: each.execute(b"SELECT pg_sleep(60)"))) for _ in range(4)]
    async with asyncio.timeout(20):
        while await asyncio.to_thread(empty.sql, sleeps) != "4":
            pass
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert await found(index, "zebra") == ["https://a.test/1"]
        while await asyncio.to_thread(empty.sql, sleeps) != "0":
            pass


async def test_two_gateways_fill_one_index_with_the_same_pages_at_once(empty: PostgresServer) -> None:
    async with opened(empty, max_pages=40) as one, opened(empty, max_pages=40) as other:
        pages = [IndexedPage(f"https://a.test/{n % 60}", "", f"zebra {n} " * 50) for n in range(240)]
        results = await asyncio.gather(*(index.add(part) for index in (one, other) for part in (pages, pages[::-1])))
        assert results == [None] * 4
        for index in (one, other):
            assert await index.add(pages[:1]) is None
        assert 0 < (await one.stats())["pages"] <= 60
        assert await found(one, "zebra") == await found(other, "zebra") != []
        double = "SELECT count(*) - count(DISTINCT (url, owner)) FROM gateway_pages"
        assert await asyncio.to_thread(empty.sql, double) == "0"
        counted = "(SELECT count(*) FROM gateway_passages WHERE page = p.id)"
        wrong = f"SELECT count(*) FROM gateway_pages AS p WHERE p.passages <> {counted}"
        assert await asyncio.to_thread(empty.sql, wrong) == "0"


async def test_a_newer_gateways_tables_are_left_alone(empty: PostgresServer) -> None:
    empty.sql("CREATE TABLE gateway_index (version integer NOT NULL)")
    empty.sql("INSERT INTO gateway_index VALUES (99)")
    async with opened(empty) as index:
        problem = await index.add([IndexedPage("https://a.test/1", "One", "zebra")])
        assert problem is not None and "newer gateway" in problem
        assert index.problem is not None and "newer gateway" in index.problem


async def test_a_copy_there_and_back_keeps_every_page_owner_and_date(index: PostgresIndex, tmp_path: Path) -> None:
    first, last = PageIndex(tmp_path / "first.db"), PageIndex(tmp_path / "last.db")
    pages = documents()
    await first.add(pages)
    assert await copy_pages(first, index, Progress()) == len(pages)
    assert await copy_pages(index, last, Progress()) == len(pages)
    copied = [page for _, page in await last.pages(0, 1000)]
    assert sorted(copied, key=lambda page: page.url) == sorted(pages, key=lambda page: page.url)
    await first.close()
    await last.close()


def test_the_command_copies_and_the_file_chooses_the_store(empty: PostgresServer, tmp_path: Path) -> None:
    for file, text in (("docs/a.md", "# Zebra\n\nStripes of a zebra.\n"), ("credentials/postgres", empty.url)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    config = tmp_path / "gateway.toml"
    address = 'postgres_url = { credential = "postgres" }\n'
    config.write_text(f"[index]\n{address}")
    place = ["--config", str(config), "--state-dir", str(tmp_path / "state")]
    variables = {"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")}
    assert run_command("index", "add", str(tmp_path / "docs"), *place, env=variables).returncode == 0
    copied = run_command("index", "copy", "--to", "postgres", *place, env=variables)
    assert (copied.returncode, copied.stdout) == (0, "1 pages copied to postgres\n"), copied.stderr
    config.write_text(f'[index]\nbackend = "postgres"\n{address}')
    shown = run_command("index", "stats", *place, env=variables)
    assert "postgres" in shown.stdout and "pages                1\n" in shown.stdout
    (tmp_path / "state" / "index.sqlite3").unlink()
    back = run_command("index", "copy", "--to", "sqlite", *place, env=variables)
    assert (back.returncode, back.stdout) == (0, "1 pages copied to sqlite\n"), back.stderr
    rows = sqlite3.connect(tmp_path / "state" / "index.sqlite3").execute("SELECT title FROM pages").fetchall()
    assert json.dumps(rows) == '[["Zebra"]]'


async def test_passages_have_vectors_and_near_ones_are_found_for_their_owners_alone(empty: PostgresServer) -> None:
    if empty.sql("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'") != "1":
        pytest.skip("this PostgreSQL has no pgvector")
    async with opened(empty) as index:
        process = EmbeddingProcess(COMMAND)
        vectors = PassageVectors(index, process)
        pages = (("mine", "apples", "k1"), ("not", "pears", ""), ("theirs", "secret plums", "k2"))
        await index.add([IndexedPage(f"https://a.test/{name}", name, text, owner) for name, text, owner in pages])
        await vectors.fill()
        assert (await index.stats())["vectors"] == {"model": MODEL_VERSION, "count": 3, "pending": 0}
        near = await vectors.nearest("a text about nothing", ("k1", ""), "k1")
        assert len(near) == 2 and near == sorted(near, key=lambda each: -each[1])
        hits = await index.search(IndexQuery("unknown words", ("k1", ""), near=tuple(near)))
        assert sorted(hit.url for hit in hits) == ["https://a.test/mine", "https://a.test/not"]
        assert await index.remove("https://a.test/mine") == 1
        assert (await index.stats())["vectors"]["count"] == 2
        await vectors.close()
        await process.close()


async def test_an_index_of_version_0_3_is_upgraded_and_its_pages_are_found(empty: PostgresServer) -> None:
    async with opened(empty) as index:
        await index.add(documents())
        expected = await found(index, "how do I make a key")
    empty.sql("DROP TABLE IF EXISTS gateway_vectors, gateway_vector_model")
    empty.sql("ALTER TABLE gateway_passages DROP COLUMN body, DROP COLUMN is_embedded")
    empty.sql("UPDATE gateway_index SET version = 1")
    async with opened(empty) as index:
        assert await found(index, "how do I make a key") == expected


async def test_a_database_that_keeps_bytes_without_an_encoding_is_refused_in_words(server: PostgresServer) -> None:
    server.sql("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    index = PostgresIndex(server.url.replace("/postgres?", "/ascii?"), times=QUICK)
    with pytest.raises(IndexUnavailable, match="make one with ENCODING 'UTF8'"):
        await index.search(IndexQuery("words", ("",)))
    assert "SQL_ASCII" in str(index.problem)
    await index.close()
