"""A resolver that lets no private address through and pins what it checked, and the lookups it stands on.

aiohttp asks it once per connection and connects to exactly the addresses it returns, so there is no second lookup that
could answer differently (rebinding). It is never asked about IP literals: the fetcher judges those on every hop.
Lookups have threads of their own: names that a page invents and no server answers for must not hold up anybody else's.
"""

import asyncio
import socket
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.engines.fetch.address_policy import AddressPolicy, is_public, parse_address
from gateway.engines.fetch.errors import SkippedUrl

_LOOKUPS_AT_ONCE = 16
_REMEMBERED = 10_000
_UNKNOWN_S = 10.0


class SystemLookup(AbstractResolver):
    """The system's own resolver, getaddrinfo(3), in its own threads; they start at first use."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the name. Raises OSError."""

        def look_up() -> list[ResolveResult]:
            found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=port,
                    family=kind,
                    proto=proto,
                    flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                )
                for kind, _, proto, _, address in found
            ]

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, "lookup")
        return await asyncio.get_running_loop().run_in_executor(self._threads, look_up)

    async def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


class GuardedResolver(AbstractResolver):
    """Wraps `inner`; refuses a name as soon as any one of its addresses is refused."""

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner
        self._exempt: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._unknown: OrderedDict[str, float] = OrderedDict()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises SkippedUrl when the name does not exist or any of its addresses may not be fetched."""
        if self._unknown.get(_plain(host), 0.0) > time.monotonic():
            raise SkippedUrl()
        try:
            found = await self._inner.resolve(host, port, family)
        except (OSError, UnicodeError) as error:
            self._note_unknown(host)
            raise SkippedUrl() from error
        if not found or not all(self._policy.permits(host, answer["host"], port) for answer in found):
            raise SkippedUrl()
        key = (_plain(host), port)
        self._exempt.pop(key, None)
        addresses = [parse_address(answer["host"]) for answer in found]
        if not all(address is not None and is_public(address) for address in addresses):
            self._exempt[key] = None
            if len(self._exempt) > _REMEMBERED:
                self._exempt.popitem(last=False)
        return found

    def _note_unknown(self, host: str) -> None:
        """Not to be asked again for a moment: a page may link to one dead host a hundred times."""
        self._unknown[_plain(host)] = time.monotonic() + _UNKNOWN_S
        self._unknown.move_to_end(_plain(host))
        if len(self._unknown) > _REMEMBERED:
            self._unknown.popitem(last=False)

    def was_exempt(self, host: str, port: int) -> bool:
        """True when the name's connections lead to an address that only the operator's list permits."""
        return (_plain(host), port) in self._exempt

    async def close(self) -> None:
        await self._inner.close()


def _plain(host: str) -> str:
    return host.rstrip(".").lower()
