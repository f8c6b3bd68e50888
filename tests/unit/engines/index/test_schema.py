"""The index file: the way from older shapes, newer ones, a full disk, and a process killed at any point."""

import asyncio
import contextlib
import random
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from gateway.engines.index.database import STEPS, VERSION, set_aside, transaction, upgrade
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery, owner_token
from gateway.engines.index.store import PageIndex
from tests.support.full_disk import NOT_PERMITTED
from tests.support.paths import GOLDEN, ROOT
from tests.support.searched import pages_of

FIRST_SHAPE = (GOLDEN / "index_first_shape.sql").read_text()


def connected(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(path, isolation_level=None))


def first_shape(path: Path) -> None:
    """A file as the first version wrote it, with one page in it."""
    with connected(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(FIRST_SHAPE)
        values = (1, "https://old.test/1", "", "old.test", "Old", None, 2e9, None, "h", zlib.compress(b"old words"))
        connection.execute("INSERT INTO pages VALUES (?,?,?,?,?,?,?,?,?,?)", values)
        words = (1, "Old", "", "old words", "https://old.test/1", "", owner_token(""))
        columns = "rowid, title, headings, body, url, cjk, owner"
        connection.execute(f"INSERT INTO search ({columns}) VALUES (?,?,?,?,?,?,?)", words)


def shape(path: Path) -> tuple[int, list[str]]:
    with connected(path) as connection:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql != '' ORDER BY name").fetchall()
        return connection.execute("PRAGMA user_version").fetchone()[0], ["".join(row[0].split()) for row in made]


async def found(index: PageIndex, text: str) -> list[str]:
    return [hit.url for hit in await index.search(IndexQuery(text, ("",), 50))]


async def test_a_file_of_the_first_shape_is_upgraded_and_keeps_its_pages(index: PageIndex, tmp_path: Path) -> None:
    first_shape(tmp_path / "i.db")
    assert await found(index, "words") == ["https://old.test/1"]
    assert await index.add([IndexedPage("https://new.test/", "New", "new words")]) is None
    assert sorted(await found(index, "words")) == ["https://new.test/", "https://old.test/1"]
    assert (await index.stats())["error"] is None
    fresh = PageIndex(tmp_path / "fresh.db")
    await fresh.stats()
    await fresh.close()
    assert shape(tmp_path / "i.db") == shape(tmp_path / "fresh.db")
    assert shape(tmp_path / "i.db")[0] == VERSION == len(STEPS) > 1


def test_an_upgrade_that_fails_half_way_leaves_the_old_shape_whole(tmp_path: Path) -> None:
    first_shape(tmp_path / "i.db")
    before = shape(tmp_path / "i.db")
    broken = (*STEPS, ("CREATE TABLE more (x)", "INSERT INTO nowhere VALUES (1)"))
    with connected(tmp_path / "i.db") as connection:
        with pytest.raises(sqlite3.OperationalError):
            upgrade(connection, broken)
        assert shape(tmp_path / "i.db") == before
        upgrade(connection)
    assert shape(tmp_path / "i.db")[0] == VERSION


async def test_several_processes_that_upgrade_at_once_agree(tmp_path: Path) -> None:
    first_shape(tmp_path / "i.db")
    indexes = [PageIndex(tmp_path / "i.db") for _ in range(4)]
    assert await asyncio.gather(*(found(index, "words") for index in indexes)) == [["https://old.test/1"]] * 4
    for index in indexes:
        await index.close()


async def test_a_newer_gateways_file_is_kept_aside_untouched_and_this_is_said(index: PageIndex, tmp_path: Path) -> None:
    first_shape(tmp_path / "i.db")
    with connected(tmp_path / "i.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    assert await index.add([IndexedPage("https://new.test/", "New", "new words")]) is None
    said = (await index.stats())["error"]
    assert "written by a newer gateway (schema 99" in said and "set aside as i.db.newer-" in said
    [aside] = tmp_path.glob("i.db.newer-*")  # noqa: ASYNC240
    with connected(aside) as connection, transaction(connection):
        assert connection.execute("SELECT title FROM pages").fetchall() == [("Old",)]


async def test_a_page_whose_content_is_damaged_hides_no_other(index: PageIndex, tmp_path: Path) -> None:
    await index.add(pages_of(dict.fromkeys("012", "same words")))
    with connected(tmp_path / "i.db") as connection:
        connection.execute("UPDATE pages SET content = x'00ff' WHERE url LIKE '%/1'")
    assert sorted(await found(index, "words")) == ["https://a.test/0", "https://a.test/2"]


@pytest.mark.slow
async def test_a_truncated_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = PageIndex(path)
    await index.add([IndexedPage(f"https://a.test/{n}", "Page", f"word{n} " * 300) for n in range(200)])
    await index.close()
    for share in (0.9, 0.5, 0.1, 0.001):
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        again = PageIndex(path)
        await found(again, "word1")
        for _ in range(2):
            await again.add([IndexedPage(f"https://b.test/{n}", "Page", f"word{n} " * 300) for n in range(200)])
        assert "https://b.test/7" in await found(again, "word7")
        await again.close()
    assert len(list(tmp_path.glob("i.db.damaged-*"))) <= 3  # noqa: ASYNC240


WRITER = """
import asyncio, sys
from pathlib import Path
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.store import PageIndex
async def main():
    index = PageIndex(Path(sys.argv[1]))
    for n in range(int(sys.argv[2]), 10_000):
        text = f"word{n} other " * 200
        pages = [IndexedPage(f"https://a.test/{n}/{m}", f"Page {m}", text, hash=f"{n}") for m in range(5)]
        assert await index.add(pages) is None
        if n % 3 == 2: await index.remove(f"https://a.test/{n - 1}/")
        print(n, flush=True)
asyncio.run(main())
"""


@pytest.mark.slow
async def test_whenever_the_writer_is_killed_what_it_had_promised_is_there(tmp_path: Path) -> None:
    path, source = tmp_path / "i.db", random.Random(7)
    first_shape(path)
    last = -1
    for _ in range(6):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(path), str(last + 1), cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        async with asyncio.timeout(30):
            for _ in range(source.randrange(1, 12)):
                last = int(await process.stdout.readline())
            process.kill()
            rest = await process.stdout.read()
            await process.wait()
        last = int(rest.split()[-1]) if rest.split() else last
        index = PageIndex(path)
        for n in range(last + 1):
            removed = n % 3 == 1 and n < last
            half_way = n % 3 == 1 and n == last  # killed in the next turn, perhaps between its removal and its word
            assert len(await found(index, f"word{n}")) in ([0, 5] if half_way else [0] if removed else [5]), (n, last)
        assert (await index.stats())["error"] is None
        await index.close()
        with connected(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.execute("INSERT INTO passage_search (passage_search) VALUES ('integrity-check')")


@pytest.mark.slow
def test_a_full_disk_costs_the_new_pages_only_and_passes_by_itself() -> None:
    command = [sys.executable, "-m", "tests.support.full_disk"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    if done.returncode == NOT_PERMITTED:
        pytest.skip("this machine permits no mount namespaces")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def test_what_cannot_be_opened_is_not_taken_for_damaged(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        set_aside(tmp_path)
    assert tmp_path.is_dir()
