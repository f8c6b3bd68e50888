"""`gateway index`: fills, tells and empties the search index from the shell."""

import asyncio
import re
from pathlib import Path

import pytest

from gateway.engines.embedding.embedder import is_installed
from gateway.engines.index.rows import vector_counts
from gateway.engines.index.store import PageIndex
from tests.support.asking import OFF
from tests.support.gateway_process import run_command
from tests.support.gateways import start_in_process
from tests.support.websites import Site, page, serving


def told(state: Path) -> dict[str, str]:
    done = run_command("index", "stats", "--state-dir", str(state))
    assert done.returncode == 0
    return dict(line.split(None, 1) for line in done.stdout.splitlines())


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "more").mkdir(parents=True)
    for number in range(4):
        (folder / f"{number}.html").write_text(page(f"Page {number}", f"Words about number{number}. " * 20))
    (folder / "more" / "notes.md").write_text("# Notes\n\nMore words.")
    (folder / "empty.txt").write_text("")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def test_a_folder_goes_in_and_comes_out_again(documents: Path, tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(OFF)  # vectors have their own test
    place = ["--config", str(tmp_path / "gateway.toml"), "--state-dir", str(tmp_path / "state")]
    done = run_command("index", "add", str(documents), *place)
    assert (done.returncode, done.stdout) == (0, "5 pages added\n")
    assert "empty.txt" in done.stderr and "no readable text" in done.stderr and "picture" not in done.stderr
    counts = told(tmp_path / "state")
    assert (counts["pages"].strip(), counts["error"].strip()) == ("5", "-")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", counts["oldest"].strip())
    assert run_command("index", "add", str(documents), "--limit", "3", *place).stdout == "3 pages added\n"
    assert told(tmp_path / "state")["pages"].strip() == "5", "a page that is there already is not doubled"
    assert run_command("index", "remove", (documents / "3.html").as_uri(), *place).stdout == "1 pages removed\n"
    assert run_command("index", "remove", str(documents / "more"), *place).stdout == "1 pages removed\n"
    assert run_command("index", "remove", str(documents), *place).stdout == "3 pages removed\n"
    again = run_command("index", "remove", str(documents), *place)
    assert (again.returncode, again.stdout) == (1, "0 pages removed\n")


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the embedding model is not installed")
async def test_pages_that_were_added_beside_a_server_have_vectors_soon_after_it_starts(
    documents: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    done = await asyncio.to_thread(run_command, "index", "add", str(documents / "more"), "--state-dir", str(state))
    assert done.returncode == 0
    index = PageIndex(state / "index.sqlite3")
    pending = (await index.read(vector_counts))["pending"]
    assert pending > 0
    async with start_in_process(state, '[search]\nprovider = "local"\n' + OFF), asyncio.timeout(30):
        while (counts := await index.read(vector_counts))["pending"]:  # noqa: ASYNC110 - another process makes them
            await asyncio.sleep(0.05)
    await index.close()
    assert counts["count"] == pending


async def test_a_site_goes_in_and_comes_out_again(tmp_path: Path) -> None:
    pages = {f"/docs/{n}": page(f"Page {n}", f"Words about number{n} and its like. " * 9) for n in range(3)}
    site = Site({**pages, "/docs/": page("Docs", "The first page of all. " * 9, *pages, "/missing")})
    config = tmp_path / "gateway.toml"
    place = ["--config", str(config), "--state-dir", str(tmp_path / "state")]
    async with serving(site):
        config.write_text(f'[web]\nallow_private = ["{site.address}"]\n{OFF}')
        added = await asyncio.to_thread(run_command, "index", "add", f"{site.url}/docs/", *place)
    assert (added.returncode, added.stdout) == (0, "4 pages added\n")
    assert f"not read: {site.url}/missing: the site answered 404" in added.stderr
    removed = await asyncio.to_thread(run_command, "index", "remove", f"{site.url}/docs/2", *place)
    assert removed.stdout == "1 pages removed\n"
    removed = await asyncio.to_thread(run_command, "index", "remove", f"{site.url}/", *place)
    assert removed.stdout == "3 pages removed\n"


@pytest.mark.parametrize("source", ["http://10.0.0.1/", "no-such-folder"])
def test_what_cannot_be_read_is_said_without_a_traceback(source: str, tmp_path: Path) -> None:
    done = run_command("index", "add", source, "--state-dir", str(tmp_path / "state"))
    assert done.returncode != 0 and done.stderr and "Traceback" not in done.stderr
