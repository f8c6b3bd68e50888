"""Answers of search providers that are far larger than any search wants."""

import pytest

from gateway.domain import SearchRequest
from gateway.wire.preencoded import PackedJson
from tests.support.loop_turns import turns_of_others
from tests.unit.services.websearch.test_service import CALL, Scripted, service


async def test_results_beyond_a_thousand_are_left_out_before_they_cost_anything() -> None:
    results = [{"title": "t", "url": f"https://a.example/{number}", "content": "x"} for number in range(5_000)]
    data = await service(Scripted([*results])).search(SearchRequest("q", exclude_domains=("a.example",)), CALL)
    assert isinstance(data, PackedJson) and data.unpack()["results"] == []
    assert "None of the 1000 results" in data["note"]


@pytest.mark.slow
async def test_others_run_while_a_text_of_invisible_characters_is_read() -> None:
    async with turns_of_others() as turns:
        hidden = Scripted([{"title": "t", "url": "https://a.example/", "content": "ab\u200b" * 100_000}])
        data = await service(hidden, budget=0).search(SearchRequest("q"), CALL)
    assert isinstance(data, PackedJson) and data.unpack()["results"][0]["content"] == "ab" * 100_000
    assert "100000 invisible characters" in data["note"]
    assert turns.count > 20  # in one go: two
