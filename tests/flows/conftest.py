"""Fixtures of several files: a gateway between a scripted model and a scripted search."""

from collections.abc import AsyncIterator

import pytest

from tests.support.gateways import StartGateway
from tests.support.hosted_search import Scene, scene


@pytest.fixture
async def stage(start_gateway: StartGateway) -> AsyncIterator[Scene]:
    """A gateway between a scripted model and a scripted search provider; files with other needs have their own."""
    async with scene(start_gateway) as made:
        yield made
