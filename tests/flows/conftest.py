"""The real `gateway serve` with its embedded language model, one for a file of tests, and OpenAI's client for it."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import ANSWER_S, start_process


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with start_process(tmp_path_factory.mktemp("serving"), embedded=True) as process:
        yield process


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made
