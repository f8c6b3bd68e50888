"""The messages route before the embedded language model, in a real `gateway serve`."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import ANSWER_S, NEEDS_MODEL

pytestmark = NEEDS_MODEL
HELLO: list[Any] = [{"role": "user", "content": "What is HTTP? One sentence."}]


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, auth_token=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made


def test_the_embedded_model_streams_a_message(client: anthropic.Anthropic) -> None:
    with client.messages.stream(model="SvcLLM", max_tokens=12, messages=HELLO) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 3 and message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 12 and message.usage.input_tokens > 10


def test_its_tokenizer_counts_what_the_answer_counts(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model="SvcLLM", messages=HELLO)
    message = client.messages.create(model="SvcLLM", max_tokens=1, messages=HELLO)
    assert isinstance(message, anthropic.types.Message)
    read = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    assert counted.input_tokens == read and "usage_estimated" not in str(counted.model_extra)


def test_a_prompt_beyond_its_context_is_told_as_too_long(client: anthropic.Anthropic) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 6000}]
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: 60\d\d tokens > 4096 maximum"):
        client.messages.create(model="SvcLLM", max_tokens=1, messages=long)
