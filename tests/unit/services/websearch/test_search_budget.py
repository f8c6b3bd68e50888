"""A search result keeps to the budget as well: excerpts first, pages' text in what they leave."""

import pytest

from gateway.domain import Json, SearchRequest
from gateway.wire.preencoded import PackedJson
from tests.support.loop_turns import turns_of_others
from tests.unit.services.websearch.test_service import CALL, Scripted, result, service, whole

BOTH = frozenset({"include_raw_content", "include_favicon"})


def sizes(data: Json, field: str) -> list[int]:
    return [len(item.get(field) or "") for item in data["results"]]


def results(*lengths: tuple[int, int | None]) -> list[Json]:
    """Results with an excerpt and a page of these lengths."""
    texts = [(("word " * excerpt)[:excerpt], text and ("text " * text)[:text]) for excerpt, text in lengths]
    return [result(f"https://a.test/{n}", content=content, raw_content=raw) for n, (content, raw) in enumerate(texts)]


async def test_long_excerpts_are_cut_once_and_remembered_so() -> None:
    provider = Scripted(results((20_000, None), (300, None), (20_000, None)))
    made = service(provider, budget=20_000)
    first = await made.search(SearchRequest("q"), CALL)
    again = await made.search(SearchRequest("q"), CALL)
    assert isinstance(again, PackedJson) and again.scan_token is not None and provider.asked == 1
    for data in (whole(first), whole(again)):
        assert sum(sizes(data, "content")) <= 20_000 and sizes(data, "content")[1] == 300
        assert min(sizes(data, "content")[::2]) > 9_000
        assert data["truncated"] is True and data["note"].count("2 of 3 excerpts were shortened") == 1


async def test_what_fits_is_neither_cut_nor_told() -> None:
    made = service(Scripted(results((500, 9_000), (500, 10_000)), BOTH), budget=20_000)
    data = whole(await made.search(SearchRequest("q", include_raw_content=True), CALL))
    assert sizes(data, "content") == [500, 500] and sizes(data, "raw_content") == [9_000, 10_000]
    assert "truncated" not in data and "note" not in data


@pytest.mark.parametrize("excerpt", [400, 6_000, 9_900, 30_000])
async def test_pages_get_what_the_excerpts_leave(excerpt: int) -> None:
    made = service(Scripted(results((excerpt, 9_000), (excerpt, 9_000)), BOTH), budget=20_000)
    request = SearchRequest("q", include_raw_content=True)
    for _ in range(2):
        data = whole(await made.search(request, CALL))
        excerpts, pages = sum(sizes(data, "content")), sum(sizes(data, "raw_content"))
        assert excerpts == 2 * excerpt or excerpts > 19_000
        assert min(2 * (excerpt + 9_000), 20_000) - 500 < excerpts + pages <= 20_000
        assert (excerpts + pages == 2 * (excerpt + 9_000)) is ("truncated" not in data)


async def test_pages_without_room_are_told() -> None:
    made = service(Scripted(results((10_000, 9_000), (10_000, 8_000)), BOTH), budget=20_000)
    data = whole(await made.search(SearchRequest("q", include_raw_content=True), CALL))
    assert sizes(data, "content") == [10_000, 10_000] and sizes(data, "raw_content") == [0, 0]
    assert data["truncated"] is True and "2 pages are listed without text" in data["note"]


async def test_no_text_of_a_result_keeps_characters_that_nobody_sees() -> None:
    icon, odd = "https://a.test/\u2060f.ico", ["\U000e0041d"]
    fields = {"content": "a\u200bb", "raw_content": "\u202ec", "favicon": icon, "odd": odd}
    made = service(Scripted([{**result("https://a.test/\u200b1"), **fields}], BOTH))
    data = whole(await made.search(SearchRequest("q", include_raw_content=True, include_favicon=True), CALL))
    (found,) = data["results"]
    assert (found["url"], found["content"], found["raw_content"]) == ("https://a.test/1", "ab", "c")
    assert (found["favicon"], found["odd"]) == ("https://a.test/f.ico", ["d"])
    assert "6 invisible characters" in data["note"]


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
