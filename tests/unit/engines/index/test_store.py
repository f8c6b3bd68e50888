"""The local index: who finds what, in which order, and what it survives."""

import contextlib
import time
from datetime import date
from pathlib import Path

import pytest

from gateway.engines.index.database import open_database
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.ranking import run
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex

ALL = ("key1", "")
TEXT = "some words that everybody uses"


def stored(name: str, text: str, owner: str = "key1", **more: object) -> IndexedPage:
    return IndexedPage(f"https://{name}", name, text, owner, **more)  # type: ignore[arg-type]


async def found(index: PageIndex, text: str, **more: object) -> list[str]:
    owners = more.pop("owners", ALL)
    hits = await index.search(IndexQuery(text, owners, **more))  # type: ignore[arg-type]
    return [hit.url.removeprefix("https://") for hit in hits]


async def test_words_are_stemmed_ranked_and_never_read_as_query_syntax(index: PageIndex) -> None:
    other = stored("a.test/other", "Cooking soup needs patience and one crawler of a snail.")
    await index.add(
        [stored("a.test/crawling", "A text on crawling the web politely."), other, stored("a.test/0", "No.")]
    )
    assert (await found(index, "how does one crawl the web?"))[0] == "a.test/crawling"
    for odd in ('"unbalanced', "AND OR NOT", "a* NEAR(b", "col:umn ^x", "'; DROP TABLE pages;--", "()", "\x00", "the"):
        await found(index, odd)
    assert await found(index, "zebra") == []


async def test_pages_of_others_change_nothing_of_what_is_found(index: PageIndex, tmp_path: Path) -> None:
    own = [stored(f"a.test/{n}", f"secret {'words ' * n}", owner) for n, owner in enumerate(("key1", "", "key1"), 1)]
    await index.add([*own, stored("b.test/1", "unlike the pages above")])
    alone = await found(index, "secret words")
    with contextlib.closing(open_database(tmp_path / "i.db")) as connection:
        reader = SqliteReader(connection, ALL)  # begins before there are pages of others
        for other in ("a", "z"):  # between and behind in the order of owners
            await index.add([stored("c.test/1", "secret", other)])
            assert await found(index, "secret words") == alone
            await index.remove("https://c.test/1")
        await index.add([stored("c.test/1", "secret", "a")])
        raced = run(reader, IndexQuery("secret words", ALL))
    assert [hit.url.removeprefix("https://") for hit in raced] == alone
    assert len(alone) == 3


