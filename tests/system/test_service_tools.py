"""What an operator does beside the installed service: look at it, save its state, fill its index, remove it."""

import json
import re

import pytest

from gateway.cli.main import _EXAMPLES
from tests.support.installed_service import FILE, InstalledService
from tests.support.markdown_fences import fences
from tests.support.paths import GOLDEN, ROOT

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.alone]

STATE = "/var/lib/gateway"


@pytest.fixture(autouse=True, scope="module")
def _installed(service: InstalledService) -> None:
    service.configure()
    if service.systemctl("is-active", "gateway.service", check=False) != "active":
        service.managed("install")
    else:
        service.restart()


def owners(service: InstalledService) -> set[str]:
    """Owners of everything in the state directory."""
    return set(service.machine.run("find", f"{STATE}/", "-printf", "%u\n").stdout.split())


def test_every_line_in_the_journal_is_json_with_its_priority(service: InstalledService) -> None:
    cursor = service.cursor()
    service.signal("KILL", *service.worker_pids())
    service.wait_for(lambda: bool(service.events("worker_ended", cursor)))
    assert service.load(1).result()["errors"] == {}
    service.wait_for(lambda: bool(service.events("request", cursor)))
    assert {each["priority"] for each in service.events("request", cursor)} == {6}
    assert {each["priority"] for each in service.events("worker_ended", cursor)} == {4}
    lines = service.machine.run(
        "journalctl", "-q", "-o", "json", "-u", "gateway.service", "_TRANSPORT=stdout", f"--after-cursor={cursor}"
    ).stdout.splitlines()
    for line in lines:
        json.loads(json.loads(line)["MESSAGE"])


def test_root_checks_the_file_of_the_service_though_it_has_not_its_credentials(service: InstalledService) -> None:
    done = service.gateway("check-config", FILE)
    assert "ok" in done.stdout and done.stderr == ""
    service.configure("drain_s = 140\n")
    done = service.gateway("check-config", FILE, check=False)
    assert done.returncode == 78 and "server.drain_s" in done.stderr and "TimeoutStopSec=150" in done.stderr
    service.configure("port = 9999\n")
    done = service.gateway("check-config", FILE)
    assert "127.0.0.1:9999" in done.stderr and "127.0.0.1:8080" in done.stderr
    service.configure()


def test_an_upgrade_says_that_a_new_address_needs_a_restart(service: InstalledService) -> None:
    service.configure("port = 9999\n")
    told = service.managed("upgrade")
    assert "127.0.0.1:9999 only after: systemctl restart gateway.socket gateway.service" in told
    assert service.load(1).result()["errors"] == {}
    service.configure()
    service.managed("upgrade")


def test_the_doctor_finds_a_sound_installation_sound_and_names_a_fault(service: InstalledService) -> None:
    service.manage("install")  # mends the modes of the file that `configure` has just written
    done = service.gateway("doctor", check=False)
    assert done.returncode == 0, done.stdout
    copied = "cp -p /etc/gateway/credentials/llm /root/llm; echo other > /etc/gateway/credentials/llm"
    service.machine.run("sh", "-c", copied)
    service.machine.run("chmod", "0640", "/etc/gateway/credentials/llm")
    service.machine.run("touch", f"{STATE}/of-root")
    done = service.gateway("doctor", check=False)
    assert done.returncode == 1 and "chmod 0600 /etc/gateway/credentials/llm" in done.stdout
    assert "1 files in /var/lib/gateway belong to another user" in done.stdout
    told = "another credential 'llm'\n      mend: systemctl restart gateway.service"
    assert told in done.stdout
    service.machine.run("chmod", "0600", "/etc/gateway/credentials/llm")
    service.systemctl("restart", "gateway.service")
    assert told not in service.gateway("doctor", check=False).stdout
    service.machine.run("mv", "/root/llm", "/etc/gateway/credentials/llm")
    service.systemctl("restart", "gateway.service")
    service.machine.run("rm", f"{STATE}/of-root")


