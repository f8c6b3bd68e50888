"""The vectors of passages: made after pages are stored, gone with them, and never a way around who may see a page."""

import asyncio
import math
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.domain import SearchRequest, WebCall
from gateway.engines.embedding.embedder import MODEL_VERSION, EmbeddingProcess, is_installed
from gateway.engines.index.database import STEPS, open_database, upgrade
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vector_rows import adopt_model, store_vectors, unembedded, vector_counts
from gateway.engines.index.vectors import PassageVectors
from tests.support.scripted_embedding import BROKEN, COMMAND
from tests.support.waiting import eventually, until

WAIT_S = 60
MODEL = (sys.executable, "-m", "gateway.engines.index.vector_worker")


@asynccontextmanager
async def opened(
    folder: Path, command: tuple[str, ...] = COMMAND, quiet_s: Callable[[], float] = lambda: math.inf
) -> AsyncIterator[tuple[PageIndex, PassageVectors]]:
    index, process = PageIndex(folder / "i.db"), EmbeddingProcess(command)
    vectors = PassageVectors(index, process, quiet_s)
    index.on_stored = vectors.wake
    try:
        yield index, vectors
    finally:
        async with asyncio.timeout(WAIT_S):
            await vectors.close()
            await index.close()
            await process.close()


def page(name: str, text: str, owner: str = "key1") -> IndexedPage:
    return IndexedPage(f"https://a.test/{name}", name, text, owner, hash=str(hash(text)))


async def filled(index: PageIndex, count: int) -> None:
    """Waits until so many vectors are there and none is missing."""

    async def is_so() -> bool:
        return {"count": count, "pending": 0}.items() <= (await index.read(vector_counts)).items()

    await eventually(is_so, WAIT_S)


async def ids(index: PageIndex) -> list[int]:
    rows = await index.read(lambda connection: connection.execute("SELECT id FROM vectors").fetchall())
    return [row[0] for row in rows]


async def found(index: PageIndex, vectors: PassageVectors, text: str) -> list[str]:
    """The names of the pages that a search of the first key finds."""
    answer = await LocalSearch(index, vectors).search(SearchRequest(text), WebCall("key1", "r"))
    return [each["url"].removeprefix("https://a.test/") for each in answer["results"]]


@pytest.mark.slow
async def test_stored_pages_have_vectors_soon_and_lose_them_when_they_are_removed_or_replaced(tmp_path: Path) -> None:
    async with opened(tmp_path) as (index, _):
        await index.add([page("one", "first text"), page("two", "second text")])
        await filled(index, 2)
        assert (await index.stats())["vectors"] == {"model": MODEL_VERSION, "count": 2, "pending": 0}
        await index.remove("https://a.test/one")
        await index.add([page("three", "third text")])  # what is gone is deleted beside later writes
        await filled(index, 2)
        before = await ids(index)
        await index.add([page("two", "another text")])
        await filled(index, 2)
        assert await ids(index) != before


@pytest.mark.slow
async def test_vectors_wait_while_pages_are_read_and_words_find_the_page_meanwhile(tmp_path: Path) -> None:
    quiet_s, looks = 0.0, 0

    def quiet() -> float:
        nonlocal looks
        looks += 1
        return quiet_s

    async with opened(tmp_path, quiet_s=quiet) as (index, vectors):
        await index.add([page("one", "first text")])
        await until(lambda: looks > 2, WAIT_S)
        assert (await index.read(vector_counts))["pending"] == 1
        assert await found(index, vectors, "first text") == ["one"]
        quiet_s = 60.0
        await filled(index, 1)


@pytest.mark.slow
async def test_due_vectors_are_made_beside_pages_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.engines.index.vectors._LATEST_S", 0.1)
    async with opened(tmp_path, quiet_s=lambda: 0.0) as (index, _):
        await index.add([page("one", "first text")])
        await filled(index, 1)


@pytest.mark.slow
async def test_passages_that_waited_for_a_restart_have_vectors_soon_after_it(tmp_path: Path) -> None:
    earlier = PageIndex(tmp_path / "i.db")
    await earlier.add([page("one", "first text")])
    await earlier.close()
    async with opened(tmp_path) as (index, vectors):
        vectors.start()
        await filled(index, 1)


async def test_a_server_without_an_index_begins_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, vectors):
        vectors.start()
        (tmp_path / "i.db").touch()
        vectors.start()
        assert vectors._task is None


async def test_an_index_without_vectors_says_nothing_of_them(index: PageIndex) -> None:
    await index.add([page("one", "first text")])
    assert "vectors" not in await index.stats()


