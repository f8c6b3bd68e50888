"""The gateway as an installed service on a machine of `booted_systemd`, for the system tests."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.support.booted_systemd import BootedSystemd

FILE = "/etc/gateway/gateway.toml"
PROGRAM = "gateway"
_UPSTREAM_PORT = 9911


class InstalledService:
    """`source` and `packages` are folders inside: this repository, and the packages that it needs."""

    def __init__(self, machine: BootedSystemd, python: str, source: str, packages: str) -> None:
        self.machine, self.python, self.source, self._packages = machine, python, source, packages
        self._load = [python, f"{source}/tests/support/service_load.py"]

    def start_upstream(self) -> None:
        self.machine.run(
            "systemd-run", "--quiet", "--unit=upstream", f"--setenv=PYTHONPATH={self._packages}",
            *self._load, "upstream", str(_UPSTREAM_PORT),
        )  # fmt: skip

    def configure(self, server: str = "", mode: str = "0644") -> None:
        """Write the configuration; `server` are lines of its table `server`."""
        url = f"http://127.0.0.1:{_UPSTREAM_PORT}/v1"
        upstream = f'base_url = "{url}"\nmodel = "m"\napi_key = {{ credential = "llm" }}\n'
        off = '[guardrail]\nenabled = "off"\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n'
        text = f'{off}[[models]]\nname = "SvcLLM"\n'
        self.machine.write(FILE, f"{text}[[models.upstreams]]\n{upstream}[server]\n{server}", mode=mode)
        self.machine.write("/etc/gateway/credentials/llm", "not-a-real-key\n", mode="0600")

    def manage(self, action: str, source: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """`make install-service` and the like, as its script, under an umask that hides everything from others."""
        script = f"umask 077; exec sh {source or self.source}/systemd/service {action}"
        settings = {"PYTHON": self.python, "SITE_PACKAGES": self._packages, **variables}
        return self.machine.run("sh", "-c", script, check=False, variables=settings)

    def managed(self, action: str, **variables: str) -> str:
        """What `manage` prints; it must succeed."""
        done = self.manage(action, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def reload(self, server: str = "") -> None:
        """Take over a configuration with these lines of its table `server`."""
        self.configure(server)
        self.systemctl("reload", "gateway.service")

    def restart(self) -> None:
        """Restart with the configuration as it is now."""
        self.systemctl("reset-failed", "gateway.service", "gateway.socket")
        self.systemctl("restart", "gateway.service")

    def systemctl(self, *arguments: str, check: bool = True) -> str:
        return self.machine.run("systemctl", *arguments, check=check).stdout.strip()

    def gateway(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.machine.run(PROGRAM, *arguments, check=check)

    @property
    def key(self) -> str:
        return self.machine.run("cat", "/var/lib/gateway/dev-key").stdout.strip()

    def load(self, seconds: float, streams: int = 0, pieces: int = 1) -> "RunningLoad":
        """Start load; `RunningLoad.result` waits for its end."""
        return self._running("load", seconds, streams, pieces)

    def burst(self, connections: int) -> dict[str, Any]:
        return self._running("burst", connections).result()

    def _running(self, *words: object) -> "RunningLoad":
        command = self.machine.command(
            *self._load, *map(str, words), self.key, variables={"PYTHONPATH": self._packages}
        )
        return RunningLoad(command)

    def wait_for(self, condition: Callable[[], bool], limit_s: float = 30) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < end, self.machine.run("journalctl", "-n", "60", "--no-pager").stdout
            time.sleep(0.1)

    # --- what runs and what it logs ----------------------------------------------------------------------------------

    def main_pid(self) -> int:
        return int(self.systemctl("show", "-P", "MainPID", "gateway.service"))

    def fork_server_pid(self) -> int:
        """0 when there is none."""
        found = self.machine.run("pgrep", "-P", str(self.main_pid()), "gateway-fork", check=False).stdout.strip()
        return int(found or 0)

    def worker_pids(self, orphaned: bool = False) -> list[int]:
        """The workers that the fork server has forked, or all if their server may have ended."""
        of_server = [] if orphaned else ["-P", str(self.fork_server_pid() or -1)]
        listed = self.machine.run("pgrep", *of_server, "gateway-worker", check=False).stdout
        return [int(pid) for pid in listed.split()]

    def signal(self, name: str, *pids: int) -> None:
        self.machine.run("kill", f"-{name}", *map(str, pids))

    def journal(self, cursor: str = "") -> list[dict[str, Any]]:
        """The service's own lines since `cursor`: decoded JSON, with the journal's priority as `priority`."""
        since = [f"--after-cursor={cursor}"] if cursor else []
        lines = self.machine.run("journalctl", "-q", "-o", "json", "-u", "gateway.service", *since).stdout.splitlines()
        entries = [json.loads(line) for line in lines]
        own = [each for each in entries if each.get("_COMM") != "systemd" and "_TRANSPORT" in each]
        return [
            {**json.loads(each["MESSAGE"]), "priority": int(each["PRIORITY"])}
            for each in own
            if each["_TRANSPORT"] == "stdout" and each["MESSAGE"].startswith("{")
        ]

    def cursor(self) -> str:
        """The service's last entry in the journal. Another one would not do: journalctl 252 skips the first entry that
        matches `-u` after a cursor whose own entry does not."""
        last = self.machine.run("journalctl", "-q", "-n", "1", "-o", "json", "-u", "gateway.service").stdout
        return str(json.loads(last)["__CURSOR"])

    def events(self, name: str, cursor: str) -> list[dict[str, Any]]:
        return [each for each in self.journal(cursor) if each["event"] == name]

    def memory_mib(self) -> float:
        """Proportional memory of every process of the service, together."""
        pids = self.machine.run("cat", "/sys/fs/cgroup/system.slice/gateway.service/cgroup.procs").stdout.split()
        rollups = "".join(self.machine.run("cat", f"/proc/{pid}/smaps_rollup").stdout for pid in pids)
        return sum(int(line.split()[1]) for line in rollups.splitlines() if line.startswith("Pss:")) / 1024


class RunningLoad:
    """`service_load.py` as it runs."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self) -> dict[str, Any]:
        """Wait for its end; see `service_load.Load.result`."""
        output, errors = self._process.communicate(timeout=240)
        assert self._process.returncode == 0, errors
        result: dict[str, Any] = json.loads(output)
        return result
