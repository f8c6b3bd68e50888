"""`gateway index`: fills, tells and empties the search index from the shell."""

import asyncio
from pathlib import Path

import pytest

from gateway.cli.main import main
from gateway.engines.embedding.embedder import is_installed
from gateway.engines.index.store import PageIndex
from gateway.engines.index.vector_rows import vector_counts
from tests.support.asking import OFF
from tests.support.gateway_process import run_command
from tests.support.gateways import start_in_process
from tests.support.websites import Site, page, serving


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the embedding model is not installed")
async def test_pages_that_were_added_beside_a_server_have_vectors_soon_after_it_starts(tmp_path: Path) -> None:
    state, notes = tmp_path / "state", tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Notes\n\nMore words.")
    done = await asyncio.to_thread(run_command, "index", "add", str(notes), "--state-dir", str(state))
    assert done.returncode == 0
    index = PageIndex(state / "index.sqlite3")
    pending = (await index.read(vector_counts))["pending"]
    assert pending > 0
    async with start_in_process(state, '[search]\nprovider = "local"\n' + OFF), asyncio.timeout(30):
        while (counts := await index.read(vector_counts))["pending"]:  # noqa: ASYNC110 - another process makes them
            await asyncio.sleep(0.05)
    await index.close()
    assert counts["count"] == pending


async def test_a_site_goes_in_and_comes_out_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = {f"/docs/{n}": page(f"Page {n}", f"Words about number{n} and its like. " * 9) for n in range(3)}
    site = Site({**pages, "/docs/": page("Docs", "The first page of all. " * 9, *pages, "/missing")})
    config = tmp_path / "gateway.toml"

    async def index(*words: str) -> tuple[int, str, str]:
        place = ["--config", str(config), "--state-dir", str(tmp_path / "state")]
        code = await asyncio.to_thread(main, ["index", *words, *place])
        return code, *capsys.readouterr()

    async with serving(site):
        config.write_text(f'[web]\nallow_private = ["{site.address}"]\n{OFF}')
        code, printed, told = await index("add", f"{site.url}/docs/")
    assert (code, printed) == (0, "4 pages added\n")
    assert f"not read: {site.url}/missing: the site answered 404" in told
    assert (await index("remove", f"{site.url}/docs/2"))[1] == "1 pages removed\n"
    assert (await index("remove", f"{site.url}/"))[1] == "3 pages removed\n"


@pytest.mark.parametrize("source", ["http://10.0.0.1/", "no-such-folder", "ftp://a.test/", "http://127.0.0.1:1/"])
def test_what_cannot_be_read_is_said(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gateway.toml").write_text(OFF)
    place = ["--config", str(tmp_path / "gateway.toml"), "--state-dir", str(tmp_path / "state")]
    assert main(["index", "add", source, *place]) != 0 and capsys.readouterr().err


def test_a_folder_of_ones_own_is_named_as_the_shell_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# Herons\n\nHerons fish in shallow water, early in the morning.\n")
    (tmp_path / "notes" / "out.md").symlink_to("/etc/hostname")
    monkeypatch.chdir(tmp_path)
    for folder in ("notes", f"{tmp_path}/notes"):
        assert main(["index", "add", folder, "--state-dir", str(tmp_path / "state")]) == 0
        printed, told = capsys.readouterr()
        assert printed == "1 pages added\n" and "leads out of its folder" in told
