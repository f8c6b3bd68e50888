"""Connections to the index's database: a bounded pool of threads with a connection each, every wait bounded.

psycopg 3 is used because ranking is synchronous code that runs in a thread for SQLite too: with psycopg the same code
reads either store, and the event loop never waits. Theory of operation:

| state | what happens                                                     | leaves it when                           |
|-------|------------------------------------------------------------------|------------------------------------------|
| up    | calls go to the database; one that finds its connection closed   | it cannot be reached, or is silent for   |
|       | connects once more and begins anew                               | `call_s`: down                           |
| down  | calls fail at once; one task asks every `retry_s`                | the database answers: up                 |

A call that is cancelled or too long has its socket shut, which ends its thread's wait, and the server its statement.
Source: psycopg.org/psycopg3/docs, postgresql.org/docs/15 (runtime-config-client), read 2026-11-22.
"""

import asyncio
import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gateway import logs
from gateway.errors import EngineMissing

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
Database: TypeAlias = "Connection[tuple[Any, ...]]"
_THREADS = 4
"""Connections of each process."""
_MOST_WAITING = 64
"""Calls that wait for a connection."""
_SETTINGS = (
    "SET statement_timeout = '5s'",
    "SET lock_timeout = '3s'",
    "SET idle_in_transaction_session_timeout = '10s'",
    "SET client_connection_check_interval = '1s'",
    "SET jit = off",  # compiling takes longer than any of these statements
    "SET enable_seqscan = off",  # its estimates of words are poor, and reading all passages is always the slowest way
)
"""The server's own bounds: chosen so that it gives up before the gateway does."""
_WORDING = {"53": "has no room left", "42501": "does not let the gateway use its tables", "57014": "took too long"}
"""What SQLSTATEs (or their class) mean, as the end of "the index's database …"."""


class IndexUnavailable(ConnectionError):
    """The database cannot be used. `strerror` is the end of a sentence and holds no address and no text of its own."""

    def __init__(self, why: str) -> None:
        super().__init__(111, f"the index's database {why}")

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True, slots=True)
class Times:
    """Chosen. `connect_s`: half fails over a distant network, double keeps a thread for a machine that is gone.
    `call_s`: more than the server's own bound on one statement, less than callers wait. `retry_s`: half asks a starting
    database twice as often, double is noticed by people."""

    connect_s: int = 3
    call_s: float = 8.0
    retry_s: float = 1.0


class _ThreadCall:
    """A piece of work in a thread, which can be abandoned."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._is_abandoned = False

    def begin(self, connection: Database) -> None:
        with self._lock:
            if self._is_abandoned:
                raise IndexUnavailable("is not waited for")
            self._file = connection.fileno()

    def end(self) -> None:
        with self._lock:
            self._file = None

    def abandon(self) -> None:
        """Shuts the socket, at which the thread's wait ends. The connection closes its file only after `end`."""
        with self._lock:
            self._is_abandoned = True
            if self._file is not None:
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._file)) as ours:
                    ours.shutdown(socket.SHUT_RDWR)


