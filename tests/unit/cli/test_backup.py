"""Backup and restore of a state directory."""

import io
import os
import socket
import sqlite3
import stat
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from gateway.cli.main import main


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "keys.json").write_text("{}")
    (folder / "dev-key").write_text("a secret")
    for path in folder.iterdir():
        path.chmod(0o600)
    (folder / "metrics" / "1").mkdir(parents=True)
    (folder / "metrics" / "1" / "gauge.db").write_bytes(b"x")
    return folder


def test_everything_comes_back_with_its_mode_and_nothing_else(state: Path, tmp_path: Path) -> None:
    saved = tmp_path / "state.tar"
    assert main(["backup", str(saved), "--state-dir", str(state)]) == 0
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    other = tmp_path / "other"
    assert main(["restore", str(saved), "--state-dir", str(other)]) == 0
    assert {path.name: path.read_text() for path in other.iterdir()} == {"keys.json": "{}", "dev-key": "a secret"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in other.iterdir()} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_root_restores_belongs_to_the_owner_of_the_state_directory(state: Path, tmp_path: Path) -> None:
    (state / "sites" / "1").mkdir(parents=True)
    (state / "sites" / "1" / "page").write_text("x")
    saved, other = tmp_path / "state.tar", tmp_path / "other"
    other.mkdir()
    os.chown(other, 12345, 12346)
    assert main(["backup", str(saved), "--state-dir", str(state)]) == 0
    assert main(["restore", str(saved), "--state-dir", str(other)]) == 0
    restored = {path.relative_to(other).as_posix(): path.stat() for path in other.rglob("*")}
    assert set(restored) == {"keys.json", "dev-key", "sites", "sites/1", "sites/1/page"}
    assert {(each.st_uid, each.st_gid) for each in restored.values()} == {(12345, 12346)}
    assert stat.S_IMODE(restored["sites/1"].st_mode) == 0o700


def test_a_database_is_saved_whole_while_somebody_writes(state: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(state / "index.sqlite3", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE pages (text)")
        writer.execute("INSERT INTO pages VALUES ('in the journal only')")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO pages VALUES ('not committed')")
        assert main(["backup", str(tmp_path / "state.tar"), "--state-dir", str(state)]) == 0
        writer.execute("ROLLBACK")
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.sqlite3-wal").write_bytes(b"of another database")
    assert main(["restore", str(tmp_path / "state.tar"), "--state-dir", str(other)]) == 0
    with closing(sqlite3.connect(other / "index.sqlite3")) as reader:
        assert reader.execute("SELECT text FROM pages").fetchall() == [("in the journal only",)]
    with tarfile.open(tmp_path / "state.tar") as archive:
        assert not [name for name in archive.getnames() if name.endswith(("-wal", "-shm"))]


def test_a_backup_in_the_state_directory_holds_no_earlier_one(state: Path, tmp_path: Path) -> None:
    for number in range(3):
        assert main(["backup", str(state / f"b{number}.tar"), "--state-dir", str(state)]) == 0
    (state / ".b3.tar.left").write_bytes((state / "b0.tar").read_bytes())
    assert main(["backup", str(state / "b2.tar"), "--state-dir", str(state)]) == 0
    with tarfile.open(state / "b2.tar") as archive:
        assert set(archive.getnames()) == {"keys.json", "dev-key"}


OUTSIDE, BOTH = "not below the state directory", "is a file and a folder"


@pytest.mark.parametrize(
    ("names", "there", "said"),
    [
        (("keys.json", "../outside"), "", OUTSIDE),
        (("keys.json", "/tmp/outside"), "", OUTSIDE),
        (("keys.json", "a/../../outside"), "", OUTSIDE),
        (("a", "a/b"), "", BOTH),
        (("a/b", "a"), "", BOTH),
        (("z", "a/b"), "a", BOTH),
        (("z", "b"), "b/", BOTH),
        (("z", "a/b/c", "a/b"), "", BOTH),
    ],
)
def test_a_restore_writes_nothing_of_an_archive_that_leads_out_or_where_a_file_would_be_a_folder(
    tmp_path: Path, names: tuple[str, ...], there: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    if there:
        (state / there).mkdir() if there.endswith("/") else (state / there).write_text("there")
    before = sorted(state.rglob("*"))
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        for name in names:
            archive.addfile(entry_of(name, 1), io.BytesIO(b"x"))
    assert main(["restore", str(tmp_path / "bad.tar"), "--state-dir", str(state)]) == 1
    assert said in capsys.readouterr().err
    assert sorted(state.rglob("*")) == before


def test_a_restore_of_half_an_archive_writes_nothing(state: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "whole.tar", "w") as archive:
        for name in ("dev-key", "keys.json"):
            archive.addfile(entry_of(name, 100_000), io.BytesIO(b"x" * 100_000))
    (tmp_path / "half.tar").write_bytes((tmp_path / "whole.tar").read_bytes()[:150_000])
    assert main(["restore", str(tmp_path / "half.tar"), "--state-dir", str(state)]) == 1
    assert {path.name for path in state.iterdir()} == {"keys.json", "dev-key", "metrics"}
    assert (state / "dev-key").read_text() == "a secret"


def entry_of(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry


def test_what_is_no_backup_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    assert main(["restore", str(tmp_path / "bad.tar"), "--state-dir", str(tmp_path / "state")]) == 1
    said = capsys.readouterr().err
    assert "is not a backup" in said and said.count("\n") == 1


def test_a_backup_never_replaces_a_device(state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["backup", str(pipe), "--state-dir", str(state)]) == 1
    assert "is no regular file" in capsys.readouterr().err and pipe.is_fifo()


def test_a_state_directory_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", str(tmp_path / "state.tar"), "--state-dir", str(tmp_path / "nothing")]) == 1
    assert "no such folder" in capsys.readouterr().err
    assert not (tmp_path / "state.tar").exists()


def test_a_restore_beside_a_gateway_that_was_started_by_hand_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    state, archive = tmp_path / "state", tmp_path / "b.tar"
    (state / "bus").mkdir(parents=True)
    (state / "keys.json").write_text('{"version": 1, "keys": []}')
    options = ["--state-dir", str(state)]
    assert main(["backup", str(archive), *options]) == 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as worker:
        worker.bind(str(state / "bus" / "1-abc.sock"))
        assert main(["restore", str(archive), *options]) == 1
        assert "stop it first" in capsys.readouterr().err
    assert main(["restore", str(archive), *options]) == 0  # the socket of a process that has died refuses
