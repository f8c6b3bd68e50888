"""`make bench-peers` measures right answers alone, and its table names every peer, its lock and its configuration."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.peers.__main__ import rows
from bench.peers.programs import FOLDER, PEERS, version
from bench.upstream import PIECES
from tests.support.paths import ROOT

STREAM = b"".join(piece.split(b"\r\n", 1)[1].removesuffix(b"\r\n") for piece in PIECES[1:-1])


def test_a_peer_is_installed_from_pinned_hashes_or_says_how_to_install_it() -> None:
    assert {"gateway", "bare", "nginx", "litellm", "mcp-sdk", "fastmcp", "envoy", "agentic-api", "smg"} == set(PEERS)
    for peer in PEERS.values():
        assert bool(peer.requires) == peer.lock.is_file() and bool(peer.program) == bool(peer.install)
        assert (FOLDER / peer.config).exists()
        if peer.requires:
            entries = re.split(r"\n(?=\S)", peer.lock.read_text().strip())
            assert all(re.match(r"\S+==\S+ \\\n +--hash=sha256:", entry) for entry in entries), peer.name
            assert re.match(r"\d+\.", version(peer))


@pytest.mark.parametrize("lost", [b" house", b"stop", b"[DONE]", b'"total_tokens":120'])
def test_a_stream_that_lost_something_is_no_right_answer(lost: bytes) -> None:
    burst = next(row for row in rows({}) if "burst" in row.name)
    assert burst.is_right(STREAM)
    assert not burst.is_right(STREAM.replace(lost, b'"total_tokens":12' if b"total" in lost else b"", 1))


@pytest.mark.slow
def test_a_run_prints_a_figure_of_each_peer_and_row_and_draws_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.peers", "--peers", "", "--rounds", "1", "--seconds", "0.05"]
    command += ["--svg", str(tmp_path / "peers.svg")]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True).stdout
    figures = re.findall(r"^\| (gateway|bare) \| \d+ \| [\d.–]+ \| \d+ \| [\d.]+ \| [\d.]+ \|$", told, re.MULTILINE)
    assert figures == [*["gateway", "bare"] * 3, *["gateway"] * 3] and "left out" not in told, told
    row = r"^\| bare \| aiohttp [\d.]+ \| 1 \| 1 \| 1 \| – \| – \| – \| \d+, \d+ \|$"
    assert re.search(row, told, re.MULTILINE), told
    assert (tmp_path / "peers.svg").read_text().count("<circle") == 6
