"""`index` and `sanitize` without a server, and the usage errors of `call`."""

import io
import json
import sys
from pathlib import Path

import pytest

from gateway.cli.main import main

Output = pytest.CaptureFixture[str]


@pytest.fixture
def state(tmp_path: Path) -> list[str]:
    return ["--state-dir", str(tmp_path / "state")]


@pytest.mark.slow
def test_a_folder_is_added_counted_and_removed(tmp_path: Path, state: list[str], capsys: Output) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (tmp_path / "state").mkdir()
    (pages / "heron.md").write_text("# Herons\n\nHow herons fish in shallow water, and where they nest.\n")
    (pages / "empty.bin").write_bytes(b"\0\1")
    assert main(["index", "add", str(pages), *state]) == 0
    assert "1 pages added\n" in capsys.readouterr().out
    assert main(["index", "stats", *state]) == 0
    shown = capsys.readouterr().out
    assert "{" not in shown
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["pages"] == "1" and lines["newest"].endswith("UTC")
    assert main(["index", "stats", "--json", *state]) == 0
    stats = json.loads(capsys.readouterr().out)
    assert stats["pages"] == 1 and stats["newest"] > 1e9
    assert main(["index", "remove", str(pages), *state]) == 0
    assert capsys.readouterr().out == "1 pages removed\n"
    assert main(["index", "remove", str(pages), *state]) == 1
    assert main(["index", "add", str(tmp_path / "nowhere"), *state]) == 1
    assert capsys.readouterr().err.endswith("nowhere: there is no such folder\n")
    assert main(["index", "copy", "--to", "postgres", *state]) == 1
    assert "index.postgres_url" in capsys.readouterr().err


@pytest.mark.slow
def test_progress_is_told_in_lines_where_there_is_no_terminal(
    tmp_path: Path, state: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("heron", "stork"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nWhere it nests.\n")
    assert main(["index", "add", str(tmp_path), *state]) == 0
    assert not capsys.readouterr().err
    monkeypatch.setattr("gateway.cli.options._LINE_EVERY_S", 0.0)
    assert main(["index", "add", str(tmp_path), *state]) == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()] == ["1 of 2", "2 of 2"]


def test_a_text_is_explained_from_a_file_and_from_standard_input(
    tmp_path: Path, state: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "write to anna.schmidt@firma-berlin.de today"
    (tmp_path / "text").write_text(text)
    assert main(["sanitize", str(tmp_path / "text"), "--profile", "strict", *state]) == 0
    of_file = capsys.readouterr().out
    assert "EMAIL" in of_file
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["sanitize", "--profile", "strict", *state]) == 0
    assert capsys.readouterr().out == of_file
    assert main(["sanitize", str(tmp_path / "none"), *state]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_a_call_without_a_key_says_where_it_was_looked_for(
    state: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWAY_KEY", raising=False)
    assert main(["call", "search", "query=a", *state]) == 1
    looked_at = Path(state[1]) / "dev-key"
    assert (
        f"there is no key in {looked_at}; give --key, set GATEWAY_KEY, or name its folder with --state-dir"
        in capsys.readouterr().err
    )


def test_a_gateway_that_is_away_is_named(tmp_path: Path, state: list[str], capsys: Output) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "dev-key").write_text("gw_none\n")
    assert main(["call", "search", "query=a", "--url", "http://127.0.0.1:1", *state]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["reload"], ["upgrade"]])
def test_a_service_that_does_not_run_is_an_error(tmp_path: Path, capsys: Output, command: list[str]) -> None:
    assert main([*command, "--runtime-dir", str(tmp_path)]) == 1
    assert "is the service running" in capsys.readouterr().err
