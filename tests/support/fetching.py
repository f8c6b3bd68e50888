"""A fetcher, closed behind its use."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher


@asynccontextmanager
async def fetching(allow: AddressPolicy | Sequence[str] = (), **options: object) -> AsyncIterator[Fetcher]:
    """`allow`: the policy, or the addresses that the operator allows."""
    policy = allow if isinstance(allow, AddressPolicy) else AddressPolicy(allow)
    fetcher = Fetcher(policy, "test", **options)  # type: ignore[arg-type]
    try:
        yield fetcher
    finally:
        await fetcher.close()
