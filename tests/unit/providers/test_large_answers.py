"""Whole answers of upstreams are decoded as `json` does, in turns with others; too many values are refused."""

import orjson
import pytest

from gateway.errors import UpstreamError
from gateway.providers.large_answers import MAX_VALUES, decoded_answer
from tests.support.loop_turns import turns_of_others


async def test_a_large_answer_equals_its_plain_decoding_and_others_run_meanwhile() -> None:
    value = {"id": "c", "x": [{"a": number % 300, "b": ["é", None, 0.5]} for number in range(100_000)]}
    async with turns_of_others() as turns:
        assert await decoded_answer(orjson.dumps(value)) == value
    assert turns.count > 20  # 3 MB in one go: two


@pytest.mark.parametrize("data", [b"{", b'{"a":1}x', b"[" * 300_000 + b"]" * 300_000, b'{"a":"' + b"x" * 300_000])
async def test_what_is_no_json_is_none(data: bytes) -> None:
    assert await decoded_answer(data) is None


async def test_more_values_than_any_answer_has_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(UpstreamError, match=f"limit is {MAX_VALUES}"):
        await decoded_answer(b"[" + b"{}," * MAX_VALUES + b"{}]")
