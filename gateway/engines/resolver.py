"""A resolver that lets no private address through and pins what it checked.

aiohttp asks it once per connection and connects to exactly the addresses it returns, so there is no second lookup that
could answer differently (rebinding). It is never asked about IP literals: the fetcher judges those on every hop.
"""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.engines.addresses import AddressPolicy
from gateway.engines.failures import SkippedUrl


class GuardedResolver(AbstractResolver):
    """Wraps `inner`; refuses a name as soon as any one of its addresses is refused."""

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises SkippedUrl when the name does not exist or any of its addresses may not be fetched."""
        try:
            found = await self._inner.resolve(host, port, family)
        except OSError as error:
            raise SkippedUrl() from error
        if not found or not all(self._policy.permits(host, answer["host"], port) for answer in found):
            raise SkippedUrl()
        return found

    async def close(self) -> None:
        await self._inner.close()
