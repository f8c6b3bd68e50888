"""gateway-render.service on a machine with a real systemd: who is served, and what the unit takes away."""

import re
from collections.abc import Iterator

import pytest

from tests.support.booted_systemd import PYTHON, BootedSystemd, booted
from tests.support.paths import ROOT
from tests.support.rendering import need_chromium

pytestmark = pytest.mark.system

_PLACE = "/run/gateway-render.sock"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BootedSystemd]:
    need_chromium()
    with booted(tmp_path_factory.mktemp("systemd")) as machine:
        unit = (ROOT / "systemd/gateway-render.service").read_text()
        unit = unit.replace("/opt/gateway/current/.venv/bin/python", str(PYTHON)).replace("--idle-s 60", "--idle-s 2")
        unit = unit.replace("[Service]", "[Service]\nEnvironment=PYTHONPATH=/opt/packages:/opt/source")
        machine.write("/etc/systemd/system/gateway-render.service", unit)
        socket = (ROOT / "systemd/gateway-render.socket").read_text()
        machine.write("/etc/systemd/system/gateway-render.socket", socket)
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "start", "gateway-render.socket")
        yield machine


def render_as(machine: BootedSystemd, user: str) -> str:
    """What the client prints that `user`, made for it as the gateway's is, runs."""
    done = machine.run(
        "systemd-run", "--quiet", "--wait", "--pipe", "-p", "DynamicUser=yes", "-p", f"User={user}",
        "--setenv=PYTHONPATH=/opt/packages:/opt/source", str(PYTHON), "-m", "tests.system.render.render_client",
        _PLACE,
    )  # fmt: skip
    return done.stdout


def test_the_gateways_user_is_served_and_no_other(machine: BootedSystemd) -> None:
    assert "made by a script" in render_as(machine, "gateway") and "not rendered" in render_as(machine, "somebody")


def test_the_browser_keeps_its_sandbox_and_has_no_network(machine: BootedSystemd) -> None:
    assert "made by a script" in render_as(machine, "gateway")
    log = machine.run("journalctl", "-u", "gateway-render.service", "-o", "cat").stdout
    assert "ready" in log and "not rendered" not in log
    shown = machine.run("systemctl", "show", "gateway-render.service", "-p", "PrivateNetwork,ExecStart").stdout
    assert "PrivateNetwork=yes" in shown and "no-sandbox" not in shown


def test_the_service_ends_when_idle_and_is_started_again(machine: BootedSystemd) -> None:
    assert "made by a script" in render_as(machine, "gateway")
    machine.run("timeout", "30", "sh", "-c", "while systemctl is-active -q gateway-render.service; do sleep 0.2; done")
    assert "made by a script" in render_as(machine, "gateway")


def test_the_units_exposure_is_low(machine: BootedSystemd) -> None:
    told = machine.run("systemd-analyze", "security", "--no-pager", "gateway-render.service", check=False).stdout
    match = re.search(r"exposure level for gateway-render.service: ([\d.]+)", told)
    assert match is not None and float(match[1]) <= 2.5, told
