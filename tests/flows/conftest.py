"""The real `gateway serve` with its embedded language model, one for a file of tests, and OpenAI's client for it."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.support.serve_process import ANSWER_S, ServeProcess, gateway_serving


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    with gateway_serving(tmp_path_factory.mktemp("serving")) as serving:
        yield serving


@pytest.fixture
def client(gateway: ServeProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made
