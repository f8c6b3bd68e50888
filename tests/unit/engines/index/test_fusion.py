"""Ranking by words and by vectors together: what is near counts, and the score says what the index holds."""

from pathlib import Path

from gateway.engines.index.candidates import Candidate, RankedPage
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import FITTING_SCORE, fused, near_share
from gateway.engines.index.rows import IndexedPage
from gateway.engines.index.store import PageIndex

SECTION = "Nothing of the query is said in this section, which is about something else altogether. " * 12


def page(name: str, *sections: str) -> IndexedPage:
    return IndexedPage(f"https://a.test/{name}", name, "\n\n".join(sections), "key1")


async def ranked(folder: Path, query: str, pages: dict[str, list[str]], cosines: dict[str, list[float]]) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in await hits(folder, query, pages, cosines)]


async def hits(
    folder: Path, query: str, pages: dict[str, list[str]], cosines: dict[str, list[float]], waiting: str = ""
) -> list[IndexHit]:
    """What is found when the passages of each page are as near to the query as said. `waiting`: the page whose passages
    have no vectors yet."""
    index = PageIndex(folder / "i.db")
    await index.add([page(name, *sections) for name, sections in pages.items()])
    sql = "SELECT title, passages.id FROM passages JOIN pages ON pages.id = passages.page ORDER BY passages.id"
    rows = await index.read(lambda connection: connection.execute(sql).fetchall())
    made = [(row,) for title, row in rows if title != waiting]
    sql_made = "UPDATE passages SET is_embedded = 1 WHERE id = ?"
    await index.write(lambda connection: connection.executemany(sql_made, made))
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


def ranking(ranks: dict[int, float]) -> list[RankedPage]:
    return [RankedPage(row, [Candidate(row, row, rank)], rank) for row, rank in ranks.items()]


def test_a_page_far_above_the_others_in_one_ranking_stays_first() -> None:
    by_words, by_vectors = {1: 10.0, 2: 2.0, 3: 1.9}, {2: 0.5, 3: 0.49, 1: 0.48}
    assert [page.row for page in fused(ranking(by_words), ranking(by_vectors), 1.0)] == [1, 2, 3]
    by_words, by_vectors = {1: 2.1, 2: 2.0}, {2: 0.6, 3: 0.4, 1: 0.3}
    assert [page.row for page in fused(ranking(by_words), ranking(by_vectors), 1.0)] == [2, 1, 3]
    assert fused([], [], 1.0) == []


def test_a_page_that_waits_for_its_vectors_is_not_behind_those_that_have_them() -> None:
    by_words, by_vectors = {1: 10.0, 2: 4.0}, {3: 0.5, 2: 0.3}
    assert [page.row for page in fused(ranking(by_words), ranking(by_vectors), 3.0)] == [3, 1, 2]
    assert [page.row for page in fused(ranking(by_words), ranking(by_vectors), 3.0, {1})] == [1, 3, 2]
    assert [page.row for page in fused(ranking(by_words), ranking(by_vectors), 3.0, {2})] == [3, 2, 1]


async def test_the_first_pages_of_a_crawl_that_have_vectors_do_not_hide_the_one_that_is_asked_for(
    tmp_path: Path,
) -> None:
    pages = {
        "clamp": [f"How the clamp of the toolkit is made. {SECTION}"],
        "older": [f"The toolkit has a clamp. {SECTION}"],
        **{f"new{at}": [f"What we make of it. {SECTION}"] for at in range(4)},
    }
    cosines = {f"new{at}": [0.4] for at in range(4)}
    query = "how do I make a clamp with the new toolkit"
    found = await hits(tmp_path, query, pages, cosines, "clamp")
    assert found[0].url.endswith("clamp")


def test_of_near_passages_a_single_one_is_not_behind_for_those_that_are_not_among_them() -> None:
    one = RankedPage(1, [Candidate(1, 1, 0.6)])
    several = RankedPage(2, [Candidate(2, 2, 0.55), Candidate(3, 2, 0.45), Candidate(4, 2, 0.45)])
    assert one.near_strength(0.42) > several.near_strength(0.42) > one.near_strength(0.1) > 0.6


def test_vectors_count_the_more_the_less_of_the_query_the_words_found() -> None:
    shares = [near_share(coverage, 1.0) for coverage in (0.0, 0.5, 0.7, 0.8, 0.95, 1.0)]
    assert shares == sorted(shares, reverse=True) and shares[0] == shares[1] > 1 > shares[-1]
    assert near_share(0.5, 0.0) == near_share(1.0, 0.0) == shares[-1]  # lists of words, messages of programs
    assert shares[0] > near_share(0.5, 0.5) > 1


async def test_of_pages_without_a_word_of_the_query_the_one_that_is_near_in_several_places_is_first(
    tmp_path: Path,
) -> None:
    pages = {"once": [SECTION, SECTION, SECTION], "often": [SECTION, SECTION, SECTION]}
    near = {"once": [0.52, 0.1, 0.1], "often": [0.5, 0.5, 0.5]}
    assert await ranked(tmp_path, "unknown paraphrase", pages, near) == ["often", "once"]


async def test_a_lower_page_with_the_words_keeps_the_answer_from_being_called_unfit(tmp_path: Path) -> None:
    pages = {name: [SECTION] for name in ("near1", "near2", "near3", "near4")}
    near = {name: [0.35 - place / 100] for place, name in enumerate(pages)}
    pages["words"] = ["The zebra crossing of Quagga street."]
    found = await hits(tmp_path, "permit for a zebra crossing at Quagga street", pages, near)
    assert found[0].title == "near1" and found[0].score > FITTING_SCORE