class Connections:
    """`prepare` is run once on the first connection of a process and after each outage. `problem`: why the database
    cannot be used, or None."""

    def __init__(self, url: str, prepare: Callable[[Database], None], times: Times | None = None) -> None:
        self._url = url
        self._prepare = prepare
        self._times = times or Times()
        self._pool = ThreadPoolExecutor(_THREADS, "index-postgres")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[Database] = set()
        self._calls: set[_ThreadCall] = set()
        self._is_prepared = False
        self._watch: asyncio.Task[None] | None = None
        self._is_closed = False
        self.problem: str | None = None
        self._is_installed = _is_installed()
        if not self._is_installed:
            self.problem = "the extra 'postgres' is not installed"
            logs.event("index_unavailable", level=logging.WARNING, error="EngineMissing")

    async def run(self, work: Callable[[Database], T]) -> T:
        """Runs `work` in a thread. It may be run twice, so it must be repeatable. Raises IndexUnavailable,
        EngineMissing."""
        if not self._is_installed:
            raise EngineMissing("index.backend needs the postgres extra: make install EXTRAS=postgres")
        if self._watch is not None and not self._watch.done():
            raise IndexUnavailable(self.problem or "cannot be reached")
        return await self._run(work)

    async def close(self) -> None:
        """Ends the running work and closes the connections."""
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait({self._watch})
        for call in list(self._calls):
            call.abandon()
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        for connection in list(self._open):
            connection.close()
        self._open.clear()

    async def _run(self, work: Callable[[Database], T]) -> T:
        if len(self._calls) >= _THREADS + _MOST_WAITING or self._is_closed:
            raise IndexUnavailable("is busy")
        call = _ThreadCall()
        self._calls.add(call)
        try:
            async with asyncio.timeout(self._times.call_s):
                result = await asyncio.get_running_loop().run_in_executor(self._pool, self._work, call, work)
        except TimeoutError:
            self._go_down("does not answer")
            raise IndexUnavailable("does not answer") from None
        except _Unreachable as error:
            self._go_down("cannot be reached, or refuses the connection")
            raise IndexUnavailable("cannot be reached, or refuses the connection") from error
        except IndexUnavailable as error:
            self._note(str(error).removeprefix("the index's database "))
            raise
        finally:
            call.abandon()
            self._calls.discard(call)
        self._come_up()
        return result

    def _work(self, call: _ThreadCall, work: Callable[[Database], T]) -> T:
        """In a thread: with its connection, and once more with a new one where the old one was closed."""
        import psycopg  # noqa: PLC0415 - optional extra

        is_old = getattr(self._local, "connection", None) is not None
        while True:
            connection = self._connection()
            try:
                call.begin(connection)
                return work(connection)
            except psycopg.Error as error:
                is_lost = connection.closed or connection.broken or _is_shutdown(error.sqlstate)
                if not is_lost:
                    raise IndexUnavailable(_wording(error.sqlstate)) from None
                if not is_old:
                    raise _Unreachable from None
                is_old = False
            finally:
                call.end()
                if connection.closed or connection.broken:
                    self._forget(connection)

    def _connection(self) -> Database:
        """The thread's connection. Raises _Unreachable."""
        import psycopg  # noqa: PLC0415 - optional extra

        known: Database | None = getattr(self._local, "connection", None)
        if known is not None and not known.closed:
            return known
        try:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                prepare_threshold=None,  # a plan for any word fits none, and PgBouncer keeps none
                connect_timeout=self._times.connect_s,
                application_name="gateway",
                client_encoding="UTF8",
            )
        except (psycopg.Error, UnicodeError):
            raise _Unreachable from None  # the driver's text names hosts and users
        try:
            if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                raise IndexUnavailable("has the encoding SQL_ASCII, which keeps bytes; make one with ENCODING 'UTF8'")
            for setting in _SETTINGS:
                connection.execute(setting.encode())
            with self._lock:
                if not self._is_prepared:
                    self._prepare(connection)
                    self._is_prepared = True
        except psycopg.Error as error:
            connection.close()
            if error.sqlstate is None or _is_shutdown(error.sqlstate):
                raise _Unreachable from None
            raise IndexUnavailable(_wording(error.sqlstate)) from None
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        self._open.add(connection)
        return connection

    def _forget(self, connection: Database) -> None:
        connection.close()
        self._open.discard(connection)
        self._local.connection = None

    def _go_down(self, why: str) -> None:
        if self._is_closed or (self._watch is not None and not self._watch.done()):
            return
        self._note(why)
        self._is_prepared = False  # it may come back as another, empty one
        self._watch = asyncio.get_running_loop().create_task(self._ask_again())

    def _note(self, why: str) -> None:
        if self.problem is None:
            logs.event("index_unavailable", level=logging.WARNING, error=why)
        self.problem = why

    def _come_up(self) -> None:
        if self.problem is not None:
            self.problem = None
            logs.event("index_available")

    async def _ask_again(self) -> None:
        while True:
            await asyncio.sleep(self._times.retry_s)
            with contextlib.suppress(IndexUnavailable):
                await self._run(lambda connection: connection.execute(b"SELECT 1"))
                return


class _Unreachable(Exception):
    """No connection, or one that was lost."""


def _is_installed() -> bool:
    try:
        import psycopg  # noqa: F401, PLC0415 - optional extra
    except ImportError:
        return False
    return True


def _is_shutdown(sqlstate: str | None) -> bool:
    """57P01 to 57P03: the server stops, or starts; class 08: the connection is lost."""
    return sqlstate is not None and (sqlstate[:2] == "08" or sqlstate in ("57P01", "57P02", "57P03"))


def _wording(sqlstate: str | None) -> str:
    code = sqlstate or ""
    return _WORDING.get(code) or _WORDING.get(code[:2]) or f"refused a statement (SQLSTATE {code or 'unknown'})"