async def test_a_file_without_the_index_of_owners_gets_it_and_stays_one_of_its_version(tmp_path: Path) -> None:
    with contextlib.closing(open_database(tmp_path / "i.db")) as connection:
        connection.execute("DROP INDEX pages_by_owner")
        version = connection.execute("PRAGMA user_version").fetchone()
    with contextlib.closing(open_database(tmp_path / "i.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == version
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'pages_by_owner'").fetchone() == (1,)


async def test_pages_are_seen_by_their_owner_and_shared_ones_by_all(index: PageIndex) -> None:
    pages = [stored("a.test/1", "secret plans", "key1"), stored("a.test/2", "secret plans too", "key2")]
    await index.add([*pages, stored("a.test/3", "secret handbook", ""), stored("a.test/3", "secret handbook", "key1")])
    assert sorted(await found(index, "secret")) == ["a.test/1", "a.test/3"]
    assert sorted(await found(index, "secret", owners=("key2", ""))) == ["a.test/2", "a.test/3"]
    assert await found(index, "okey1 6b657931", owners=("key2", "")) == []


async def test_phrases_domains_and_dates_narrow_the_search(index: PageIndex) -> None:
    dated = stored("docs.a.test/1", "the quick brown fox", published="2026-01-05")
    older = stored("a.test/2", "brown quick fox the", published="2025-01-05")
    await index.add([dated, older, stored("nota.test/3", "a quick brown bear", fetched_at=time.time())])
    assert sorted(await found(index, "quick", phrases=("quick brown",))) == ["docs.a.test/1", "nota.test/3"]
    assert sorted(await found(index, "quick", include_domains=("a.test",))) == ["a.test/2", "docs.a.test/1"]
    assert await found(index, "quick", exclude_domains=("a.test",)) == ["nota.test/3"]
    assert await found(index, "quick", start=date(2026, 1, 1), end=date(2026, 1, 31)) == ["docs.a.test/1"]


async def test_an_exact_phrase_is_exact_whatever_the_script(index: PageIndex) -> None:
    exact = stored("a.test/exact", "The **running** dogs of [Paris](https://p.test/) sleep.")
    chinese = [stored("a.test/zh", "网关保护语言模型的安全"), stored("a.test/zh2", "模型的语言: 语言与模型")]
    await index.add([exact, stored("a.test/stem", "To run a dog of Paris sleeping."), *chinese])
    assert await found(index, "x", phrases=("Running dogs",)) == ["a.test/exact"]
    assert await found(index, "x", phrases=("语言模型",)) == ["a.test/zh"]
    for other in (("paris sleep",), ("running dogs", "语言模型"), ('odd " quote',)):
        assert await found(index, "x", phrases=other) == []


async def test_a_page_fetched_again_replaces_its_older_self(index: PageIndex) -> None:
    for text, hash in (("old words", "1"), ("new phrases", "2"), ("new phrases", "2")):
        await index.add([stored("a.test/1", text, hash=hash)])
    assert await found(index, "old") == [] and await found(index, "phrases") == ["a.test/1"]
    assert (await index.stats())["pages"] == 1


async def test_removing_takes_one_page_or_all_below_a_folder(index: PageIndex) -> None:
    await index.add([stored(f"a.test/docs/{n}", "some words", owner) for n in range(3) for owner in ("key1", "")])
    assert await index.remove("https://a.test/docs/0") == 2
    assert await index.remove("https://a.test/docs/") == 4
    assert await found(index, "words") == []


async def test_a_key_finds_its_old_page_among_many_of_others(index: PageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("large", "row_budget"):
        monkeypatch.setattr(SqliteReader, limit, 10)
    await index.add([stored("a.test/mine", TEXT, "few", fetched_at=time.time() - 1_000)])
    await index.add([stored(f"b.test/{n}", TEXT, "many") for n in range(200)])
    assert await found(index, "words everybody uses", owners=("few", "")) == ["a.test/mine"]
    assert len(await found(index, "words everybody uses", owners=("many", ""))) == 10


@pytest.mark.slow
async def test_age_and_number_of_pages_are_bounded(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db", max_pages=100, ttl_days=30)
    await index.add([stored("a.test/ancient", "ancient words", fetched_at=time.time() - 40 * 86_400)])
    await index.add([stored(f"a.test/{n}", "words", fetched_at=time.time() - 1000 + n) for n in range(600)])
    stats = await index.stats()
    await index.close()
    assert 0 < stats["pages"] <= 100 and stats["oldest"] > time.time() - 1000


@pytest.mark.slow
async def test_the_size_of_an_index_counts_what_is_still_in_its_log(index: PageIndex) -> None:
    assert (await index.stats())["bytes"] < 200_000
    await index.add([stored("a.test/long", " ".join(str(number * 7919) for number in range(40_000)))])
    assert (await index.stats())["bytes"] > 400_000


async def test_a_page_past_its_time_is_not_found_even_before_it_is_swept(index: PageIndex, tmp_path: Path) -> None:
    old = stored("a.test/old", "words", fetched_at=time.time() - 40 * 86_400)
    await index.add([old, stored("a.test/new", "words")])
    stricter = PageIndex(tmp_path / "i.db", ttl_days=30)
    assert await found(stricter, "words") == ["a.test/new"]
    await stricter.close()


async def test_a_damaged_file_is_set_aside_and_begun_anew_and_this_is_said(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    path.write_bytes(b"this is no database at all " * 500)
    index = PageIndex(path)
    assert await index.add([stored("a.test/1", "fresh words")]) is None
    assert await found(index, "fresh") == ["a.test/1"]
    stats = await index.stats()
    await index.close()
    assert "set aside" in stats["error"] and sorted(map(str, tmp_path.glob("i.db.damaged-*")))  # noqa: ASYNC240


async def test_damage_inside_a_living_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = PageIndex(path)
    await index.add([stored(f"a.test/{n}", f"words number{n} " * 200) for n in range(300)])
    await index.close()
    raw = bytearray(path.read_bytes())
    for at in range(4096 * 3, len(raw) - 4096, 4096):
        raw[at : at + 2000] = b"\xff" * 2000
    path.write_bytes(raw)
    again = PageIndex(path)
    await found(again, "words")
    assert await again.add([stored("a.test/new", "new words")]) is None
    assert "a.test/new" in await found(again, "new")
    await again.close()


async def test_an_index_that_cannot_be_written_says_so_and_harms_no_call(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    index = PageIndex(blocked / "i.db")
    said = await index.add([stored("a.test/1", "words")])
    assert said is not None and "not added to the search index" in said
    assert (await index.stats())["error"]
    await index.close()
