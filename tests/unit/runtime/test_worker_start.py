"""Where workers share their metrics: in memory, since a full disk would kill whoever writes to them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.config.environment import Environment
from gateway.runtime.fork_server import metrics_folder, remove_metrics


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[Path]:
    """The folder of a gateway that was started by hand, so that there is no runtime directory."""
    folder = metrics_folder(Environment(), tmp_path)
    if folder.is_relative_to(tmp_path):
        pytest.skip("there is no shared memory here")
    yield folder
    shutil.rmtree(folder.parent.parent, ignore_errors=True)


def test_it_is_in_the_runtime_directory_where_there_is_one(tmp_path: Path) -> None:
    environment = Environment({"RUNTIME_DIRECTORY": str(tmp_path / "run")})
    assert metrics_folder(environment, tmp_path) == tmp_path / "run" / "metrics" / str(os.getpid())


def test_it_is_in_shared_memory_else_and_each_state_directory_has_its_own(by_hand: Path, tmp_path: Path) -> None:
    assert metrics_folder(Environment(), tmp_path) == by_hand
    other = metrics_folder(Environment(), tmp_path / "other")
    assert other != by_hand
    assert os.statvfs(by_hand.parent.parent).f_fsid == os.statvfs("/dev/shm").f_fsid
    assert by_hand.parent.parent.stat().st_mode & 0o777 == 0o700
    other.mkdir(parents=True)
    remove_metrics(other)
    assert not other.parent.parent.exists()


def test_a_folder_that_others_may_write_is_not_used(by_hand: Path, tmp_path: Path) -> None:
    by_hand.parent.parent.chmod(0o777)
    assert metrics_folder(Environment(), tmp_path).is_relative_to(tmp_path)
    by_hand.parent.parent.rmdir()
    by_hand.parent.parent.symlink_to(tmp_path)
    assert metrics_folder(Environment(), tmp_path).is_relative_to(tmp_path)
    by_hand.parent.parent.unlink()


def test_removing_one_leaves_those_of_other_supervisors(by_hand: Path) -> None:
    neighbour = by_hand.parent / "1"
    neighbour.mkdir(parents=True)
    by_hand.mkdir()
    remove_metrics(by_hand)
    assert neighbour.exists() and not by_hand.exists()