@pytest.mark.slow
async def test_pages_are_stored_and_found_while_no_vector_can_be_made(tmp_path: Path) -> None:
    async with opened(tmp_path, BROKEN) as (index, vectors):
        assert await index.add([page("one", "quick brown fox")]) is None
        assert await found(index, vectors, "quick fox") == ["one"]
        await until(lambda: vectors.problem is not None, WAIT_S)
        assert (await index.stats())["vectors"]["pending"] == 1


@pytest.mark.slow
async def test_a_text_on_which_the_model_fails_keeps_no_other_from_its_vector(tmp_path: Path) -> None:
    async with opened(tmp_path) as (index, _):
        await index.add([page("one", "good text"), page("two", "fail here"), page("three", "more text")])
        await filled(index, 2)


@pytest.mark.slow
async def test_vectors_of_another_model_are_made_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (index, vectors):
        await index.add([page(str(number), f"text {number}") for number in range(5)])
        await filled(index, 5)
        await index.write(lambda connection: adopt_model(connection, "another"))
        assert await index.read(vector_counts) == {"model": "another", "count": 0, "pending": 5}
        vectors.wake()
        await filled(index, 5)
        assert (await index.read(vector_counts))["model"] == MODEL_VERSION


@pytest.mark.slow
async def test_two_makers_of_one_file_do_not_do_the_work_twice(tmp_path: Path) -> None:
    async with opened(tmp_path) as (index, _), opened(tmp_path) as (other, others):
        await index.add([page("one", "first text")])
        await filled(index, 1)
        others.wake()
        await other.add([page("two", "second text")])
        await filled(other, 2)
        assert max(await ids(other)) == 2, "a vector was made twice"


async def test_nobody_else_can_hold_the_locks_of_an_index(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "i.sqlite3.vectors-lock"
    lock.parent.mkdir(mode=0o755)
    lock.touch(mode=0o644)  # as 0.4 has made it
    for path in (lock.with_name("i.sqlite3"), tmp_path / "made" / "i.sqlite3"):
        index = PageIndex(path, max_pages=9, ttl_days=9)
        assert await index.claim_vectors() and await index.add([IndexedPage("https://a.test/", "a", "b")]) is None
        await index.close()
        assert {each.stat().st_mode & 0o777 for each in path.parent.glob("*lock")} == {0o600}
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700


async def test_a_vector_of_a_text_that_has_changed_is_not_stored(index: PageIndex) -> None:
    await index.add([page("one", "first text")])
    old = await index.read(lambda connection: unembedded(connection, 10))
    await index.add([page("one", "second text")])
    await index.write(lambda connection: store_vectors(connection, [(old[0], b"x" * 388)]))
    assert await index.read(vector_counts) == {"model": None, "count": 0, "pending": 1}


async def test_near_passages_of_another_key_are_not_found(index: PageIndex) -> None:
    await index.add([page("mine", "apples"), page("theirs", "secret pears", "key2"), page("all", "shared plums", "")])
    near = await index.read(lambda connection: connection.execute("SELECT id FROM passages").fetchall())
    every = tuple((row[0], 0.9) for row in near)
    hits = await index.search(IndexQuery("unknown words", ("key1", ""), near=every))
    assert sorted(hit.url for hit in hits) == ["https://a.test/all", "https://a.test/mine"]
    assert not await index.search(IndexQuery("unknown words", ("key1", ""), near=every, exclude_domains=("a.test",)))


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the semantic extra is not installed")
async def test_a_paraphrase_is_found_by_its_meaning_for_its_owner_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, MODEL) as (index, vectors):
        stash = "Record the current state of the working directory and the index, and go back to a clean working tree."
        others = [page(f"o{number}", f"Bread number {number} rises in a warm oven.") for number in range(20)]
        await index.add([page("stash", stash, "key2"), page("stash", stash), *others])
        await filled(index, 22)
        question = "put half-finished edits aside for later"
        names = await found(index, vectors, question)
        assert names[0] == "stash" and len(set(names)) == len(names)
        await index.remove("https://a.test/stash", "key1")
        assert "stash" not in await found(index, vectors, question)
        await index.remove("https://a.test/stash", "key2")
        assert await found(index, vectors, "東京の天気") == [], "the model reads no Japanese"


def test_an_older_file_gains_vectors_and_keeps_its_passages(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "i.db", isolation_level=None)
    upgrade(old, STEPS[:3])
    old.execute("INSERT INTO passages (page, first, last, headings) VALUES (1, 0, 1, '')")
    old.close()
    connection = open_database(tmp_path / "i.db")
    assert vector_counts(connection) == {"model": None, "count": 0, "pending": 1}
    connection.close()
