"""The score of a result: how likely its page answers, whatever else was found."""

from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import in_order
from gateway.engines.index.store import PageIndex

FILLER = "Gardens need water in dry summers, and shade where the sun is strong. " * 20


async def found(database: Path, query: str, pages: dict[str, str]) -> list[IndexHit]:
    index = PageIndex(database)
    await index.add([IndexedPage(f"https://a.test/{title}", title, text, "key1") for title, text in pages.items()])
    hits = await index.search(IndexQuery(query, ("key1",)))
    await index.close()
    return hits


def test_no_result_is_above_the_one_before_it_and_the_best_that_speaks_lifts_those_before() -> None:
    assert in_order([0.2, 0.6, 0.1, 0.9], [True, True, True, False]) == [0.6, 0.6, 0.1, 0.1]
    assert in_order([0.2, 0.1, 0.1, 0.9], [True, False, False, True]) == [0.9, 0.9, 0.9, 0.9]


async def test_a_page_about_the_words_scores_above_one_that_has_them_by_the_way(tmp_path: Path) -> None:
    filler = {f"p{number}": f"# Garden {number}\n\n{FILLER}" for number in range(8)}
    about = {"port": f"# Change the port\n\nThe port is changed in the file. {FILLER}"}
    by_the_way = {"notes": f"# Notes\n\nShips leave the port. {FILLER} A change of weather. {FILLER}"}
    (best,) = [hit for hit in await found(tmp_path / "a.db", "change the port", filler | about) if hit.title == "port"]
    (weak,) = [
        hit for hit in await found(tmp_path / "b.db", "change the port", filler | by_the_way) if hit.title == "notes"
    ]
    assert best.score > weak.score + 0.2
