"""The unit files: systemd itself judges them, and they say what the program does."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gateway.cli.options import EX_CONFIG
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Server
from tests.support.paths import ROOT

SYSTEMD = ROOT / "systemd"
EXAMPLE = SYSTEMD / "gateway.toml.example"


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed here")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False)


def setting(name: str) -> str:
    found = re.findall(rf"^{name}=(.*)$", (SYSTEMD / "gateway.service").read_text(), re.MULTILINE)
    assert len(found) == 1, f"{name} stands {len(found)} times in the unit"
    return str(found[0])


def test_the_sandbox_scores_two_or_better_of_ten() -> None:
    done = analyze("security", "--offline=true", "--threshold=20", str(SYSTEMD / "gateway.service"))
    if "Unknown" in done.stderr or "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze is too old to judge a unit offline")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_a_unit_without_its_sandbox_would_not_pass(tmp_path: Path) -> None:
    bare = tmp_path / "gateway.service"
    text = (SYSTEMD / "gateway.service").read_text()
    bare.write_text(re.sub(r"^(SystemCallFilter|CapabilityBoundingSet|RestrictAddress\w+)=.*\n", "", text, flags=re.M))
    assert analyze("security", "--offline=true", "--threshold=20", str(bare)).returncode != 0


@pytest.mark.parametrize("fault", ["", "Sandbox=yes\n"], ids=["as it is", "with a fault planted"])
def test_systemd_finds_no_fault_in_the_unit_files(tmp_path: Path, fault: str) -> None:
    program = tmp_path / "gateway"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in ("gateway.service", "gateway.socket"):
        text = (SYSTEMD / name).read_text().replace("/opt/gateway/current/.venv/bin/gateway", str(program))
        text = text.replace("[Service]\n", f"[Service]\n{fault}")
        (tmp_path / name).write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
    done = analyze("verify", "--man=no", str(tmp_path / "gateway.service"), str(tmp_path / "gateway.socket"))
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or line.startswith("gateway.")]
    assert bool(ours) == bool(fault), ours


def test_the_time_to_stop_is_longer_than_the_drain() -> None:
    assert int(setting("TimeoutStopSec")) >= Server().drain_s + 15


def test_a_wrong_configuration_does_not_restart_the_service() -> None:
    assert str(EX_CONFIG) in setting("RestartPreventExitStatus").split()


def test_the_secret_the_unit_loads_is_the_one_the_example_names() -> None:
    upstream = tomllib.loads(EXAMPLE.read_text())["models"][0]["upstreams"][0]
    assert setting("LoadCredential").split(":")[0] == upstream["api_key"]["credential"]


def test_the_socket_unit_listens_where_the_example_says() -> None:
    server = tomllib.loads(EXAMPLE.read_text())["server"]
    text = (SYSTEMD / "gateway.socket").read_text()
    assert f"ListenStream={server['host']}:{server['port']}\n" in text


def test_the_example_configuration_is_valid_and_its_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "llm").write_text("not-a-real-key\n")
    config = load_config(EXAMPLE, tmp_path, Environment({"CREDENTIALS_DIRECTORY": str(tmp_path)}))
    secret = config.models[0].upstreams[0].api_key
    assert secret is not None
    assert secret.reveal() == "not-a-real-key"


def test_check_config_passes_the_example_and_names_the_missing_secret() -> None:
    command = [sys.executable, "-m", "gateway", "check-config", str(EXAMPLE)]
    good = subprocess.run(
        command, env={"GATEWAY_CREDENTIAL_LLM": "x"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (good.returncode, good.stderr) == (0, "")
    bad = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert bad.returncode == 78
    assert "models[0].upstreams[0].api_key" in bad.stderr
    assert "GATEWAY_CREDENTIAL_LLM" in bad.stderr
