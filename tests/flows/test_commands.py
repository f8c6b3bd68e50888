"""Commands that end by themselves: what they print, and their exit codes."""

import json
import socket
from pathlib import Path

import pytest

from tests.support.gateway_process import run_command
from tests.support.paths import ROOT


def written(folder: Path, text: str) -> str:
    file = folder / "gateway.toml"
    file.write_text(text)
    return str(file)


def test_a_good_configuration_is_good(tmp_path: Path) -> None:
    assert run_command("check-config", written(tmp_path, "[server]\nport = 8081\n")).returncode == 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[server]\nprot = 1\n", "prot"),
        ("[server]\nport = 'eighty'\n", "server.port"),
        ("[search]\nprovider = 'tavily'\napi_key = { credential = 'nowhere' }\n", "nowhere"),
        ("[server\n", "line"),
    ],
)
def test_a_wrong_configuration_is_refused_naming_file_and_place(tmp_path: Path, text: str, named: str) -> None:
    file = written(tmp_path, text)
    for command in (["check-config", file], ["serve", "--config", file, "--state-dir", str(tmp_path / "state")]):
        done = run_command(*command)
        assert done.returncode == 78, done
        assert "gateway.toml" in done.stderr
        assert named in done.stderr
        assert done.stderr.count("\n") == 1, "one line, no traceback"
        assert not done.stdout


def test_the_example_configuration_is_good_and_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "systemd" / "gateway.toml.example"
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "llm").write_text("canary-of-a-secret\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert run_command("check-config", str(example)).returncode == 0
    shown = run_command("print-config", str(example))
    assert shown.returncode == 0
    assert "canary" not in shown.stdout + shown.stderr
    assert "llama-3.3-70b" in shown.stdout


def test_a_port_in_use_is_reported_naming_the_setting(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        engines = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
        file = written(tmp_path, f"[server]\nport = {port}\n[ops]\nport = 0\n{engines}")
        done = run_command("serve", "--config", file, "--state-dir", str(tmp_path / "state"))
    assert done.returncode == 1
    assert "server.port" in done.stderr
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_an_own_model_file_that_is_not_there_stops_the_start_naming_the_setting(tmp_path: Path) -> None:
    file = written(tmp_path, "[server]\nport = 0\n[ops]\nport = 0\n[local_llm]\nmodel = 'no-such-model.gguf'\n")
    done = run_command("serve", "--config", file, "--state-dir", str(tmp_path / "state"))
    assert done.returncode == 78
    assert "local_llm.model" in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_are_stored_as_digests_and_shown_once(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    place = ["--keys-file", str(file)]
    made = run_command("keys", "create", "--name", "one", "--scope", "chat", *place)
    assert made.returncode == 0
    key = made.stdout.strip()
    assert key.startswith("gw_")
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in file.read_text()
    record = json.loads(file.read_text())["keys"][0]
    assert record["scopes"] == ["chat"]
    rotated = run_command("keys", "rotate", record["id"], *place)
    assert rotated.stdout.startswith("gw_") and f"keys revoke {record['id']}" in rotated.stderr
    assert run_command("keys", "revoke", "nobody", *place).returncode == 1
    file.write_text("{")
    broken = run_command("keys", "create", "--name", "two", "--scope", "chat", *place)
    assert broken.returncode == 1
    assert not broken.stdout
    assert file.read_text() == "{", "what cannot be read is not overwritten"


def test_a_place_that_cannot_be_written_is_named_without_a_traceback() -> None:
    done = run_command("keys", "create", "--name", "x", "--scope", "chat", "--keys-file", "/proc/nowhere/keys.json")
    assert done.returncode == 1
    assert "/proc/nowhere" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["keys", "create", "--name", "x", "--scope", "everything"],
        ["keys", "create", "--name", "x", "--scope", "chat", "--expires", "soon"],
        ["keys", "create", "--name", "x", "--scope", "chat", "--per-minute", "-1"],
        ["launch"],
        ["llm-server", "--port", "99999"],
        ["ocr-server", "--port", "0"],
    ],
)
def test_wrong_usage_is_exit_code_two(wrong: list[str]) -> None:
    done = run_command(*wrong)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_the_version_is_printed() -> None:
    assert run_command("--version").stdout.startswith("gateway ")