def test_a_backup_of_the_running_service_can_be_put_back(service: InstalledService) -> None:
    key = service.key
    service.gateway("backup", "/var/backups/state.tar")
    assert service.machine.run("stat", "-c", "%a", "/var/backups/state.tar").stdout.strip() == "600"
    refused = service.gateway("restore", "/var/backups/state.tar", check=False)
    assert refused.returncode == 1 and "stop it first" in refused.stderr
    service.systemctl("stop", "gateway.socket", "gateway.service")
    service.machine.run("sh", "-c", f"rm -rf {STATE}/*")
    service.gateway("restore", "/var/backups/state.tar")
    service.systemctl("start", "gateway.service")
    assert service.key == key and service.load(1).result()["errors"] == {} and len(owners(service)) == 1


def test_a_full_disk_ends_no_worker_and_is_told(service: InstalledService) -> None:
    folder = "/var/lib/private/gateway"

    def refused() -> dict[str, int]:
        result: dict[str, int] = service.load(1).result()["errors"]
        return result

    service.systemctl("stop", "gateway.socket", "gateway.service")
    service.machine.run("cp", "-a", folder, "/var/state")
    service.machine.run("mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", folder)
    try:
        service.machine.run("sh", "-c", f"cp -a /var/state/. {folder}/ && chown --reference=/var/state {folder}")
        service.systemctl("start", "gateway.service")
        cursor = service.cursor()
        service.machine.run("sh", "-c", f"umask 077; dd if=/dev/zero of={folder}/fill bs=1k", check=False)
        assert refused() == {}
        service.wait_for(lambda: bool(service.events("state_file_failed", cursor)))
        notes = service.machine.run("curl", "-s", "http://127.0.0.1:9464/readyz").stdout
        assert "look at the disk" in notes and service.events("worker_ended", cursor) == []
        service.restart()
        assert refused() == {}
        service.machine.run("rm", f"{folder}/fill")
    finally:
        service.systemctl("stop", "gateway.socket", "gateway.service")
        service.machine.run("umount", folder)
        service.machine.run("rm", "-r", "/var/state")
    service.systemctl("start", "gateway.service")
    assert refused() == {}


def test_a_missing_credential_is_told_and_not_tried_again_and_again(service: InstalledService) -> None:
    service.machine.run("mv", "/etc/gateway/credentials/llm", "/etc/llm")
    service.systemctl("restart", "gateway.service", check=False)
    service.wait_for(lambda: service.systemctl("is-failed", "gateway.service", check=False) == "failed")
    assert service.systemctl("show", "-P", "NRestarts", "gateway.service") == "0"
    done = service.gateway("check-config", FILE, check=False)
    assert done.returncode == 78 and "there is no /etc/gateway/credentials/llm" in done.stderr
    service.machine.run("mv", "/etc/llm", "/etc/gateway/credentials/llm")
    service.restart()
    assert "requests" in service.gateway("usage", "--since", "1d").stdout


def test_a_python_that_the_unit_cannot_run_is_refused_before_anything_is_done(service: InstalledService) -> None:
    service.machine.run("sh", "-c", 'cp "$(readlink -f /usr/bin/python3)" /root/python3')
    before = service.machine.run("ls", "/opt/gateway/releases").stdout
    done = service.manage("install", PYTHON="/root/python3")
    assert done.returncode == 1
    assert "the unit hides home folders" in done.stderr and "PYTHON=/usr/bin/python3" in done.stderr
    assert service.machine.run("ls", "/opt/gateway/releases").stdout == before


SAID: dict[str, str] = json.loads((GOLDEN / "told_by_commands.json").read_text())
"""What the examples of the help print on the installed service. The others start a server, read pictures, or are about
no gateway."""


