"""Reading unit files, the environment of the service that they describe, and which gateway a command is about."""

import argparse
import contextlib
import os
from pathlib import Path

import pytest

from gateway.cli.installation import found
from gateway.cli.unit_files import read_unit, service_environment, service_unit
from gateway.config.environment import Environment
from gateway.errors import InvalidRequest
from gateway.runtime.prepare import prepare


class Etc:
    """A folder with a unit, the configuration that it names, and a credential."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "gateway.toml"
        self.file.touch()
        (folder / "llm").write_text("not-a-real-key\n")
        self.unit()

    def unit(self, more: str = "") -> None:
        start = f"ExecStart=/opt/gateway serve --config {self.file}\nLoadCredential=llm:{self.folder / 'llm'}\n"
        (self.folder / "gateway.service").write_text(f"[Service]\n{start}{more}")


@pytest.fixture
def etc(tmp_path: Path) -> Etc:
    return Etc(tmp_path)


def test_drop_ins_follow_the_unit_and_an_empty_assignment_forgets(tmp_path: Path) -> None:
    (tmp_path / "a.socket").write_text("# A=1\n[Socket]\nListenStream=1\nListenStream=2\nBacklog=5 \\\n 6\n")
    (tmp_path / "a.socket.d").mkdir()
    (tmp_path / "a.socket.d" / "listen.conf").write_text("[Socket]\nListenStream=\nListenStream=3\n")
    unit = read_unit("a.socket", [tmp_path])
    assert unit is not None
    assert unit.all("ListenStream") == ["3"]
    assert unit.last("Backlog") == "5   6"
    assert unit.last("A") == ""


def test_the_first_folder_wins_and_drop_ins_come_from_all(tmp_path: Path) -> None:
    for name, value in (("etc", "1"), ("lib", "2")):
        (tmp_path / name / "a.service.d").mkdir(parents=True)
        (tmp_path / name / "a.service").write_text(f"[Service]\nA={value}\n")
    (tmp_path / "lib" / "a.service.d" / "b.conf").write_text("[Service]\nB=3\n")
    unit = read_unit("a.service", [tmp_path / "etc", tmp_path / "lib"])
    assert unit is not None
    assert (unit.last("A"), unit.last("B")) == ("1", "3")
    assert read_unit("other.service", [tmp_path]) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("150", 150), ("2min 30s", 150), ("1.5h", 5400), ("500ms", 0.5), ("infinity", None), ("", None)],
)
def test_time_spans_are_read_as_systemd_reads_them(tmp_path: Path, text: str, seconds: float | None) -> None:
    (tmp_path / "a.service").write_text(f"[Service]\nA=1\nTimeoutStopSec={text}\n")
    unit = read_unit("a.service", [tmp_path])
    assert unit is not None
    assert unit.seconds("TimeoutStopSec") == seconds


def test_commands_about_the_service_have_its_credentials_and_its_state(etc: Etc) -> None:
    etc.unit("StateDirectory=gateway\nLoadCredential=gone:/nowhere/gone\n")
    unit = service_unit(etc.file, [etc.folder])
    assert unit is not None
    found = service_environment(unit, Environment({"PATH": "/bin"}))
    assert found.environment.credential("llm") == "not-a-real-key"
    assert str(found.environment.state_dir) == "/var/lib/gateway"
    assert found.environment.variables["PATH"] == "/bin"
    assert list(found.missing) == ["gone"]
    own = service_environment(unit, Environment({"STATE_DIRECTORY": "/own", "CREDENTIALS_DIRECTORY": "/run/own"}))
    assert str(own.environment.state_dir) == "/own"
    assert own.environment.credential("llm") is None


def test_a_file_that_no_unit_names_is_nobodys(etc: Etc) -> None:
    other = etc.folder / "other.toml"
    other.write_text("")
    assert service_unit(other, [etc.folder]) is None


HERE, SERVICE, SILENT, REFUSED = "that was started in this folder", "the installed service", "", "there is no gateway"


@pytest.mark.parametrize(
    ("command", "named", "is_here", "is_installed", "said"),
    [
        ("keys", "--state-dir", True, True, SILENT),
        ("keys", "--keys-file", True, True, SILENT),
        ("keys", "--config", True, True, SILENT),
        ("keys", "", True, True, HERE),
        ("keys", "", True, False, SILENT),
        ("keys", "", False, True, SERVICE),
        ("keys", "", False, False, REFUSED),
        ("keys", "$GATEWAY_URL", False, True, SERVICE),
        ("keys", "$STATE_DIRECTORY", True, True, SILENT),
        ("backup", "", False, False, REFUSED),
        ("index", "", False, False, SILENT),
        ("chat", "--url", True, True, SILENT),
        ("chat", "$GATEWAY_URL", False, True, SILENT),
        ("chat", "", False, True, SERVICE),
        ("client-config", "--url", False, True, SERVICE),
        ("reload", "", True, True, SERVICE),
        ("reload", "$RUNTIME_DIRECTORY", True, True, SILENT),
    ],
)
def test_a_command_is_about_what_is_named_then_what_is_here_then_the_service(
    etc: Etc, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    command: str, named: str, is_here: bool, is_installed: bool, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(etc.folder)
    folder = etc.folder / "state"
    folder.mkdir()
    (etc.folder / "service.env").write_text("# of the service\nGATEWAY_OPS_PORT=9001\n")
    etc.unit(f'Environment="GATEWAY_PORT=9000"\nEnvironmentFile=-{etc.folder}/service.env\nRuntimeDirectory=gate\n')
    if is_here:
        (etc.folder / "var").mkdir()
        (etc.folder / "var" / "dev-key").touch()
    options = {"config": None, **({named[2:].replace("-", "_"): Path("other")} if named.startswith("--") else {})}
    arguments = argparse.Namespace(line=[command], **options)
    own = Environment({named[1:]: str(folder)} if named.startswith("$") else {})
    with contextlib.ExitStack() as stack:
        if said == REFUSED:
            stack.enter_context(pytest.raises(InvalidRequest, match="gateway serve"))
        environment = found(command, arguments, own, [etc.folder] if is_installed else [])
        assert said in (told := capsys.readouterr().err) and bool(told) is bool(said)
        assert (f"--config {etc.file}" in told) is (said == HERE and is_installed)
        assert arguments.config == (etc.file if said == SERVICE else options["config"])
        names = ("GATEWAY_PORT", "GATEWAY_OPS_PORT", "RUNTIME_DIRECTORY")
        expected = ["9000", "9001", "/run/gate"] if said == SERVICE else [own.variables.get(name) for name in names]
        assert [environment.variables.get(name) for name in names] == expected


def test_a_gateway_of_this_folder_has_the_file_it_had_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = Environment({})
    Path("own.toml").write_text("[server]\nport = 8765\n")
    tables = '[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    for file, own_model, expected in (
        (Path("own.toml"), "", "own.toml"),
        (None, tables, "var/upstream.toml"),
        (None, "", ""),
    ):
        prepare(file, None, own, is_first=True, own_model=own_model)
        arguments = argparse.Namespace(config=None)
        found("client-config", arguments, own, [])
        assert arguments.config == (tmp_path / expected if expected else None)
    Path("own.toml").unlink()
    (tmp_path / "var" / "started-with").write_text(str(tmp_path / "own.toml"))
    found("client-config", arguments := argparse.Namespace(config=None), own, [])
    assert arguments.config is None, "it is gone"


def test_who_may_not_read_the_state_is_told_the_whole_command(etc: Etc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(etc.folder)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    etc.unit("StateDirectory=gateway-that-is-not-there\n")
    arguments = argparse.Namespace(config=None, line=["keys", "create", "--name", "two words"])
    with pytest.raises(InvalidRequest, match=r"sudo gateway keys create --name 'two words'$"):
        found("keys", arguments, Environment(), [etc.folder])
