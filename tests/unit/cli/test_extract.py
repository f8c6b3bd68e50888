"""`gateway extract`: pages on standard output, failures on standard error, and what is refused at once."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.websites import Site, page, serving

Output = pytest.CaptureFixture[str]

WORDS = "The words of this page stand in its document for everybody to read. " * 8


async def extracting(folder: Path, site: Site, *arguments: str, render: str = "auto") -> int:
    """The exit code of the command, with a configuration that allows the site."""
    file = folder / "gateway.toml"
    file.write_text(f'[web]\nallow_private = ["{site.address}"]\n[render]\nmode = "{render}"\n')
    return await asyncio.to_thread(main, ["extract", *arguments, "--config", str(file), "--state-dir", str(folder)])


@pytest.mark.slow
async def test_pages_are_printed_and_failures_named(tmp_path: Path, capsys: Output) -> None:
    async with serving(Site({"/a": page("A", WORDS + "\x1b]0;owned\x07\x9b2J"), "/b": page("B", WORDS)})) as site:
        assert await extracting(tmp_path, site, f"{site.url}/a") == 0
        one = capsys.readouterr()
        assert not {"\x1b", "\x07", "\x9b"} & set(one.out)
        assert one.out.startswith("# A") and "stand in its document" in one.out and one.err == ""
        assert await extracting(tmp_path, site, f"{site.url}/a", f"{site.url}/b", f"{site.url}/none") == 1
    several = capsys.readouterr()
    assert f"<!-- {site.url}/a -->\n\n# A" in several.out and f"<!-- {site.url}/b -->\n\n# B" in several.out
    assert f"not read: {site.url}/none: the site answered 404" in several.err


@pytest.mark.slow
async def test_pages_are_written_as_files_or_as_the_raw_result(tmp_path: Path, capsys: Output) -> None:
    async with serving(Site({"/a": page("A", WORDS)})) as site:
        out = tmp_path / "pages"
        assert await extracting(tmp_path, site, f"{site.url}/a", "--out", str(out)) == 0
        assert "1 pages written" in capsys.readouterr().out
        assert await extracting(tmp_path, site, f"{site.url}/a", "--json") == 0
    (file,) = out.rglob("*.md")
    assert file.read_text().startswith(f'---\naddress: "{site.url}/a"\n') and "# A" in file.read_text()
    assert json.loads(capsys.readouterr().out)["results"][0]["url"] == f"{site.url}/a"


@pytest.mark.slow
async def test_a_picture_of_several_pages_or_without_a_browser_is_refused(tmp_path: Path, capsys: Output) -> None:
    picture = str(tmp_path / "p.png")
    async with serving(Site({"/a": page("A", WORDS)})) as site:
        assert await extracting(tmp_path, site, f"{site.url}/a", f"{site.url}/b", "--screenshot", picture) == 2
        assert "give one URL" in capsys.readouterr().err
        assert await extracting(tmp_path, site, f"{site.url}/a", "--screenshot", picture, render="off") == 69
        assert "needs the browser" in capsys.readouterr().err
    assert "p.png" not in os.listdir(tmp_path)
