"""Commands that end by themselves: what they print, and their exit codes."""

import json
import socket
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.gateway_process import run_command
from tests.support.paths import ROOT


def written(folder: Path, text: str) -> str:
    file = folder / "gateway.toml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[server]\nprot = 1\n", "prot"),
        ("[server]\nport = 'eighty'\n", "server.port"),
        ("[search]\nprovider = 'tavily'\napi_key = { credential = 'nowhere' }\n", "nowhere"),
        ("[server\n", "line"),
    ],
)
def test_a_wrong_configuration_is_refused_naming_file_and_place(
    tmp_path: Path, text: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, text)
    for command in (["check-config", file], ["serve", "--config", file, "--state-dir", str(tmp_path / "state")]):
        assert main(command) == 78
        told = capsys.readouterr()
        assert "gateway.toml" in told.err and named in told.err and not told.out
        assert told.err.count("\n") == 1, "one line, no traceback"


def test_the_example_configuration_is_good_and_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = ROOT / "systemd" / "gateway.toml.example"
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "llm").write_text("canary-of-a-secret\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert main(["check-config", str(example)]) == main(["print-config", str(example)]) == 0
    told = capsys.readouterr()
    assert "canary" not in told.out + told.err and "llama-3.3-70b" in told.out


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


def test_keys_are_stored_as_digests_and_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.json"

    def keys(*words: str) -> tuple[int, str, str]:
        code = main(["keys", *words, "--keys-file", str(file)])
        return code, *capsys.readouterr()

    code, key, _ = keys("create", "--name", "one", "--scope", "chat")
    assert code == 0 and key.startswith("gw_")
    assert file.stat().st_mode & 0o777 == 0o600 and key.strip() not in file.read_text()
    record = json.loads(file.read_text())["keys"][0]
    assert record["scopes"] == ["chat"]
    _, rotated, told = keys("rotate", record["id"])
    assert rotated.startswith("gw_") and f"keys revoke {record['id']}" in told
    file.write_text("{")
    code, shown, _ = keys("create", "--name", "two", "--scope", "chat")
    assert (code, shown) == (1, "")
    assert file.read_text() == "{", "what cannot be read is not overwritten"


def test_a_place_that_cannot_be_written_is_named_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--keys-file", "/proc/nowhere/keys.json"]
    assert main(["keys", "create", "--name", "x", "--scope", "chat", *place]) == 1
    told = capsys.readouterr().err
    assert "/proc/nowhere" in told and told.count("\n") == 1


def test_the_version_is_printed() -> None:
    assert run_command("--version").stdout.startswith("gateway ")
