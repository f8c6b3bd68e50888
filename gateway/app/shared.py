"""Composition of what workers and machines share: limits, wrong keys, counters, stored entries, messages."""

import functools
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from gateway.access.budgets import Budgets
from gateway.access.keys import KeyStore
from gateway.access.private_files import USER_HASH_KEY, load_or_create_secret, write_private
from gateway.access.rate_limits import MAX_ADDRESSES, BadKeyLimiter, Limiter
from gateway.access.redis_keys import RedisKeyStore
from gateway.access.sealing import Sealer, make_sealer
from gateway.access.usage import PriceList, SharedUsage, UsageBook, UsageReader, UsageSharing
from gateway.config.settings import Config
from gateway.errors import ModelNotFound, StateUnavailable
from gateway.metrics import Metrics
from gateway.services.completion.service import CompletionService
from gateway.services.responses import background, conversations
from gateway.services.responses.store import MAX_STORED_BYTES
from gateway.services.websearch.search_cache import MAX_CACHE_BYTES
from gateway.shared_state.bus import BUS_FOLDER, Bus, RedisBus, WorkerBus
from gateway.shared_state.fallback import FallbackCounters, FallbackEntries, FallbackWindows
from gateway.shared_state.memory import MemoryEntries, MemoryWindows
from gateway.shared_state.port import Entries, Windows
from gateway.shared_state.redis_state import RedisConnection, RedisCounters, RedisEntries, RedisTimes, RedisWindows
from gateway.shared_state.sqlite_state import STATE_FILE, SqliteCounters, SqliteEntries, SqliteWindows, StateFile
from gateway.web.history import History, remove_former_files

_AWAY = (
    "Redis cannot be reached: limits are divided by shared.machines, and each machine finds its own stored responses"
)

_FAULTS_BYTES = 1 << 20
"""More than a thousand upstreams say of themselves."""


@dataclass(frozen=True, slots=True)
class SharedParts:
    """`faults`: how upstreams failed last, on this machine. `searches` is None where one process serves alone: nobody
    else could find its answers. `sealer` makes the installation's sealer at its first call, and raises EngineMissing
    without the extra; `seal_problems`: what is wrong with its file. `start` comes first."""

    config: Config
    file: StateFile
    redis: RedisConnection | None
    keys: KeyStore | RedisKeyStore
    limiter: Limiter
    bad_keys: BadKeyLimiter
    counters: FallbackCounters
    prices: PriceList
    usage: UsageBook
    usage_reader: UsageReader
    responses: Entries
    conversations: Entries
    runs: Entries
    windows: Windows
    searches: Entries | None
    bus: Bus
    sealer: Callable[[], Sealer]
    seal_problems: list[str]
    history: History
    faults: Entries

    def notes(self) -> list[str]:
        """What the operator must mend."""
        redis = [_AWAY] if self.redis is not None and not self.redis.is_up else []
        return [*redis, *self.file.notes(), *self.seal_problems]

    async def start(self) -> None:
        """Listen for messages, and connect to Redis: whether it answers or not, within seconds."""
        self.bus.start()
        if self.config.ops.port:
            self.history.start()
        remove_former_files(self.config.state_dir)
        if self.redis is not None:
            await self.redis.check()
        await self.usage.start()
        if isinstance(self.keys, RedisKeyStore):
            await self.keys.start()

    def budgets(self, completions: CompletionService, metrics: Metrics) -> Budgets:
        """The budgets of keys for the models of the table."""

        def names(model: str) -> list[str] | None:
            try:
                entry = completions.resolve(model)
            except ModelNotFound:
                return None
            return [entry.name, *(completions.resolve(name).name for name in entry.fallback)]

        hash_user = completions.digest
        return Budgets(self.counters, self.config.limits, self.prices, names, metrics=metrics, hash_user=hash_user)

    def agree_on_user_key(self, completions: CompletionService) -> None:
        """The key that hashes user names becomes that of all machines as soon as Redis answers."""
        if self.redis is None:
            return
        path = self.config.state_dir / USER_HASH_KEY

        async def agree(redis: RedisConnection) -> None:
            own = load_or_create_secret(path)
            await redis.ask_patiently(lambda client: client.set("gateway:user-hash-key", own.hex(), nx=True))
            common = bytes.fromhex(
                (await redis.ask_patiently(lambda client: client.get("gateway:user-hash-key"))).decode()
            )
            if common != own:
                write_private(path, common)
            completions.user_key = common

        self.redis.on_back.append(agree)


