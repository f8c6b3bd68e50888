"""The section "A second machine" of docs/operations.md, done as it is printed."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.support.installed_service import PROGRAM, InstalledService
from tests.support.paths import ROOT

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.alone]

PASSWORD, PORT = "not-a-real-password", "6390"


def printed() -> list[str]:
    """The blocks of the section: the shell before the configuration, the configuration, the shell behind it."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = text[text.index("## A second machine") :].split("\n## ")[0]
    blocks = re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 3, "the section has three blocks"
    return [
        each.replace("redis.example.org:6379", f"127.0.0.1:{PORT}").replace("PASSWORD", PASSWORD) for each in blocks
    ]


@pytest.fixture
def with_redis(service: InstalledService) -> Iterator[InstalledService]:
    """The installed service, beside a Redis with a password."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed here")
    service.configure()
    service.managed("install")
    options = ["--port", PORT, "--requirepass", PASSWORD, "--appendonly", "yes", "--dir", "/tmp"]
    service.machine.run("systemd-run", "--quiet", "--unit=redis-here", "redis-server", *options)
    yield service
    service.machine.run("systemctl", "stop", "redis-here", check=False)
    service.machine.run("rm", "-rf", "/etc/systemd/system/gateway.service.d")
    service.systemctl("daemon-reload")
    service.configure()
    service.restart()


def test_what_is_printed_makes_a_machine_that_shares_a_redis(with_redis: InstalledService) -> None:
    service, (before, configuration, behind) = with_redis, printed()
    make, *commands = before.splitlines()
    assert make == "make install-service EXTRAS=core,web,redis"
    service.machine.run("bash", "-ec", "\n".join(commands))
    service.configure("\n" + configuration)
    key = service.key
    steps = behind.replace("$gateway", PROGRAM)
    said = service.machine.run("bash", "-ec", steps).stdout
    assert "ok" in said, said
    asked = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {key}"]
    assert service.machine.run(*asked, "http://127.0.0.1:8080/v1/models").stdout == "200"
    listed = service.gateway("keys", "list", "--config", "/etc/gateway/gateway.toml").stdout
    assert key.split("_")[1] in listed
