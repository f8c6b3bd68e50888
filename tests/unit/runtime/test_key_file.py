"""Which key files a start takes: one that is there and whole, or none where there never was one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.keys import KeyFile, KeyRequest
from gateway.access.private_files import USER_HASH_KEY
from gateway.config.loader import ConfigError
from gateway.config.settings import Config
from gateway.runtime.prepare import key_file

BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_text(""), "is not JSON"),
    "a folder": (lambda path: path.mkdir(), "cannot be read"),
    "another document": (lambda path: path.write_text("{}"), "is required"),
    "cut": (lambda path: path.write_text('{"version": 1, "ke'), "is not JSON"),
}


def test_a_fresh_folder_has_no_keys_yet_and_a_whole_file_is_taken(tmp_path: Path) -> None:
    config = Config(state_dir=tmp_path)
    assert key_file(config).read() == []
    KeyFile(tmp_path / "keys.json").create(KeyRequest("a", ("chat",)))
    assert [record.name for record in key_file(config).read()] == ["a"]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_read_is_a_wrong_configuration(tmp_path: Path, kind: str) -> None:
    spoil, words = BROKEN[kind]
    spoil(tmp_path / "keys.json")
    with pytest.raises(ConfigError, match=words):
        key_file(Config(state_dir=tmp_path))


def test_a_file_that_is_gone_is_wrong_where_there_were_keys_or_a_name(tmp_path: Path) -> None:
    config = Config(state_dir=tmp_path)
    with pytest.raises(ConfigError, match="no such file"):
        key_file(replace(config, access=replace(config.access, keys_file="mine.json")))
    (tmp_path / USER_HASH_KEY).write_bytes(b"x")
    with pytest.raises(ConfigError, match="has had keys"):
        key_file(config)
