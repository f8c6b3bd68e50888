"""Ranking by words and by vectors together: what is near counts, and the score says what the index holds."""

from pathlib import Path

from gateway.engines.index.fusion import RankedPage, near_share
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.reader import Candidate
from gateway.engines.index.score import FITTING_SCORE
from gateway.engines.index.store import PageIndex

SECTION = "Nothing of the query is said in this section, which is about something else altogether. " * 12


def page(name: str, *sections: str) -> IndexedPage:
    return IndexedPage(f"https://a.test/{name}", name, "\n\n".join(sections), "key1")


async def ranked(folder: Path, query: str, pages: dict[str, list[str]], cosines: dict[str, list[float]]) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in await hits(folder, query, pages, cosines)]


async def hits(
    folder: Path, query: str, pages: dict[str, list[str]], cosines: dict[str, list[float]]
) -> list[IndexHit]:
    """What is found when the passages of each page are as near to the query as said."""
    index = PageIndex(folder / "i.db")
    await index.add([page(name, *sections) for name, sections in pages.items()])
    sql = "SELECT title, passages.id FROM passages JOIN pages ON pages.id = passages.page ORDER BY passages.id"
    rows = await index.read(lambda connection: connection.execute(sql).fetchall())
    near: list[tuple[int, float]] = []
    for name, values in cosines.items():
        near += zip([row for title, row in rows if title == name], values, strict=False)
    near.sort(key=lambda pair: -pair[1])
    found = await index.search(IndexQuery(query, ("key1",), near=tuple(near)))
    await index.close()
    return found


def test_a_pages_further_passages_count_by_a_share() -> None:
    several = RankedPage(1, [Candidate(1, 1, 0.5), Candidate(2, 1, 0.5), Candidate(3, 1, 0.5), Candidate(4, 1, 0.5)])
    one = RankedPage(2, [Candidate(5, 2, 0.6)])
    assert several.strength() > one.strength() == 0.6
    assert several.strength() == RankedPage(3, several.passages[:3]).strength()


def test_vectors_count_the_more_the_less_of_the_query_the_words_found() -> None:
    shares = [near_share(coverage, 1.0) for coverage in (0.0, 0.5, 0.7, 0.8, 0.95, 1.0)]
    assert shares == sorted(shares, reverse=True) and shares[0] == shares[1] > 1 > shares[-1]
    assert near_share(0.5, 0.0) == near_share(1.0, 0.0) == shares[-1]  # lists of words, messages of programs
    assert shares[0] > near_share(0.5, 0.5) > 1


async def test_of_pages_without_a_word_of_the_query_the_one_that_is_near_in_several_places_is_first(
    tmp_path: Path,
) -> None:
    pages = {"once": [SECTION, SECTION, SECTION], "often": [SECTION, SECTION, SECTION]}
    near = {"once": [0.52], "often": [0.5, 0.5, 0.5]}
    assert await ranked(tmp_path, "unknown paraphrase", pages, near) == ["often", "once"]


async def test_a_lower_page_with_the_words_keeps_the_answer_from_being_called_unfit(tmp_path: Path) -> None:
    pages = {name: [SECTION] for name in ("near1", "near2", "near3", "near4")}
    near = {name: [0.35 - place / 100] for place, name in enumerate(pages)}
    pages["words"] = ["The zebra crossing of Quagga street."]
    found = await hits(tmp_path, "permit for a zebra crossing at Quagga street", pages, near)
    assert found[0].title == "near1" and found[0].score > FITTING_SCORE
