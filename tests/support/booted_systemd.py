"""A machine with a real systemd for tests: process 1 of namespaces of its own, over the host's files.

What is installed, written or started inside is gone when it is closed. The network inside is loopback alone. Needs
root, Linux with overlayfs and cgroup2, systemd, dbus and util-linux; `why_not` says what is missing.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import aiohttp
import pytest

from tests.support.paths import ROOT

BOOT_S = 90
PYTHON = Path("/usr/bin/python3")
_SCRIPT = Path(__file__).with_name("boot_systemd.sh")
_NAMESPACES = ("--fork", "--pid", "--mount", "--cgroup", "--ipc", "--uts", "--net", "--kill-child")
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _cgroup_root() -> Path | None:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4])
    return None


def why_not() -> str:
    """Why no systemd can be booted here; empty when one can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("unshare", "nsenter", "pivot_root", "ip", "dbus-daemon", "systemctl", "/lib/systemd/systemd"):
        if shutil.which(program) is None:
            return f"needs {program}"
    if _cgroup_root() is None or "overlay" not in Path("/proc/filesystems").read_text():
        return "needs cgroup2 and overlayfs"
    tried = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, timeout=20, check=False)
    return "" if tried.returncode == 0 else "new namespaces are refused here"


@contextlib.contextmanager
def booted(folder: Path) -> Iterator["BootedSystemd"]:
    """A machine that sees the packages of these tests at /opt/packages, and this repository at /opt/source. Skips the
    test where none can be booted, or where `PYTHON` is not the Python that these packages are built for."""
    if reason := why_not():
        pytest.skip(f"no systemd can be booted here: {reason}")
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not PYTHON.exists() or PYTHON.resolve().name != minor:
        pytest.skip(f"{PYTHON} is not {minor}, for which the packages of these tests are built")
    (folder / "machine").mkdir()
    packages = Path(aiohttp.__file__).parent.parent
    with BootedSystemd(folder / "machine", {packages: "/opt/packages", ROOT: "/opt/source"}) as machine:
        yield machine


class BootedSystemd:
    """`with BootedSystemd(folder, binds) as machine`: booted, and ended with the block. `folder` is empty; `binds`:
    folder of the host -> where it is seen inside."""

    def __init__(self, folder: Path, binds: Mapping[Path, str]) -> None:
        self._folder, self._binds = folder, binds
        root = _cgroup_root()
        assert root is not None
        self._cgroup = root / f"gateway-test-{os.getpid()}"
        self._init = 0

    def __enter__(self) -> Self:
        self._cgroup.mkdir()
        join = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        pairs = [str(each) for pair in self._binds.items() for each in pair]
        command = ["unshare", *_NAMESPACES, "sh", str(_SCRIPT), str(self._folder), *pairs]
        log = (self._folder.parent / "boot.log").open("wb")
        with log:
            self._outer = subprocess.Popen(
                ["sh", "-c", join, str(self._cgroup), *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            self._wait_for_boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _wait_for_boot(self) -> None:
        end = time.monotonic() + BOOT_S
        while time.monotonic() < end:
            assert self._outer.poll() is None, (self._folder.parent / "boot.log").read_text()
            self._init = self._init or self._find_init()
            if self._init and Path(f"/proc/{self._init}/comm").read_text() == "systemd\n":
                state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.1)
        raise AssertionError(f"systemd has not booted in {BOOT_S} s: {(self._folder.parent / 'boot.log').read_text()}")

    def _find_init(self) -> int:
        """The host's number of the process that is 1 inside."""
        for file in self._cgroup.rglob("cgroup.procs"):
            for pid in file.read_text().split():
                with contextlib.suppress(OSError):
                    status = Path(f"/proc/{pid}/status").read_text()
                    numbers = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
                    if len(numbers) > 1 and numbers[-1] == "1":
                        return int(pid)
        return 0

    def command(self, *command: str, variables: Mapping[str, str] | None = None) -> list[str]:
        """What runs `command` inside, as root, with nothing of this process's environment."""
        given = {"PATH": _SEARCH, "HOME": "/root", **(variables or {})}
        environment = [f"{name}={value}" for name, value in given.items()]
        enter = ("nsenter", "-t", str(self._init), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w")
        return [*enter, "env", "-i", *environment, *command]

    def run(
        self, *command: str, text: str = "", check: bool = True, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside to its end, with `text` as standard input. `check`: it must succeed."""
        done = subprocess.run(
            self.command(*command, variables=variables),
            input=text, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, path: str, text: str, mode: str = "0644") -> None:
        """Write a file inside."""
        self.run("sh", "-c", 'mkdir -p "$(dirname "$0")" && cat >"$0" && chmod "$1" "$0"', path, mode, text=text)

    def close(self) -> None:
        """End every process inside."""
        with contextlib.suppress(OSError):
            (self._cgroup / "cgroup.kill").write_text("1")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._outer.pid, signal.SIGKILL)
        self._outer.wait(20)
        end = time.monotonic() + 20
        while self._cgroup.exists() and time.monotonic() < end:
            for folder in sorted((path for path in self._cgroup.rglob("*") if path.is_dir()), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            with contextlib.suppress(OSError):
                self._cgroup.rmdir()
            time.sleep(0.05)
