"""The local search provider: what of a found page is shown, and how much of it is read for that."""

from unittest.mock import AsyncMock, Mock

import pytest

from gateway.domain import Json, SearchRequest, WebCall
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit
from gateway.engines.index.search_provider import _READ_CHARS, LocalSearch, _joined
from gateway.engines.index.store import PageIndex
from gateway.engines.words.sections import Passage

FILLER = "Apples are kept in a cool place and turned over once a week. "


def hit(content: str, *passages: Passage) -> IndexHit:
    return IndexHit("https://a.test/", "A page", content, 0.9, None, None, passages)


async def found(page: IndexHit, depth: str = "basic") -> Json:
    """The result that an index which finds this page gives."""
    index = Mock(search=AsyncMock(return_value=[page]))
    answer = await LocalSearch(index).search(SearchRequest("zebra", search_depth=depth), WebCall("key", "r"))
    only: Json = answer["results"][0]
    return only


def test_what_is_read_of_a_page_for_its_excerpt_is_capped_however_long_its_headings_are() -> None:
    content = FILLER * 300
    passages = [Passage(n * 1_800, n * 1_800 + 1_800, (f"{n} {'heading ' * 37}",) * 6) for n in range(10)]
    assert len(_joined(hit(content, *passages), passages)) == _READ_CHARS


def test_ten_whole_passages_below_ordinary_headings_are_read_to_their_end() -> None:
    content = (FILLER * 300)[:17_994] + "zebra."
    passages = [Passage(n * 1_800, n * 1_800 + 1_800, ("Guide", f"Chapter {n}")) for n in range(10)]
    assert _joined(hit(content, *passages), passages).endswith("zebra.")


async def test_an_excerpt_has_words_from_within_what_is_read_and_none_from_beyond() -> None:
    content = f"{FILLER * 40}\n\nThe zebra stands here. {FILLER * 40}"
    assert "The zebra stands here." in (await found(hit(content, Passage(0, len(content), ()))))["content"]
    text = f"{FILLER}\n\n" * 400
    beyond = f"{text}The zebra stands here."
    assert len(text) > _READ_CHARS
    assert "zebra" not in (await found(hit(beyond, Passage(0, len(beyond), ()))))["content"]


@pytest.mark.parametrize("depth", ["fast", "ultra-fast"])
async def test_a_depth_that_promises_speed_shows_the_best_passage_below_its_headings(depth: str) -> None:
    content = "Zebras graze. Apples fall."
    result = await found(hit(content, Passage(0, 13, ("Animals", "Stripes")), Passage(14, 26, ())), depth)
    assert result["content"] == "Animals > Stripes\n\nZebras graze."


@pytest.mark.parametrize("depth", ["basic", "fast"])
async def test_a_passage_from_within_code_is_shown_as_code_and_what_follows_is_not(depth: str) -> None:
    content = "```c\nint zebra;\nint crossing;\n```\n\nThe end."
    start, prose = content.index("int crossing"), content.index("The end")
    page = hit(content, Passage(start, start + 13, ("Code",)), Passage(prose, len(content), ("Prose",)))
    shown = (await found(page, depth))["content"]
    assert "```c\nint crossing;\n```" in shown
    assert depth == "fast" or shown.endswith("# Prose\n\nThe end.")


async def test_the_passage_that_answers_comes_first_and_the_others_in_their_order() -> None:
    content = "Apples fall. Pears rot. The zebra grazes."
    page = hit(content, Passage(24, 41, ()), Passage(13, 23, ()), Passage(0, 12, ()))
    assert (await found(page))["content"] == "The zebra grazes.\n\n[...]\n\nApples fall.\n\nPears rot."


async def test_a_page_at_several_addresses_is_one_result_that_names_them(index: PageIndex) -> None:
    same = [IndexedPage(f"https://a.test/{name}", "Zebras", "A zebra grazes in the grass.") for name in "xyz"]
    await index.add([*same, IndexedPage("https://a.test/other", "Zebras", "A zebra sleeps.")])
    results = (await LocalSearch(index).search(SearchRequest("zebra"), WebCall("key", "r")))["results"]
    assert len(results) == 2
    (one,) = [each for each in results if "other_urls" in each]
    assert {one["url"], *one["other_urls"]} == {page.url for page in same}
