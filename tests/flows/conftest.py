"""Fixtures of several files: the real `gateway serve` with its embedded language model, one for a file, and OpenAI's
client for it; a gateway with scripted model and search."""

from collections.abc import AsyncIterator, Iterator

import pytest
from openai import OpenAI

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import ANSWER_S, StartGateway, start_process
from tests.support.hosted_search import Scene, scene


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with start_process(tmp_path_factory.mktemp("serving"), embedded=True) as process:
        yield process


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made


@pytest.fixture
async def stage(start_gateway: StartGateway) -> AsyncIterator[Scene]:
    """A gateway between a scripted model and a scripted search provider; files with other needs have their own."""
    async with scene(start_gateway) as made:
        yield made
