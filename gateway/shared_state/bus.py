"""Short messages to the other processes that serve: the workers of this machine, and with Redis all machines.

Nothing is stored: who does not listen misses a message. Workers have a Unix datagram socket each, in one folder; a
message is sent to all sockets there, and those whose process has ended are removed. Between machines a message goes
through a channel of Redis. The naive form is a call of every listener.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson

from gateway.domain import Json
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection

_MAX_BYTES = 4096
"""Longest message."""

_CHANNEL = "gateway:bus"
_POLL_S = 1.0
_PAUSE_S = 2.0
"""How long one wait for a message of Redis lasts, and the pause after it has failed."""

Listener = Callable[[Json], None]

Reached = Callable[[int], None]
"""Called with the number of others that a message was given to."""


BUS_FOLDER = "bus"
"""The folder of the workers' sockets in the state directory."""


def has_listeners(folder: Path) -> bool:
    """Whether a process that serves has a socket in the folder; those of processes that died refuse."""
    for path in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                sock.connect(f"/proc/self/fd/{descriptor}/{path.name}")  # a path of 108 bytes at most, however deep
                return True
            except OSError:
                continue
            finally:
                os.close(descriptor)
    return False


class WorkerBus:
    """The messages of this machine's workers, over sockets in `folder`. Opened by `open`, closed by `close`.

    A folder that cannot be used has no other listeners.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}.sock"
        self._socket: socket.socket | None = None
        self._directory = -1
        self.listeners: list[Listener] = []

    def open(self) -> None:
        """Listen for messages on the running event loop."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._directory = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            sock.setblocking(False)
            sock.bind(self._address(self._name))
        except OSError:
            self.close()
            return
        self._socket = sock
        asyncio.get_running_loop().add_reader(sock, self._receive)

    def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
            _remove(self._folder / self._name)
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    @property
    def has_others(self) -> bool:
        """Whether another process has a socket in the folder."""
        return self._socket is not None and len(self._others()) > 0

    def send(self, message: Json) -> int:
        """Send a message to all others; one that is too long to none. Returns how many others there are: a full queue
        counts, for its process may be busy."""
        data = orjson.dumps(message)
        others = self._others() if self._socket is not None else []
        if self._socket is None or len(data) > _MAX_BYTES:
            return len(others)
        count = 0
        for name in others:
            try:
                self._socket.sendto(data, self._address(name))
            except (ConnectionRefusedError, FileNotFoundError):
                _remove(self._folder / name)  # its process has ended
                continue
            except OSError:
                pass  # its queue is full: it is stuck, and messages are no promise
            count += 1
        return count

    def _others(self) -> list[str]:
        with contextlib.suppress(OSError):
            return [
                entry.name
                for entry in os.scandir(self._folder)
                if entry.name != self._name and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
            ]
        return []

    def _address(self, name: str) -> str:
        """A path of any length, below the 108 bytes that an address may have."""
        return f"/proc/self/fd/{self._directory}/{name}"

    def _receive(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(BlockingIOError, OSError):
            data = self._socket.recv(_MAX_BYTES)
            _deliver(data, self.listeners)


class RedisBus:
    """The messages of all machines, over a channel of Redis. `run` listens until it is cancelled."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._sender = secrets.token_hex(8)
        self._is_subscribed = False
        self.listeners: list[Listener] = []

    async def send(self, message: Json) -> int:
        """Send a message to all others. Returns how many of them it was given to; a message that is too long is given
        to nobody, and counts as given to one that never answers. Raises StateDown."""
        data = orjson.dumps({**message, "sender": self._sender})
        if len(data) > _MAX_BYTES:
            return 1
        receivers: int = await self._connection.ask(lambda redis: redis.publish(_CHANNEL, data))
        return receivers - self._is_subscribed

    async def run(self) -> None:
        """Deliver messages to the listeners."""
        while True:
            with contextlib.suppress(*self._connection.errors):
                async for data in self._messages():
                    if data[0:1] == b"{" and orjson.loads(data).get("sender") != self._sender:
                        _deliver(data, self.listeners)
            await asyncio.sleep(_PAUSE_S)

    async def _messages(self) -> AsyncIterator[bytes]:
        """The data of each message. Raises the connection's errors."""
        try:
            async with self._connection.subscription(_CHANNEL) as subscription:
                while True:
                    received: dict[str, Any] | None = await subscription.get_message(timeout=_POLL_S)
                    if received is None:
                        continue
                    if received["type"] == "subscribe":
                        self._is_subscribed = True
                    elif received["type"] == "message" and len(received["data"]) <= 2 * _MAX_BYTES:
                        yield received["data"]
        finally:
            self._is_subscribed = False


class Bus:
    """Both ways together: `redis` is None where machines share nothing."""

    def __init__(self, workers: WorkerBus, redis: RedisBus | None = None) -> None:
        self._workers, self._redis = workers, redis
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_others(self) -> bool:
        """Whether anybody else may listen."""
        return self._redis is not None or self._workers.has_others

    def listen(self, listener: Listener) -> None:
        """Call `listener` with every message of the others."""
        self._workers.listeners.append(listener)
        if self._redis is not None:
            self._redis.listeners.append(listener)

    def send(self, message: Json, reached: Reached | None = None) -> None:
        """Send a message to all others, on one way only: through Redis it reaches this machine's workers too."""
        if self._redis is None:
            _tell(reached, self._workers.send(message))
            return
        task = asyncio.create_task(self._send(self._redis, message, reached))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, redis: RedisBus, message: Json, reached: Reached | None) -> None:
        try:
            count = await redis.send(message)
        except StateDown:
            count = self._workers.send(message)
        _tell(reached, count)

    def start(self) -> None:
        """Listen, on the running event loop."""
        self._workers.open()
        if self._redis is not None:
            self._tasks.add(asyncio.create_task(self._redis.run()))

    async def close(self) -> None:
        """Listen no more."""
        self._workers.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _tell(reached: Reached | None, count: int) -> None:
    if reached is not None:
        reached(count)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # the folder may have become read-only
        path.unlink(missing_ok=True)


def _deliver(data: bytes, listeners: list[Listener]) -> None:
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    if isinstance(message, dict):
        for listener in listeners:
            listener(message)