def test_the_commands_of_the_help_and_the_documents_are_about_the_installed_service(service: InstalledService) -> None:
    machine, untold = service.machine, _EXAMPLES.keys() - SAID.keys()
    assert untold == {"serve", "llm-server", "ocr-server", "ocr", "completion", "manual", "upgrade"}
    machine.write("/root/tour/handbook/two.md", "# Another page\n\nAbout kingfishers.\n")
    machine.run("sh", "-c", f"mkdir -p /var/backups /root/tour/old && cp {STATE}/keys.json /root/tour/old")
    assert service.load(1).result()["errors"] == {}
    service.wait_for(lambda: "requests" in service.gateway("usage").stdout)
    about = f"this is about the installed service: {FILE}, state in {STATE}\n"
    key = ""
    for name, said in SAID.items():
        example = _EXAMPLES[name].replace("xqrd3myy", key[3:11])
        done = machine.run("sh", "-c", f"cd /root/tour && {example}", check=False)
        assert said.replace("ID", key[3:11]) in done.stdout + done.stderr, f"{example}: {done}"
        assert (about in done.stderr) is (name != "check-config"), f"{example}: {done}"
        if name == "keys create":
            key = done.stdout.strip()
            head = f"Authorization: Bearer {key}"
            machine.run("curl", "-sf", "-H", head, "http://127.0.0.1:8080/v1/models")
    for document in ("README.md", "docs/operations.md", "docs/keys-and-limits.md"):
        blocks = "".join(fence.content for fence in fences((ROOT / document).read_text()))
        for command in re.findall(r"^(?:echo .*\| )?gateway (?!check-config).*", blocks, re.MULTILINE):
            done = machine.run("sh", "-c", f"cd /root/tour && {command}", check=False)
            assert done.returncode != 2 and about in done.stderr, f"{command}: {done}"
    assert len(owners(service)) == 1
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "gateway")
    for command in ("keys list", "usage", "index stats", "chat Hello", "reload", "doctor"):
        refused = machine.run(*user, *command.split(), check=False)
        remedy = {"chat Hello": "sudo gateway", "reload": "are you root"}.get(command, f"sudo gateway {command}\n")
        assert refused.returncode == 1 and remedy in refused.stderr + refused.stdout, refused
    assert "Nothing found" in machine.run(*user, "sanitize", text="Hello").stdout


def test_it_is_removed_and_its_state_stays(service: InstalledService) -> None:
    service.managed("uninstall")
    assert service.systemctl("is-active", "gateway.socket", check=False) == "inactive"
    assert service.machine.run("test", "-e", f"{STATE}/keys.json", check=False).returncode == 0
    for gone in ("/opt/gateway/current", "/usr/local/bin/gateway"):
        assert service.machine.run("test", "-L", gone, check=False).returncode == 1


def test_a_service_that_holds_the_port_itself_is_moved_over(service: InstalledService) -> None:
    """As a service of version 0.1 does, which has no socket unit."""
    old = f"ExecStart={service.python} -m http.server 8080 --bind 127.0.0.1\n"
    service.machine.write("/etc/systemd/system/gateway.service", f"[Service]\nDynamicUser=yes\n{old}")
    service.systemctl("daemon-reload")
    service.systemctl("start", "gateway.service")
    told = service.managed("install")
    assert "stopping the service that holds the port without a socket unit" in told
    assert told.endswith("sudo gateway doctor\n") and service.systemctl("is-active", "gateway.socket") == "active"
    assert service.load(1).result()["errors"] == {}


def test_a_debian_package_installs_the_service_and_removes_it_and_purge_the_rest(service: InstalledService) -> None:
    service.manage("uninstall")
    told = service.managed("deb")
    assert service.machine.run("test", "-e", "/opt/gateway/current", check=False).returncode == 1
    package = told.split("built ")[1].split(" for ")[0]
    service.machine.run("dpkg", "-i", package)
    assert service.systemctl("is-active", "gateway.service") == "active"
    assert service.systemctl("is-enabled", "gateway.socket") == "enabled" and service.load(1).result()["errors"] == {}
    service.machine.run("dpkg", "-r", "gateway")
    assert service.systemctl("is-active", "gateway.socket", check=False) == "inactive"
    assert service.machine.run("test", "-e", f"{STATE}/keys.json", check=False).returncode == 0
    service.machine.write("/etc/systemd/system/gateway.service.d/own.conf", "[Service]\nCPUWeight=50\n")
    assert "/etc/systemd/system/gateway.service.d are kept" in service.manage("uninstall").stdout
    service.manage("uninstall", PURGE="1")
    for gone in ("/etc/gateway", STATE, "/etc/systemd/system/gateway.service.d"):
        assert service.machine.run("test", "-e", gone, check=False).returncode == 1
