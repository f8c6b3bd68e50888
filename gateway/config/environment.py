"""The environment variables of the process. The only module that reads them.

Sources: sd_notify(3) and sd_listen_fds(3), read 2026-11-21."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that the process was started with; the properties interpret those of systemd."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def state_dir(self) -> Path:
        """`$STATE_DIRECTORY` (its first entry), else `./var`."""
        return Path(self.variables.get("STATE_DIRECTORY", "").split(":")[0] or "var")

    @property
    def config_file(self) -> Path | None:
        """`$GATEWAY_CONFIG`, the configuration file of every command that is given none; None without one."""
        name = self.variables.get("GATEWAY_CONFIG", "")
        return Path(name) if name else None

    @property
    def notify_socket(self) -> str:
        """Path of the socket for sd_notify messages; a leading `@` means an abstract one. Empty without systemd."""
        return self.variables.get("NOTIFY_SOCKET", "")

    @property
    def watchdog_s(self) -> float:
        """Seconds within which systemd expects a watchdog message; 0 = no watchdog."""
        micros = self.variables.get("WATCHDOG_USEC", "")
        return int(micros) / 1e6 if micros.isdigit() else 0.0

    @property
    def listen_fds(self) -> tuple[int, ...]:
        """File descriptors of the listening sockets that systemd handed to this process, from 3 on."""
        if self.variables.get("LISTEN_PID") != str(os.getpid()):
            return ()
        count = self.variables.get("LISTEN_FDS", "")
        return tuple(range(3, 3 + int(count))) if count.isdigit() else ()

    @property
    def has_socket_unit(self) -> bool:
        """Whether systemd passed the product socket, to this process or to the one that it replaces."""
        return bool(self.variables.get("LISTEN_FDS"))

    @property
    def handover(self) -> tuple[int, ...]:
        """File descriptors from the supervisor that this process shall replace: its channel, the product socket and, if
        it has one, the ops socket. Empty for an ordinary start. Written by `handover_environment`."""
        return tuple(int(each) for each in self.variables.get(_HANDOVER, "").split())

    @property
    def runtime_dir(self) -> Path | None:
        """`$RUNTIME_DIRECTORY` (its first entry), where the control socket is; None without one."""
        folder = self.variables.get("RUNTIME_DIRECTORY", "").split(":")[0]
        return Path(folder) if folder else None

    @property
    def logs_to_journal(self) -> bool:
        """Whether standard output goes to systemd's journal (`$JOURNAL_STREAM`, systemd.exec(5))."""
        try:
            output = os.fstat(1)
        except OSError:
            return False
        return self.variables.get("JOURNAL_STREAM") == f"{output.st_dev}:{output.st_ino}"

    def credential(self, name: str) -> str | None:
        """The secret in the file `$CREDENTIALS_DIRECTORY/NAME`, else in `$GATEWAY_CREDENTIAL_NAME`; None without both.

        Blanks around the file's text are removed. Raises OSError when the file cannot be read.
        """
        folder = self.variables.get("CREDENTIALS_DIRECTORY", "")
        if folder and (path := Path(folder) / name).is_file():
            return path.read_text().strip()
        return self.variables.get(credential_variable(name))


_HANDOVER = "GATEWAY_HANDOVER"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""OpenBLAS, which numpy's wheels bring, reads this variable when numpy is first imported."""


def credential_variable(name: str) -> str:
    """The variable that holds the credential `name` where systemd provides none."""
    return "GATEWAY_CREDENTIAL_" + name.upper().replace("-", "_")


def read_environment() -> Environment:
    """A copy of the variables as they are now."""
    return Environment(dict(os.environ))


def worker_environment(environment: Environment, metrics_folder: Path) -> dict[str, str]:
    """The variables that a worker process is started with.

    `metrics_folder` is where prometheus-client, which reads its variable when it is imported, shares metrics between
    the workers. systemd's variables are left out: only the parent process answers to systemd.
    """
    of_systemd = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
    inherited = {name: value for name, value in environment.variables.items() if name not in (*of_systemd, _HANDOVER)}
    return {**inherited, "PROMETHEUS_MULTIPROC_DIR": str(metrics_folder)}


def replace_environment(variables: Mapping[str, str]) -> None:
    """Give this process other variables, as if it had been started with them."""
    os.environ.clear()
    os.environ.update(variables)


def handover_environment(environment: Environment, descriptors: Iterable[int]) -> dict[str, str]:
    """The variables of a supervisor that replaces this one: `descriptors` as `Environment.handover` gives them."""
    return {**environment.variables, _HANDOVER: " ".join(map(str, descriptors))}


def keep_numpy_to_one_thread() -> None:
    """Makes numpy calculate in the calling thread, unless the operator chose otherwise; without effect once numpy is
    imported. A page's matrices are small, and OpenBLAS's threads spin while they wait for the next one: measured on
    pages of code, a tenth of the page's processor time."""
    os.environ.setdefault(BLAS_THREADS, "1")
