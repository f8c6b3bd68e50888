"""Bursts of random calls never use more than their key may, whatever their upstreams count, ignore, tell or break.

Three workers serve; a burst is up to eight calls at once of one key, some of which leave before their end. What the key
is charged may exceed its limit by what an upstream has used beyond what it was allowed in a call, and by nothing else.
"""

import asyncio
import contextlib
import json
import math
import random
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.access.keys import KeyFile, KeyRequest
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, RESPONSES, events_of
from tests.support.gateways import start_process
from tests.support.redis_server import RedisServer, running_redis
from tests.support.upstream import Exchange, chunk, completion, frame, scripted_upstream

pytestmark = pytest.mark.slow

KEYS, LANES = 48, 4
NUMBERS = pytest.mark.parametrize("bursts", [200, pytest.param(10_000, marks=pytest.mark.soak)])
"""The second number takes six minutes: `pytest -m soak tests/flows/test_spend_property.py`."""
BYTES_A_TOKEN = {"two": 2.0, "three": 3.0, "four": 4.0, "six": 6.0}
"""Tokenizers, by the name of the model that has each."""
MOODS = ("honest", "honest", "honest", "endless", "liar", "silent", "quitter", "partial")
"""What an upstream does, by the mood that a call's text names."""


@dataclass
class Made:
    """What an upstream has made of a call: `tokens` of `size` bytes, where `limit` was allowed."""

    model: str
    mood: str
    stream: bool
    limit: int
    prompt: int
    tokens: int = 0
    delivered: int | None = None

    @property
    def beyond(self) -> int:
        """Tokens that nobody could have kept it from: above its limit, or made before its client had them."""
        ahead = self.tokens - (self.delivered or 0) if self.stream else 0
        return max(0, self.tokens - self.limit, ahead)


