"""API keys in Redis, for several machines: made and revoked anywhere, they hold everywhere within seconds.

The hash `gateway:keys` has the records of schemas/keys.json by id; a random mark that every change makes anew tells the
servers to read them again. Each server holds a copy of all of them, so that no request waits for Redis. Theory of
operation of `RedisKeyStore`, which looks at the mark every _POLL_S:

| copy    | entered when                             | known keys                 | unknown keys                  |
|---------|------------------------------------------|----------------------------|-------------------------------|
| fresh   | the mark was read within _STALE_S      | accepted                   | 401, after one more look      |
| stale   | Redis has not answered for longer        | accepted                   | 503: they may be new          |
| too old | it has not for `outage_cache_s`          | 503                        | 503                           |

A Redis that has lost the mark has lost the keys: nobody can have revoked all of them without one. The last good keys
stay then, as those of a removed key file do.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from gateway.access.keys import AuditLog, KeyFile, KeyRecord, KeyRegistry, Keys, record_to_json, records_in
from gateway.config.settings import Config
from gateway.domain import Caller, Json
from gateway.errors import EngineMissing, InvalidRequest, StateUnavailable, Unauthenticated
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection

KEYS, VERSION, LOCK, AUDIT = "gateway:keys", "gateway:keys:version", "gateway:keys:lock", "gateway:keys:audit"
_ENDED = "gateway:keys:ended"
"""Names in Redis: records by id, the mark of the last change, the lock of those who change them, the audit log; names
of revoked keys by id."""

_MAX_AUDIT = 100_000
"""Lines of the audit log in Redis (300 bytes each)."""

_POLL_S = 1.0
"""Time between two looks at the mark, which is how long a revoked key may be accepted; the documentation promises five
seconds."""

_STALE_S = 5.0
"""Age at which the copy may lack a key."""

_LOOK_AT_MISS_S = 0.02
"""Least time between two looks for unknown keys, and so how long one may wait for its look."""

_ATTEMPTS = 3
"""Readings of one look, which reads again where another look has changed the copy since it began."""

_LOCK_S = 10.0
"""How long a command waits for another one, and how long one that has died blocks the others. As for the key file."""


class RedisKeys(KeyRegistry):
    """The keys in Redis, for the command line. Changes happen under a lock. Raises EngineMissing without the extra,
    InvalidRequest for a wrong address. The audit log is in `folder`, and for all machines in the stream AUDIT."""

    def __init__(self, url: str, folder: Path) -> None:
        try:
            import redis  # noqa: PLC0415 - optional extra
        except ImportError:
            raise EngineMissing("access.backend redis needs the redis extra: make install EXTRAS=redis") from None
        try:
            self._redis = redis.Redis.from_url(url, socket_timeout=_LOCK_S, socket_connect_timeout=_LOCK_S)
        except ValueError:  # its message may quote the address, which may hold a password
            raise InvalidRequest("shared.redis_url must be a redis://, rediss:// or unix:// address") from None
        self._errors: tuple[type[Exception], ...] = (redis.exceptions.RedisError,)
        self.audit = AuditLog(
            folder / "audit.jsonl", lambda line: self._redis.xadd(AUDIT, {"line": line}, maxlen=_MAX_AUDIT)
        )

    def read(self) -> list[KeyRecord]:
        """All records. Raises StateUnavailable, InvalidRequest."""
        with self._reporting():
            return records_of(self._redis.hgetall(KEYS))

    def ended(self) -> dict[str, str]:
        """As in `KeyRegistry`. Raises StateUnavailable."""
        with self._reporting():
            return _names_in(self._redis.hgetall(_ENDED))

    def _keep_name(self, key_id: str, name: str | None) -> None:
        self._redis.hdel(_ENDED, key_id) if name is None else self._redis.hset(_ENDED, key_id, name)

    @contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        with self._reporting(), self._redis.lock(LOCK, timeout=_LOCK_S, blocking_timeout=_LOCK_S):
            before = self.read()
            records = before.copy()
            yield records
            with self._redis.pipeline(transaction=True) as commands:
                for gone in set(before) - set(records):
                    commands.hdel(KEYS, gone.id)
                for new in set(records) - set(before):
                    commands.hset(KEYS, new.id, orjson.dumps(record_to_json(new)))
                commands.set(VERSION, secrets.token_hex(8))
                commands.execute()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise StateUnavailable(f"Redis cannot be used ({type(error).__name__}); look at shared.redis_url") from None


def registry_of(config: Config) -> KeyRegistry:
    """Where the keys of this configuration are made and revoked: the file, or Redis."""
    if config.access.backend == "redis" and config.shared.redis_url is not None:
        return RedisKeys(config.shared.redis_url.reveal(), config.state_dir)
    return KeyFile(config.state_dir / config.access.keys_file)


def _names_in(rows: dict[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): name.decode() for key, name in rows.items()}


def records_of(rows: dict[bytes, bytes]) -> list[KeyRecord]:
    """The records in the hash. Raises InvalidRequest when they do not match schemas/keys.json."""
    try:
        document: Json = {"version": 1, "keys": [orjson.loads(row) for row in rows.values()]}
    except orjson.JSONDecodeError:
        raise InvalidRequest(f"{KEYS} in Redis holds what is not JSON; import the keys anew") from None
    return sorted(records_in(document, f"{KEYS} in Redis"), key=lambda record: (record.created, record.id))


class RedisKeyStore(Keys):
    """The keys in Redis; the module docstring has its states. `start` comes first, `close` last."""

    def __init__(
        self,
        connection: RedisConnection,
        outage_cache_s: float,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(now, clock)
        self._connection = connection
        self._outage_cache_s = outage_cache_s
        self._version = b""
        self._copies = 0
        self._read_at_s = float("-inf")
        self._looked_at_s = float("-inf")
        self._next_look: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._polling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the keys, and again every second from now on. Does not fail where Redis is away."""
        await self._look()
        self._polling = asyncio.create_task(self._poll())

    async def close(self) -> None:
        """Read them no more."""
        tasks = self._looks | ({self._polling} if self._polling else set())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def lookup(self, presented: str) -> Caller:
        """The caller that a key belongs to. Raises Unauthenticated, with the same message for every reason, and
        StateUnavailable as the module's table says."""
        age_s = self._clock() - self._read_at_s
        if age_s < self._outage_cache_s:
            try:
                return super().lookup(presented)
            except Unauthenticated:
                if age_s < _STALE_S:
                    raise
        raise StateUnavailable("the store of keys cannot be reached for the moment; try again", retry_after_s=5)

    async def refresh(self) -> bool:
        """Whether more keys are known than at the last `lookup`: a key may have been made a moment ago. Returns after a
        look that has begun after the call."""
        known = self._version
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look_soon())
            self._looks.add(self._next_look)
            self._next_look.add_done_callback(self._looks.discard)
        await asyncio.shield(self._next_look)
        return self._version != known

    async def _look_soon(self) -> None:
        await asyncio.sleep(min(_LOOK_AT_MISS_S, self._looked_at_s + _LOOK_AT_MISS_S - self._clock()))
        self._next_look = None  # what is presented from now on needs a further look
        await self._look(is_awaited=True)

    def problem(self) -> str:
        """As in `Keys`."""
        if self._clock() - self._read_at_s >= _STALE_S:
            return "keys in Redis cannot be read; known ones stay valid for shared.outage_cache_s"
        return super().problem()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            await self._look()

    async def _look(self, *, is_awaited: bool = False) -> None:
        """Read the keys if they have changed. `is_awaited`: a request waits for it.

        Looks may overlap. So that none puts back what is older, only one takes effect that began after the last that
        did; another reads anew.
        """
        ask = self._connection.ask if is_awaited else self._connection.ask_patiently
        self._looked_at_s = self._clock()
        try:
            for _ in range(_ATTEMPTS):
                before = self._copies
                version = await ask(lambda redis: redis.get(VERSION))
                is_new = version not in (None, self._version)
                rows = await ask(lambda redis: redis.hgetall(KEYS)) if is_new else None
                ended = await ask(lambda redis: redis.hgetall(_ENDED)) if is_new else {}
                if self._copies == before:
                    break
            else:
                return  # the next poll sees the rest
        except StateDown:
            return
        if version is None:
            self._keep("the keys are missing in Redis", "missing")
            return
        if rows is not None:
            self._take(rows, _names_in(ended), version)
        self._read_at_s = self._clock()

    def _take(self, rows: dict[bytes, bytes], ended: dict[str, str], version: bytes) -> None:
        try:
            self._replace(records_of(rows), ended)
        except InvalidRequest as error:
            self._keep("the keys in Redis cannot be read", error.message)
        self._version = version
        self._copies += 1

    def _keep(self, problem: str, error: str) -> None:
        """An empty Redis still answers: the copy stays fresh."""
        self._report(problem, "make keys, or import a file of them", error)
        if self._by_digest:
            self._read_at_s = self._clock()
