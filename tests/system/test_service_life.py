"""The installed service under a live systemd: nothing that an operator does to it, and no crash, is noticed by clients.

Times are bounds of the specification (issue 17), stretched by how slow the machine is just now (`slowness`): they hold
on two idle cores, and a test machine that does something else must not fail them.
"""

import re
import threading
import time
from typing import Any

import pytest

from tests.support.installed_service import FILE, InstalledService

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.alone]

WORKER_START_S = 0.75
"""What importing the program takes on two idle cores."""

CLIENTS = 4
"""Calls that run at once in `service_load.py`: so many may be lost with a process that is killed."""


def slowness(service: InstalledService) -> float:
    """How many times slower this machine is than an idle one, at least 1."""
    program = "import runpy, sys; sys.path.insert(0, '/opt/gateway/current'); import gateway.runtime.worker"
    started = time.monotonic()
    service.machine.run("/opt/gateway/current/.venv/bin/python", "-c", program)
    return max(1.0, (time.monotonic() - started) / WORKER_START_S)


def assert_unnoticed(result: dict[str, Any], longest_s: float, lost: int = 0) -> None:
    """No call was refused or delayed; at most `lost` were cut while they ran."""
    errors = dict(result["errors"])
    cut = errors.pop("ServerDisconnectedError", 0) + errors.pop("ClientOSError", 0)
    assert errors == {} and cut <= lost, result
    assert result["calls"] > 50, result
    assert result["times"][0] <= longest_s, result


@pytest.fixture(autouse=True, scope="module")
def _installed(service: InstalledService) -> None:
    """`make install-service` under umask 077, twice: first without any configuration, then with one that only root can
    read yet. The second run takes the release that the first has made."""
    told = service.managed("install")
    assert "building release" in told and "installed but not started" in told
    service.configure(mode="0600")
    told = service.managed("install")
    assert "building release" not in told and "serves" in told


def test_it_is_installed_enabled_small_and_sandboxed(service: InstalledService) -> None:
    for unit in ("gateway.socket", "gateway.service"):
        assert service.systemctl("is-active", unit) == "active" and service.systemctl("is-enabled", unit) == "enabled"
    assert service.machine.run("stat", "-c", "%a", FILE).stdout.strip() == "644" and len(service.worker_pids()) == 1
    assert service.memory_mib() <= 90  # 80 to 86 were measured (docs/capacity.md); 68 is the aim
    score = service.machine.run("systemd-analyze", "security", "gateway.service").stdout.splitlines()[-1]
    assert float(score.split(":")[1].split()[0]) <= 1.3


def test_a_restart_refuses_nobody_and_ten_streams_end_well(service: InstalledService) -> None:
    limit_s = 2 * slowness(service)
    load = service.load(12, streams=10, pieces=20)
    service.wait_for(lambda: len(service.events("request", "")) > 20)
    service.systemctl("restart", "gateway.service")
    result = load.result()
    assert_unnoticed(result, limit_s)
    assert result["streams"] == ["done"] * 10


def test_a_stop_ends_what_outlasts_the_drain_with_an_error_event(service: InstalledService) -> None:
    service.reload("drain_s = 2\n")
    cursor = service.cursor()
    load = service.load(0.5, streams=10, pieces=100)
    service.wait_for(lambda: len(service.events("request", cursor)) >= 4)
    started = time.monotonic()
    service.systemctl("restart", "gateway.service")
    assert time.monotonic() - started < 2 + 8 and load.result()["streams"] == ["shutting_down"] * 10
    assert service.events("requests_ended", cursor)[0]["count"] == 10 and service.events("stopped", cursor)
    service.reload()


def test_an_upgrade_and_a_rollback_are_not_noticed(service: InstalledService) -> None:
    before, releases = service.main_pid(), service.machine.run("readlink", "/opt/gateway/current").stdout
    load = service.load(20, streams=10, pieces=40)
    service.wait_for(lambda: len(service.events("request", "")) > 20)
    service.managed("upgrade")
    assert service.main_pid() != before and service.machine.run("readlink", "/opt/gateway/current").stdout != releases
    service.managed("rollback")
    assert service.machine.run("readlink", "/opt/gateway/current").stdout == releases
    result = load.result()
    assert_unnoticed(result, 0.5 * slowness(service))
    assert result["streams"] == ["done"] * 10 and service.systemctl("is-active", "gateway.service") == "active"


def test_an_upgrade_to_a_release_that_does_not_start_goes_back_by_itself(service: InstalledService) -> None:
    service.machine.run("cp", "-a", service.source, "/opt/broken")
    service.machine.write("/opt/broken/gateway/runtime/worker.py", "raise SystemExit(3)\n")
    before, release = service.main_pid(), service.machine.run("readlink", "/opt/gateway/current").stdout
    load = service.load(15)
    done = service.manage("upgrade", "/opt/broken")
    assert done.returncode == 1 and "going back" in done.stderr and "did not become ready" in done.stderr
    assert_unnoticed(load.result(), 0.5 * slowness(service))
    assert service.main_pid() == before and service.machine.run("readlink", "/opt/gateway/current").stdout == release


def test_a_killed_worker_is_replaced_before_anybody_waits_long(service: InstalledService) -> None:
    limit_s = 0.5 * slowness(service)
    load = service.load(8)
    service.signal("KILL", *service.worker_pids())
    assert_unnoticed(load.result(), limit_s, lost=CLIENTS)


