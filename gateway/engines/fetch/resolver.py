"""DNS for the fetcher: a resolver that returns no private address, over the system's own lookups.

aiohttp resolves a name once per connection and connects to exactly the addresses returned here, so no second lookup
can give another answer (DNS rebinding). aiohttp does not resolve IP literals: the fetcher checks those at every hop.
Lookups have threads of their own, because a page may name many hosts that no server answers for, and those lookups
must not hold up other work. Knows no HTTP and no redirects.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.engines.fetch.address_policy import AddressPolicy, is_public, parse_address
from gateway.engines.fetch.errors import NO_NAME_SERVER, NO_SUCH_HOST, NOT_PUBLIC, SkippedUrl
from gateway.resilience.bounded_cache import BoundedCache

_LOOKUP_THREADS = 16
"""Chosen: half of the 32 fetches that may run at once (host_limits). At half, eight dead names of one
page stop all lookups for the system's timeout (5 s and more); double costs threads that are seldom busy."""

_MAX_NAMES = 10_000
"""Bounds each of the two tables below. Chosen: about 2 MB each; one crawl meets fewer names."""

_UNKNOWN_TTL_S = 10.0
"""How long a name that does not exist is not looked up again. Chosen: as long as one page takes. At half, a page with a
hundred links to a dead host asks twice; at double, a name that was just made cannot be fetched for 20 s."""

_PRIVATE_ENDINGS = frozenset(
    {
        "alt", "arpa", "corp", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost",
        "mail", "onion", "private", "test",
    }
)  # fmt: skip
"""Last labels of names that the public DNS has not. Sources: RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN's reserved
`internal` and name collision list, and what routers use; `arpa` holds no web pages."""


class SystemLookup(AbstractResolver):
    """The system's own resolver, getaddrinfo(3), in threads that start at first use."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the name; nothing is cached. Raises OSError (socket.gaierror) or UnicodeError."""

        def look_up() -> list[ResolveResult]:
            answers = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=port,
                    family=kind,
                    proto=proto,
                    flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                )
                for kind, _, proto, _, address in answers
            ]

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, "lookup")
        return await asyncio.get_running_loop().run_in_executor(self._threads, look_up)

    async def close(self) -> None:
        """Give up lookups that wait; those that run end by themselves."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


class GuardedResolver(AbstractResolver):
    """Resolves through `inner` and refuses a name as soon as `policy` refuses any one of its addresses."""

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner
        self._exempt: BoundedCache[tuple[str, int], bool] = BoundedCache(_MAX_NAMES)
        self._unknown: BoundedCache[str, str] = BoundedCache(_MAX_NAMES, ttl_s=_UNKNOWN_TTL_S)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the name. Raises SkippedUrl when it does not exist or an address may not be fetched.

        A name that does not exist is remembered for a moment: a page may link to one dead host a hundred times.
        """
        name = _normal_name(host)
        words = self._unknown.get(name)
        if words is not None:
            raise SkippedUrl(words)
        try:
            answers = await self._inner.resolve(host, port, family)
        except (OSError, UnicodeError) as error:
            words = _unknown_words(name, error)
            self._unknown.put(name, words)
            raise SkippedUrl(words) from error
        if not answers or not all(self._policy.permits(host, answer["host"], port) for answer in answers):
            raise SkippedUrl()
        addresses = [parse_address(answer["host"]) for answer in answers]
        if all(address is not None and is_public(address) for address in addresses):
            self._exempt.remove((name, port))
        else:
            self._exempt.put((name, port), True)
        return answers

    def was_exempt(self, host: str, port: int) -> bool:
        """Whether the last `resolve` of this name gave an address that only the operator's list permits."""
        return self._exempt.get((_normal_name(host), port)) is not None

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()


def _normal_name(host: str) -> str:
    return host.rstrip(".").lower()


def _unknown_words(name: str, error: Exception) -> str:
    """Why a name has no address. Of a name of private networks it is not told whether it exists."""
    if "." not in name or name.rpartition(".")[2] in _PRIVATE_ENDINGS:
        return NOT_PUBLIC
    return NO_NAME_SERVER if getattr(error, "errno", None) == socket.EAI_AGAIN else NO_SUCH_HOST
