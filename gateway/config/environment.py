"""The process environment: the one module that reads it.

The variables of systemd's protocols are sd_notify(3) and sd_listen_fds(3), read 2026-11-21.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables that the process was started with; the properties read those of systemd."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def state_dir(self) -> Path:
        """`$STATE_DIRECTORY` (its first entry), else `./var`."""
        return Path(self.variables.get("STATE_DIRECTORY", "").split(":")[0] or "var")

    @property
    def notify_socket(self) -> str:
        return self.variables.get("NOTIFY_SOCKET", "")

    @property
    def watchdog_s(self) -> float:
        """Seconds within which systemd wants a sign of life; 0 = none wanted."""
        micros = self.variables.get("WATCHDOG_USEC", "")
        return int(micros) / 1e6 if micros.isdigit() else 0.0

    @property
    def listen_fds(self) -> tuple[int, ...]:
        """Inherited listening sockets, when they are meant for this process."""
        if self.variables.get("LISTEN_PID") != str(os.getpid()):
            return ()
        count = self.variables.get("LISTEN_FDS", "")
        return tuple(range(3, 3 + int(count))) if count.isdigit() else ()

    def credential(self, name: str) -> str | None:
        """`$CREDENTIALS_DIRECTORY/NAME`, else `$GATEWAY_CREDENTIAL_NAME`; None when neither is there."""
        folder = self.variables.get("CREDENTIALS_DIRECTORY", "")
        if folder and (path := Path(folder) / name).is_file():
            return path.read_text().strip()
        return self.variables.get("GATEWAY_CREDENTIAL_" + name.upper().replace("-", "_"))


def read_environment() -> Environment:
    return Environment(dict(os.environ))


def worker_environment(environment: Environment, metrics_folder: Path) -> dict[str, str]:
    """What a worker process is started with: where prometheus-client, which reads it at its import, keeps the metrics
    that all workers share; nothing of systemd's, which talks to the parent alone."""
    systemds = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
    inherited = {name: value for name, value in environment.variables.items() if name not in systemds}
    return {**inherited, "PROMETHEUS_MULTIPROC_DIR": str(metrics_folder)}