def test_a_killed_fork_server_is_replaced_when_a_worker_is_needed(service: InstalledService) -> None:
    limit_s, cursor = 2 * slowness(service), service.cursor()
    service.signal("KILL", service.fork_server_pid())
    load = service.load(8)
    service.signal("KILL", *service.worker_pids(orphaned=True))
    assert_unnoticed(load.result(), limit_s, lost=CLIENTS)
    assert [each["exit"] for each in service.events("worker_ended", cursor)] == ["unknown"]
    assert len(service.worker_pids()) == 1


def test_a_killed_supervisor_is_started_again_before_anybody_waits_long(service: InstalledService) -> None:
    limit_s = 1.2 * slowness(service)
    load = service.load(8)
    service.signal("KILL", service.main_pid())
    assert_unnoticed(load.result(), limit_s, lost=CLIENTS)


def test_a_worker_that_stops_delays_nobody_and_is_killed(service: InstalledService) -> None:
    service.reload("workers = 2\nstuck_s = 3\n")
    service.wait_for(lambda: len(service.worker_pids()) == 2)
    cursor = service.cursor()
    load = service.load(8)
    stuck = service.worker_pids()[0]
    service.signal("STOP", stuck)
    result = load.result()
    waited = [each for each in result["times"] if each > 0.5 * slowness(service)]
    assert len(waited) <= CLIENTS, "only calls that the stopped worker had already accepted may wait for its end"
    assert sum(result["errors"].values()) <= CLIENTS, result
    service.wait_for(lambda: bool(service.events("worker_silent", cursor)))
    assert service.events("worker_silent", cursor)[0]["pid"] == stuck
    service.wait_for(lambda: stuck not in service.worker_pids() and len(service.worker_pids()) == 2)
    service.reload()


@pytest.mark.parametrize("goes_on", [False, True], ids=["is killed", "goes on"])
def test_a_lone_worker_that_stops_delays_no_new_connection(service: InstalledService, goes_on: bool) -> None:
    service.reload("stuck_s = 4\n")
    service.wait_for(lambda: len(service.worker_pids()) == 1)
    limit_s, cursor = 0.5 * slowness(service), service.cursor()
    load = service.load(8)
    stuck = service.worker_pids()
    service.signal("STOP", *stuck)
    service.wait_for(lambda: len(service.worker_pids()) == 2)
    if goes_on:
        service.signal("CONT", *stuck)
    result = load.result()
    late = [each for each in result["times"] if each > limit_s]
    assert len(late) <= CLIENTS and sum(result["errors"].values()) <= CLIENTS, result
    service.wait_for(lambda: len(service.worker_pids()) == 1)
    assert (service.worker_pids() == stuck) == goes_on
    name = "worker_returned" if goes_on else "worker_silent"
    assert service.events("worker_relieved", cursor)[0]["pid"] == service.events(name, cursor)[0]["pid"] == stuck[0]
    service.reload()


def test_six_hundred_connections_at_once_are_all_served(service: InstalledService) -> None:
    result = service.burst(600)
    assert (result["calls"], result["errors"]) == (600, {})


def test_six_hundred_connections_during_a_restart_are_all_served(service: InstalledService) -> None:
    restarting = threading.Thread(target=service.systemctl, args=("restart", "gateway.service"))
    restarting.start()
    result = service.burst(600)
    restarting.join(60)
    assert (result["calls"], result["errors"]) == (600, {})


def test_a_good_reload_takes_over_and_a_bad_one_fails_visibly(service: InstalledService) -> None:
    load = service.load(10, streams=10, pieces=20)
    service.reload("max_in_flight = 500\n")
    service.configure("max_in_flight = -1\n")
    cursor = service.cursor()
    done = service.machine.run("systemctl", "reload", "gateway.service", check=False)
    assert done.returncode != 0
    messages = service.machine.run("journalctl", "-q", "-u", "gateway.service", f"--after-cursor={cursor}").stdout
    assert "server.max_in_flight" in messages
    service.configure()
    result = load.result()
    assert_unnoticed(result, 1 * slowness(service))
    assert result["streams"] == ["done"] * 10


def test_a_wrong_file_is_not_started_again_and_again(service: InstalledService) -> None:
    service.configure("max_in_flight = -1\n")
    cursor = service.cursor()
    service.systemctl("restart", "gateway.service", check=False)
    service.wait_for(lambda: service.systemctl("is-failed", "gateway.service", check=False) == "failed")
    assert service.systemctl("show", "-P", "ExecMainStatus", "gateway.service") == "78"
    assert service.systemctl("show", "-P", "NRestarts", "gateway.service") == "0" and cursor
    assert service.machine.run("curl", "-s", "-m", "20", "http://127.0.0.1:8080/", check=False).returncode
    service.wait_for(lambda: service.systemctl("is-failed", "gateway.socket", check=False) == "failed")
    service.configure()
    assert service.machine.run("systemctl", "start", "gateway.service", check=False).returncode
    told = service.gateway("doctor", check=False).stdout
    [remedy] = set(re.findall(r"mend: (systemctl reset-failed .*); journalctl", told))
    service.machine.run("sh", "-c", remedy)
    assert service.load(1).result()["errors"] == {}


def test_a_supervisor_that_hangs_is_ended_by_the_watchdog(service: InstalledService) -> None:
    service.machine.write("/run/systemd/system/gateway.service.d/watchdog.conf", "[Service]\nWatchdogSec=3\n")
    service.systemctl("daemon-reload")
    service.restart()
    before = service.main_pid()
    service.signal("STOP", before)
    service.wait_for(lambda: service.main_pid() not in (0, before), 40)
    service.machine.run("rm", "/run/systemd/system/gateway.service.d/watchdog.conf")
    service.systemctl("daemon-reload")
    service.wait_for(lambda: service.systemctl("is-active", "gateway.service", check=False) == "active")
    assert service.load(1).result()["errors"] == {}
