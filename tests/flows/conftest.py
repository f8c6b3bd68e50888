"""Fixtures of several files: a gateway between a scripted model and a scripted search."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.asking import official
from tests.support.gateways import Gateway, Serve
from tests.support.hosted_search import Scene, scene


@pytest.fixture
async def stage(serve: Serve) -> AsyncIterator[Scene]:
    """A gateway between a scripted model and a scripted search provider; files with other needs have their own."""
    async with scene(serve) as made:
        yield made


@pytest.fixture
async def client(server: Gateway) -> AsyncIterator[Any]:
    """openai-python for the gateway; files with another client have their own."""
    async with official(server) as made:
        yield made
