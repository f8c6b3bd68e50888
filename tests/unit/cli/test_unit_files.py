"""Reading unit files, and what `check-config` concludes from them."""

from pathlib import Path

import pytest

from gateway.cli.check import check_service
from gateway.cli.unit_files import read_unit, service_environment, service_unit
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError

MODEL = """
[local_llm]
enabled = false
[local_ocr]
enabled = false
[[models]]
name = "SvcLLM"
[[models.upstreams]]
base_url = "http://127.0.0.1:9/v1"
model = "m"
api_key = { credential = "llm" }
"""


class Etc:
    """A folder of units and a configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "gateway.toml"
        self.secret = folder / "llm"
        self.secret.write_text("not-a-real-key\n")
        self.configure()
        self.unit()

    def configure(self, server: str = "") -> None:
        self.file.write_text(f"{MODEL}[server]\n{server}")

    def unit(self, more: str = "TimeoutStopSec=150\n", listen: str = "127.0.0.1:8080") -> None:
        start = f"ExecStart=/opt/gateway serve --config {self.file}\nLoadCredential=llm:{self.secret}\n"
        (self.folder / "gateway.service").write_text(f"[Service]\n{start}{more}")
        (self.folder / "gateway.socket").write_text(f"[Socket]\nListenStream={listen}\n")

    def check(self) -> list[str]:
        """Warnings. Raises ConfigError."""
        unit = service_unit(self.file, [self.folder])
        assert unit is not None
        return list(check_service(self.file, unit, Environment({})).warnings)


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


def test_a_file_is_checked_with_the_credentials_that_its_unit_loads(etc: Etc) -> None:
    assert etc.check() == []


def test_a_credential_whose_file_is_missing_is_named(etc: Etc) -> None:
    etc.secret.unlink()
    with pytest.raises(ConfigError, match=r"credential 'llm': there is no "):
        etc.check()


def test_a_sealed_credential_is_not_checked_and_that_is_said(etc: Etc) -> None:
    text = (etc.folder / "gateway.service").read_text().replace("LoadCredential=", "LoadCredentialEncrypted=")
    (etc.folder / "gateway.service").write_text(text)
    unit = service_unit(etc.file, [etc.folder])
    assert unit is not None
    assert check_service(etc.file, unit, Environment({})).unchecked == ["llm"]


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


@pytest.mark.parametrize("drain_s", [136, 300])
def test_a_drain_that_the_unit_would_cut_is_refused(etc: Etc, drain_s: int) -> None:
    etc.configure(f"drain_s = {drain_s}\n")
    with pytest.raises(ConfigError, match="allows at most 135"):
        etc.check()
    etc.configure("drain_s = 135\n")
    assert etc.check() == []


def test_a_file_that_no_unit_names_is_nobodys(etc: Etc) -> None:
    other = etc.folder / "other.toml"
    other.write_text("")
    assert service_unit(other, [etc.folder]) is None