def shared_parts(config: Config, resources: AsyncExitStack) -> SharedParts:
    """Everything that is shared, by what is configured: one process, several workers, several machines."""
    file = StateFile(config.state_dir / STATE_FILE)
    resources.push_async_callback(file.close)
    redis, workers = None, config.server.workers
    if config.shared.redis_url is not None:
        redis = RedisConnection(config.shared.redis_url.reveal(), RedisTimes(config.shared.redis_timeout_s))
        resources.push_async_callback(redis.close)
    bus = Bus(WorkerBus(config.state_dir / BUS_FOLDER), RedisBus(redis) if redis is not None else None)
    resources.push_async_callback(bus.close)
    limiter, windows = _limits(config, file, redis, resources)
    redis_counters = RedisCounters(redis) if redis is not None else None
    counters = FallbackCounters(SqliteCounters(file), redis_counters, config.shared.machines)
    if redis is not None:
        redis.on_back.append(counters.catch_up)
    prices = PriceList(config.prices)
    usage, usage_reader = _usage(config, file, prices, redis)
    resources.push_async_callback(usage.close)
    history = History(file, config.state_dir / STATE_FILE)
    resources.push_async_callback(history.close)
    budget = config.limits.response_store_bytes_per_key
    seal_problems = list[str]()
    return SharedParts(
        config=config,
        file=file,
        redis=redis,
        keys=_keys(config, redis, resources),
        limiter=limiter,
        bad_keys=BadKeyLimiter(config.access.bad_keys_per_minute, windows),
        counters=counters,
        prices=prices,
        usage=usage,
        usage_reader=usage_reader,
        responses=_kept("responses", config, file, redis, (MAX_STORED_BYTES, budget)),
        conversations=_kept("conversations", config, file, redis, conversations.MOST_BYTES, is_lasting=True),
        runs=_kept("runs", config, file, redis, background.MOST_BYTES),
        windows=windows,
        searches=_entries("searches", file, redis, MAX_CACHE_BYTES, MAX_CACHE_BYTES) if redis or workers > 1 else None,
        bus=bus,
        sealer=functools.cache(lambda: _sealer(config, redis, seal_problems)),
        seal_problems=seal_problems,
        history=history,
        faults=_kept("faults", config, file, None, (_FAULTS_BYTES, _FAULTS_BYTES)),
    )


def _sealer(config: Config, redis: RedisConnection | None, problems: list[str]) -> Sealer:
    """The sealer. While its key file cannot be used, `problems` holds the reason, which readyz shows. Raises as
    `make_sealer`."""
    seal = config.access.seal
    problems.clear()
    try:
        return make_sealer(config.state_dir, seal.reveal() if seal is not None else None, redis)
    except StateUnavailable as error:
        problems.append(error.message)
        raise


def _usage(
    config: Config, file: StateFile, prices: PriceList, redis: RedisConnection | None
) -> tuple[UsageBook, UsageReader]:
    path = config.state_dir / STATE_FILE
    usage = UsageBook(file, prices, config.usage.keep_days)
    if redis is None:
        return usage, UsageReader(path, None)
    shared = SharedUsage(redis, config.usage.keep_days)
    usage.sharing = UsageSharing(path, redis, shared)
    return usage, UsageReader(path, shared)


def _keys(config: Config, redis: RedisConnection | None, resources: AsyncExitStack) -> KeyStore | RedisKeyStore:
    if config.access.backend == "redis" and redis is not None:
        keys = RedisKeyStore(redis, config.shared.outage_cache_s)
        resources.push_async_callback(keys.close)
        return keys
    return KeyStore(config.state_dir / config.access.keys_file)


def _limits(
    config: Config, file: StateFile, redis: RedisConnection | None, resources: AsyncExitStack
) -> tuple[Limiter, Windows]:
    """The limiter of keys, and the windows of wrong keys."""
    workers = config.server.workers
    windows: Windows
    of_addresses: Windows
    if redis is not None:
        windows = of_addresses = shared = FallbackWindows(RedisWindows(redis), workers * config.shared.machines)
        redis.on_back.append(shared.catch_up)
    elif workers > 1:
        windows = of_addresses = FallbackWindows(SqliteWindows(file), workers)
    else:
        windows, of_addresses = MemoryWindows(), MemoryWindows(max_names=MAX_ADDRESSES)
    limiter = Limiter(windows, config.limits)
    resources.push_async_callback(limiter.close)
    return limiter, of_addresses


def _kept(
    space: str,
    config: Config,
    file: StateFile,
    redis: RedisConnection | None,
    most_bytes: tuple[int, int],
    *,
    is_lasting: bool = False,
) -> Entries:
    """Entries as `shared.store` says; `most_bytes`: of all keys on one machine, and of one key. While nothing can be
    written they are in memory, unless they must last: then they are refused."""
    memory = MemoryEntries(*most_bytes, ttl_s=config.shared.response_ttl_s)
    if config.shared.store == "memory":
        return memory
    entries = _entries(space, file, redis, *most_bytes)
    return entries if is_lasting else FallbackEntries(entries, memory)


def _entries(space: str, file: StateFile, redis: RedisConnection | None, max_bytes: int, budget: int) -> Entries:
    """Entries in Redis, where there is one; in the machine's file otherwise and meanwhile."""
    local = SqliteEntries(file, space, max_bytes, budget)
    if redis is None:
        return local
    entries = FallbackEntries(RedisEntries(redis, space, budget), local)
    redis.on_back.append(entries.catch_up)
    return entries
