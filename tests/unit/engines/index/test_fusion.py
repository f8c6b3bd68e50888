"""Ranking by words and by vectors together: what is near counts, and the score says what the index holds."""

from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import FITTING_SCORE
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
