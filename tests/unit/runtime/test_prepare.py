"""What comes before serving, in this process and in a child: the configuration, its keys, and their errors."""

import os
from functools import partial
from pathlib import Path

import pytest

from gateway.config.environment import Environment
from gateway.config.loader import ConfigError
from gateway.errors import InvalidRequest
from gateway.runtime.prepare import in_child, prepare


@pytest.mark.slow
def test_a_first_start_makes_the_state_and_a_key_and_a_reload_makes_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    read = partial(prepare, None, state, Environment({}))
    assert in_child(read).state_dir == state
    assert not state.exists()
    assert in_child(partial(read, is_first=True)).state_dir == state
    assert (state / "dev-key").exists() and (state / "keys.json").exists()
    assert in_child(read) == read()


@pytest.mark.slow
def test_secrets_come_through_and_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('[shared]\nredis_url = { credential = "redis" }\n')
    found = in_child(partial(prepare, file, tmp_path, Environment({"GATEWAY_CREDENTIAL_REDIS": "redis://h/0"})))
    assert found.shared.redis_url is not None and found.shared.redis_url.reveal() == "redis://h/0"
    assert "redis://h" not in repr(found)


def test_keys_in_redis_need_no_file(tmp_path: Path) -> None:
    (tmp_path / "user-hash-key").write_bytes(b"of an earlier start")
    file = tmp_path / "gateway.toml"
    file.write_text('[access]\nbackend = "redis"\n[shared]\nredis_url = { credential = "redis" }\n')
    environment = Environment({"GATEWAY_CREDENTIAL_REDIS": "redis://h/0"})
    assert prepare(file, tmp_path, environment).access.backend == "redis"
    file.write_text("")
    with pytest.raises(ConfigError, match="no such file, though this gateway has had keys"):
        prepare(file, tmp_path, environment)


@pytest.mark.slow
def test_a_wrong_configuration_is_the_same_error_from_a_child(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[server]\nport = 'x'\n")
    with pytest.raises(ConfigError) as here:
        prepare(file, tmp_path, Environment({}))
    with pytest.raises(ConfigError) as there:
        in_child(partial(prepare, file, tmp_path, Environment({})))
    assert (str(there.value), there.value.path) == (str(here.value), "server.port")


@pytest.mark.slow
def test_other_errors_come_through_too() -> None:
    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(InvalidRequest, match="is wrong"):
        in_child(partial(fail, InvalidRequest("it is wrong", param="a")))
    with pytest.raises(FileNotFoundError):
        in_child(partial(fail, FileNotFoundError(2, "gone")))
    with pytest.raises(OSError, match="was killed"):
        in_child(lambda: os.kill(os.getpid(), 9))
