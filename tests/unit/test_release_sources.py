"""A release of the service is made from what git tracks, from any checkout, with modes of its own."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

IS_MISSING = shutil.which("git") is None or shutil.which("tar") is None
pytestmark = [pytest.mark.slow, pytest.mark.skipif(IS_MISSING, reason="needs git and tar")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository at the place where 0.2's README put it, with sources, a program, and more files than one call of a
    program takes as words."""
    folder = tmp_path / "opt" / "gateway"
    (folder / "systemd").mkdir(parents=True)
    (folder / "gateway" / "many").mkdir(parents=True)
    shutil.copy(ROOT / "systemd" / "service", folder / "systemd" / "service")
    (folder / "gateway" / "__init__.py").write_text('__version__ = "9.9.9"\n')
    (folder / "gateway" / "a file with blanks\nand a line.py").write_text("x = 1\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o700)
    for number in range(3_000):
        (folder / "gateway" / "many" / f"module_with_a_rather_long_name_{'x' * 80}_{number}.py").write_text("")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "sources")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, timeout=60)


def copy_source(checkout: Path, release: Path) -> subprocess.CompletedProcess[str]:
    release.mkdir(parents=True)
    command = ["sh", str(checkout / "systemd" / "service"), "copy-source", str(release)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_checkout_that_holds_the_releases_upgrades_again_and_again_without_copying_them(checkout: Path) -> None:
    for number in range(1, 4):
        release = checkout / "releases" / str(number)
        done = copy_source(checkout, release)
        assert (done.returncode, done.stderr) == (0, "")
        found = files(release)
        assert len(found) == 3_004 and not any(name.startswith("releases") for name in found)


def test_what_git_does_not_track_stays_out_and_what_it_tracks_comes_as_it_is(checkout: Path, tmp_path: Path) -> None:
    (checkout / "notes-with-a-key.txt").write_text("secret")
    (checkout / "notes-with-a-key.txt").chmod(0o600)
    (checkout / "gateway" / "__init__.py").write_text('__version__ = "9.9.10"\n')
    (checkout / "gateway" / "__init__.py").chmod(0o600)
    (checkout / "gateway" / "a file with blanks\nand a line.py").unlink()
    assert copy_source(checkout, tmp_path / "release").returncode == 0
    release = tmp_path / "release"
    assert not (release / "notes-with-a-key.txt").exists() and not (release / ".git").exists()
    assert (release / "gateway" / "__init__.py").read_text() == '__version__ = "9.9.10"\n'
    assert stat.S_IMODE((release / "gateway" / "__init__.py").stat().st_mode) == 0o644
    assert stat.S_IMODE((release / "run").stat().st_mode) == 0o755 and len(files(release)) == 3_003


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a checkout away")
def test_root_upgrades_from_a_checkout_of_another_user(checkout: Path, tmp_path: Path) -> None:
    for path in [checkout, *checkout.rglob("*")]:
        os.chown(path, 65534, 65534)
    (checkout / "untracked").write_text("secret")
    assert copy_source(checkout, tmp_path / "release").returncode == 0 and len(files(tmp_path / "release")) == 3_004
    assert (tmp_path / "release" / "run").stat().st_uid == 0


def test_a_release_inside_a_checkout_is_a_source_of_its_own(checkout: Path, tmp_path: Path) -> None:
    release = checkout / "releases" / "1"
    copy_source(checkout, release)
    (release / ".venv").mkdir()
    (release / ".venv" / "python").write_text("")
    assert copy_source(release, tmp_path / "again").returncode == 0
    found = files(tmp_path / "again")
    assert "gateway/__init__.py" in found and "systemd/service" in found and ".venv/python" not in found
