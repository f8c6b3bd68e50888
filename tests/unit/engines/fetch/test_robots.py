"""robots.txt: the matcher against its naive form, and the cache of rules."""

import asyncio
import contextlib
import gzip
import random
import re
from types import MappingProxyType
from typing import cast

import pytest
from aiohttp import web

from gateway.engines.fetch.fetcher import Fetched, Fetcher
from gateway.engines.fetch.robots import MAX_BYTES, Robots, RobotsCache, parse
from tests.support.fetching import fetching
from tests.support.loop_turns import turns_of_others
from tests.support.websites import Site, serving


def naive_match(pattern: str, path: str) -> bool:
    """RFC 9309 §2.2.3 as a regular expression, which a hostile pattern makes exponential."""
    anchored = pattern.endswith("$")
    body = pattern[:-1] if anchored else pattern
    expression = ".*".join(re.escape(piece) for piece in body.split("*")) + ("$" if anchored else "")
    return re.match(expression, path, re.DOTALL) is not None


@pytest.mark.slow
def test_the_matcher_equals_the_regular_expression() -> None:
    draw = random.Random(5)
    outcomes = set()
    for _ in range(5000):
        pattern = "/" + re.sub(r"\*+", "*", "".join(draw.choices("ab/*", k=draw.randrange(7)))) + draw.choice(["", "$"])
        path = "/" + "".join(draw.choices("ab/", k=draw.randrange(9)))
        matches = not Robots(((pattern, False),)).allows(f"https://a.test{path}")
        assert matches == naive_match(pattern, path), (pattern, path)
        outcomes.add(matches)
    assert outcomes == {True, False}


class Source:
    """Stands for a Fetcher: answers every file with `status`, when `gate` is open."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.gate = asyncio.Event()
        self.urls: list[str] = []

    async def fetch(self, url: str, *arguments: object) -> Fetched:
        self.urls.append(url)
        await self.gate.wait()
        return Fetched(url, self.status, "text/plain", b"User-agent: *\nDisallow: /private", MappingProxyType({}))


async def test_callers_at_once_share_one_fetch_and_the_rules_are_remembered() -> None:
    source = Source()
    cache = RobotsCache(cast(Fetcher, source), "bot")
    calls = [asyncio.create_task(cache.of(f"https://a.test/{number}")) for number in range(3)]
    await asyncio.sleep(0)
    calls[0].cancel()
    source.gate.set()
    _, second, third = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(second, Robots) and second is third and not second.allows("https://a.test/private")
    assert await cache.of("https://a.test/") is second
    assert source.urls == ["https://a.test/robots.txt"]


async def test_origins_used_longest_ago_are_forgotten() -> None:
    source = Source(status=404)
    source.gate.set()
    cache = RobotsCache(cast(Fetcher, source), "bot", max_origins=2)
    for host in ("a", "b", "a", "c", "a", "b"):
        assert (await cache.of(f"https://{host}.test/")).allows(f"https://{host}.test/private")
    assert [url[8] for url in source.urls] == ["a", "b", "c", "b"]


async def test_rules_full_of_wildcards_are_bounded_and_checked_beside_the_loop() -> None:
    """2,400 rules of a hundred wildcards cost 32 ms for each URL of a site before (measured)."""
    rules = "".join(f"Disallow: /{'*a' * 100}{number}\n" for number in range(2_400))
    robots = parse("User-agent: *\nDisallow: /secret\n" + rules, "bot")
    assert sum(pattern.count("*") for pattern, _ in robots.rules) <= 20_000
    assert not await robots.allows_in_turn("https://a.test/secret/page")
    async with turns_of_others() as turns:
        assert await robots.allows_in_turn("https://a.test/" + "a" * 1_900)
    assert turns.count > 1, "others had their turn meanwhile"
    honest = parse("User-agent: *\n" + "".join(f"Disallow: /*?sort={n}*\n" for n in range(2_000)), "bot")
    assert len(honest.rules) == 2_000


async def read_rules(headers: dict[str, str], body: bytes) -> tuple[Robots, str]:
    """The rules of a site with this robots.txt, read over a socket; and its URL."""
    site = Site({"/robots.txt": (200, {"Content-Type": "text/plain"} | headers, body)})
    async with serving(site), fetching([site.address]) as fetcher:
        return await RobotsCache(fetcher, "bot").of(f"{site.url}/"), site.url


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("line", [b"# one of very many lines of words\n", b"Disallow: /listed\n"])
async def test_of_a_file_that_is_too_long_the_first_part_counts(line: bytes, is_packed: bool) -> None:
    body = b"User-agent: *\nDisallow: /private\n" + line * (6_000_000 // len(line)) + b"Disallow: /behind\n"
    headers = {"Content-Encoding": "gzip"} if is_packed else {}
    robots, url = await read_rules(headers, gzip.compress(body) if is_packed else body)
    assert robots.known and not robots.allows(f"{url}/private")
    assert robots.allows(f"{url}/behind") and robots.allows(f"{url}/open")


async def test_a_compressed_file_without_an_end_and_without_output_is_given_up() -> None:
    header, empty_blocks = gzip.compress(b"")[:10], b"\0\0\0\xff\xff" * 20_000
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"})
        await response.prepare(request)
        await response.write(header)
        with contextlib.suppress(ConnectionError):
            while sent < 60_000_000:
                await response.write(empty_blocks)
                sent += len(empty_blocks)
        return response

    site = Site({"/robots.txt": endless})
    async with serving(site), fetching([site.address]) as fetcher:
        robots = await RobotsCache(fetcher, "bot").of(f"{site.url}/")
    assert not robots.known and sent < 30_000_000


async def test_a_rule_that_is_cut_at_the_limit_does_not_count() -> None:
    head = b"User-agent: *\nDisallow: /private\n"
    filler = b"#" * (MAX_BYTES - len(head) - 12) + b"\n"
    robots, url = await read_rules({}, head + filler + b"Disallow: /a-rule-of-which-only-the-slash-fits\n")
    assert robots.allows(f"{url}/open") and not robots.allows(f"{url}/private")