@dataclass
class Strange:
    """The upstreams of all models. A call says in its text whose it is and what its upstream is to do:
    `KEY MOOD SEED …`."""

    made: dict[str, dict[str, Made]] = field(default_factory=lambda: defaultdict(dict))

    async def __call__(self, exchange: Exchange) -> None:
        body = exchange.seen.body
        text = str(body["messages"][-1]["content"])
        owner, mood, seed = text.split(" ", 3)[:3]
        dice, ratio = random.Random(int(seed)), BYTES_A_TOKEN[body["model"]]
        limit = body["max_tokens"] * (body.get("n") or 1)
        prompt = math.ceil(len(json.dumps(body["messages"])) / ratio * 0.8)
        wanted = dice.choice((5, 200, 1500, 6000))
        made = wanted if mood == "endless" else min(wanted, limit)
        usage = {
            "liar": dice.choice(
                ({"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 1, "completion_tokens": 1})
            ),
            "partial": {"prompt_tokens": prompt},
            "silent": None,
        }.get(mood, {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made})
        call = Made(body["model"], mood, bool(body.get("stream")), limit, prompt, made)
        self.made[owner][seed] = call
        said = "w" * round(made * ratio)
        if body.get("stream"):
            call.tokens = math.ceil(await _streamed(exchange, said, usage, dice, quits=mood == "quitter") / ratio)
            return
        with contextlib.suppress(ConnectionError):
            if mood == "quitter":
                await up.reset(after=b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{")(exchange)
            else:
                whole = completion(said, "length" if made >= limit else "stop")
                whole["usage"] = usage
                await up.answer(whole)(exchange)


async def _streamed(exchange: Exchange, said: str, usage: Any, dice: random.Random, *, quits: bool) -> int:
    """Returns how many characters could be sent."""
    step, size, start = dice.choice((4, 40, 400)), len(said) if not quits else dice.randrange(len(said) + 1), 0
    with contextlib.suppress(ConnectionError):
        await exchange.stream_head()
        while start < size:
            await exchange.piece(chunk({"content": said[start : min(size, start + step)]}))
            start += step
        if quits:
            exchange.reset()
            return min(start, size)
        await exchange.piece(chunk({}, "stop"))
        if usage is not None:
            await exchange.piece(frame({"object": "chat.completion.chunk", "choices": [], "usage": usage}))
        await exchange.piece(up.DONE)
        await exchange.finish()
    return min(start, size)


def texts_of(raw: bytes) -> int:
    """Bytes of text in a stream's deltas, on whichever route."""
    size = 0
    for event in events_of(raw):
        delta = event["choices"][0]["delta"].get("content") if event.get("choices") else event.get("delta")
        size += len((delta.get("text") if isinstance(delta, dict) else delta) or "")
    return size


def request(head: str, dice: random.Random, most_words: int = 600) -> tuple[str, dict[str, Any]]:
    """The route and the body of a random call whose text begins so."""
    text = head + "word " * min(most_words, dice.choice((1, 10, 100, 600)))
    route, limit = dice.choice((CHAT, CHAT, RESPONSES, MESSAGES)), dice.choice((None, 50, 300, 2000, 9000))
    body: dict[str, Any] = {"model": dice.choice(tuple(BYTES_A_TOKEN)), "stream": dice.random() < 0.6}
    if route == RESPONSES:
        return route, body | {"input": text, "store": False} | ({"max_output_tokens": limit} if limit else {})
    body["messages"] = [{"role": "user", "content": text}]
    if route == MESSAGES:
        return route, body | {"max_tokens": limit or 700}
    if limit:
        body |= dice.choice(({"max_tokens": limit}, {"max_completion_tokens": limit, "max_tokens": 1},
                             {"max_tokens": limit, "max_completion_tokens": limit}))  # fmt: skip
    return route, body | ({"n": 2} if dice.random() < 0.1 else {})


Total = Callable[[str], Awaitable[int]]
"""Tokens that a key is charged today."""
Reset = Callable[[str], Awaitable[None]]


@dataclass
class Stand:
    """Three workers, their strange upstreams, and keys by id, with limits of 1,500 to 40,000 tokens."""

    url: str
    strange: Strange
    keys: dict[str, tuple[str, int]]
    total: Total
    reset: Reset

    async def burst(self, session: aiohttp.ClientSession, owner: str, dice: random.Random) -> None:
        """Calls at once, and what must hold after them."""
        await self.reset(owner)
        made = self.strange.made[owner] = {}
        key, limit = self.keys[owner]
        await asyncio.gather(*(self._call(session, owner, key, dice) for _ in range(dice.randint(2, 8))))
        before, seen = -1, await self.total(owner)
        async with asyncio.timeout(20):  # calls that were left are settled a moment later
            while seen != before:
                await asyncio.sleep(0.01)
                before, seen = seen, await self.total(owner)
        beyond = sum(call.beyond for call in made.values())
        assert 0 <= seen <= limit + beyond, (owner, seen, limit, list(made.values()))

    async def _call(self, session: aiohttp.ClientSession, owner: str, key: str, dice: random.Random) -> None:
        seed = str(dice.randrange(10**9))
        route, body = request(f"{owner} {dice.choice(MOODS)} {seed} ", dice)
        leaves = dice.random() < 0.15
        headers = {"Authorization": f"Bearer {key}"}
        with contextlib.suppress(TimeoutError, aiohttp.ClientPayloadError):
            async with asyncio.timeout(dice.random() * 0.1 if leaves else 60):
                async with session.post(self.url + route, json=body, headers=headers) as reply:
                    raw = await reply.read()
                    assert reply.status in (200, 429, 502), (reply.status, raw[:500])
                    if body["stream"] and (call := self.strange.made[owner].get(seed)):
                        call.delivered = round(texts_of(raw) / BYTES_A_TOKEN[call.model])

    async def use_up(self, session: aiohttp.ClientSession, owner: str, dice: random.Random) -> None:
        """Honest calls, one after the other, until one is refused: they have used nine tenths of the limit."""
        await self.reset(owner)
        made = self.strange.made[owner] = {}
        key, limit = self.keys[owner]
        refused = False
        while not refused:
            seed = str(dice.randrange(10**9))
            route, body = request(f"{owner} honest {seed} ", dice, most_words=100)
            async with session.post(self.url + route, json=body, headers={"Authorization": f"Bearer {key}"}) as reply:
                await reply.read()
                refused = reply.status == 429
        used = sum(call.prompt + call.tokens for call in made.values())
        assert 0.9 * limit <= used <= limit + sum(call.beyond for call in made.values()), (used, limit, made)


@asynccontextmanager
async def stand(folder: Path, redis: RedisServer | None = None) -> AsyncIterator[Stand]:
    async with scripted_upstream() as upstream:
        strange = Strange()
        upstream.will(strange)
        models = "".join(
            f'\n[[models]]\nname = "{name}"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "{name}"\n'
            for name in BYTES_A_TOKEN
        )
        shared = '[shared]\nredis_timeout_s = 2\nredis_url = { credential = "redis" }\n' if redis else ""
        toml = f'workers = 3\n{shared}[guardrail]\nenabled = "off"\n{models}'
        process = start_process(folder, toml, variables={"GATEWAY_CREDENTIAL_REDIS": redis.url} if redis else None)
        file = KeyFile(process.state_dir / "keys.json")
        dice = random.Random(7)
        keys = {}
        process.state_dir.mkdir(parents=True, exist_ok=True)
        for _ in range(KEYS):
            limit = round(1500 * 27 ** dice.random())
            key, record = file.create(KeyRequest("spending", ("chat", "responses"), tokens_per_day=limit))
            keys[record.id] = key, limit
        counters = _redis_counters(redis) if redis else _counters(process.state_dir / "state.sqlite3")
        async with process:
            yield Stand(process.url, strange, keys, *counters)


def _counters(path: Path) -> tuple[Total, Reset]:
    """What reads and clears what a key is charged."""

    def run(statement: str, owner: str) -> int:
        with contextlib.closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as file:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'counters'").fetchone():
                return 0  # nobody has used anything yet
            row = file.execute(statement, (f"tokens-day:{owner}:%",)).fetchone()
        return int(row[0] or 0) if row is not None else 0

    async def total(owner: str) -> int:
        return await asyncio.to_thread(run, "SELECT sum(total) FROM counters WHERE name LIKE ?", owner)

    async def reset(owner: str) -> None:
        await asyncio.to_thread(run, "DELETE FROM counters WHERE name LIKE ?", owner)

    return total, reset


def _redis_counters(server: RedisServer) -> tuple[Total, Reset]:
    def name(owner: str) -> str:
        return f"gateway:tokens-day:{owner}:{datetime.now(UTC):%Y%m%d}"

    async def total(owner: str) -> int:
        return sum(map(int, await server.do("HVALS", name(owner))))

    async def reset(owner: str) -> None:
        await server.do("DEL", name(owner))

    return total, reset


async def play(made: Stand, bursts: int, seed: int) -> None:
    """So many bursts, in lanes that have keys of their own."""
    owners = list(made.keys)

    async def lane(number: int) -> None:
        dice = random.Random(seed + number)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
            for turn in range(bursts // LANES):
                await made.burst(session, owners[(turn * LANES + number) % KEYS], dice)

    async with asyncio.TaskGroup() as group:
        for number in range(LANES):
            group.create_task(lane(number))


@NUMBERS
async def test_three_workers_together(tmp_path: Path, bursts: int) -> None:
    async with stand(tmp_path) as made:
        await play(made, bursts, 1)


async def test_honest_calls_one_after_the_other_can_use_nine_tenths_of_a_limit(tmp_path: Path) -> None:
    async with stand(tmp_path) as made, aiohttp.ClientSession() as session:
        dice = random.Random(3)
        owners = [owner for owner, (_, limit) in made.keys.items() if limit >= 8000][:12]
        for owner in owners:
            await made.use_up(session, owner, dice)


@pytest.mark.system
@NUMBERS
async def test_three_workers_over_redis(tmp_path: Path, bursts: int) -> None:
    async with running_redis(tmp_path) as redis, stand(tmp_path, redis) as made:
        await play(made, bursts, 2)
