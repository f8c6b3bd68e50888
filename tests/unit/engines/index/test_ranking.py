"""Ranking in an index: which page comes first, by its words, names, language and vectors, and what its score says."""

import itertools
import json
from pathlib import Path

import pytest

from gateway.engines.index import query as query_module
from gateway.engines.index import ranking
from gateway.engines.index.candidates import PassageCounts, affordable_terms, present_stems, ranked_passages
from gateway.engines.index.database import open_database
from gateway.engines.index.query import IndexHit, IndexQuery, QueryTerms, query_terms
from gateway.engines.index.ranking import FITTING_SCORE, in_order
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex
from tests.support.paths import GOLDEN
from tests.support.searched import found_names, pages_of

RANKINGS = json.loads((GOLDEN / "search_rankings.json").read_text("utf-8"))
"""By a rule, pages by their names, and queries with the names of the pages that are found first."""


@pytest.mark.parametrize(("rule", "query"), [(rule, query) for rule in RANKINGS for query in RANKINGS[rule]["first"]])
async def test_the_page_that_answers_is_first(tmp_path: Path, rule: str, query: str) -> None:
    first = RANKINGS[rule]["first"][query]
    assert (await found_names(tmp_path, list(RANKINGS[rule]["pages"].items()), query))[: len(first)] == first


_COMMON = [
    ("both", "A tide that carries amber to the shore."),
    *[(f"tide{n}", "The tide, the tide of every day.") for n in range(30)],
    *[(f"amber{n}", "Amber, amber of every colour.") for n in range(30)],
]


@pytest.mark.parametrize("query", ["amber tide", "a tide of amber shipped 教程"])
async def test_a_large_index_ranks_old_pages_that_hold_two_common_words_and_finds_chinese_pairs_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(SqliteReader, "large", 10)
    monkeypatch.setattr(SqliteReader, "row_budget", 10)
    assert (await found_names(tmp_path, _COMMON, query))[0] == "both"
    (tmp_path / "more").mkdir()
    pages = [("chinese", "教程 for everybody"), *_COMMON]
    assert "chinese" in await found_names(tmp_path / "more", pages, "amber tide 教程")


async def test_in_a_large_index_stems_that_most_passages_have_are_not_looked_up(
    index: PageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteReader, "row_budget", 8)
    await index.add(
        pages_of({f"{n}": "Система печатает документы." for n in range(9)} | {"d": "Система ищет драйверы."})
    )
    connection = open_database(tmp_path / "i.db")
    try:
        reader = SqliteReader(connection, ("",))
        counter = PassageCounts(reader)
        asked = present_stems(counter, query_terms("драйверов системы"))
        used, _ = affordable_terms(reader, IndexQuery("", ("",)), asked, counter)
    finally:
        connection.close()
    assert [pair[:-1] for pair in asked.pairs] == ["драивер", "сист"]
    assert [pair[:-1] for pair in used.pairs] == ["драивер"]


async def test_stems_that_no_page_has_change_no_score(index: PageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    await index.add(pages_of({f"Page {n}": f"kubectl printr {n}" for n in range(5)}))
    scores = [hit.score for hit in await index.search(IndexQuery("kubectl printr", ("",)))]
    monkeypatch.setattr(query_module, "query_stems", lambda words, latin: ())
    assert scores == [hit.score for hit in await index.search(IndexQuery("kubectl printr", ("",)))]


async def test_the_scores_of_two_queries_add_up_to_those_of_one_for_all_words(index: PageIndex, tmp_path: Path) -> None:
    texts = ["apple pear", "apple apple fig", "fig plum", "plum pear pear nut", "nut"]
    await index.add(pages_of({f"Page {n}": text for n, text in enumerate(texts)}))
    connection = open_database(tmp_path / "i.db")

    def scores(*words: str) -> dict[int, float]:
        ranked = ranked_passages(SqliteReader(connection, ("",)), IndexQuery("", ("",)), QueryTerms(words, ()))
        return {each.row: each.score for each in ranked}

    first, more, whole = scores("apple", "pear"), scores("fig", "nut"), scores("apple", "pear", "fig", "nut")
    connection.close()
    assert {row: first.get(row, 0) + more.get(row, 0) for row in first | more} == pytest.approx(whole)


async def test_a_score_is_the_same_for_any_number_of_results(index: PageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lower page that fits better lifts the score of the first, also where it is not shown."""
    fits = itertools.cycle((0.1, 0.3, 0.5, 0.5, 0.5))
    monkeypatch.setattr(ranking, "_fit", lambda hit, page, asked: next(fits))
    texts = [f"{'The harbour and its tide. ' * (6 - at)} {'Ships come and go. ' * 20}" for at in range(5)]
    await index.add(pages_of({f"Page {at}": text for at, text in enumerate(texts)}))
    queries = [IndexQuery("harbour tide", ("",), count=count) for count in (1, 2, 10)]
    scores = [[hit.score for hit in await index.search(query)] for query in queries]
    assert list(map(len, scores)) == [1, 2, 5] and scores[-1][0] == 0.5
    assert all(fewer == scores[-1][: len(fewer)] for fewer in scores)


def test_no_result_is_above_the_one_before_it_and_the_best_that_speaks_lifts_those_before() -> None:
    assert in_order([0.2, 0.6, 0.1, 0.9], [True, True, True, False]) == [0.6, 0.6, 0.1, 0.1]
    assert in_order([0.2, 0.1, 0.1, 0.9], [True, False, False, True]) == [0.9, 0.9, 0.9, 0.9]


async def test_a_page_about_the_words_scores_above_one_that_has_them_by_the_way(tmp_path: Path) -> None:
    filler = "Gardens need water in dry summers, and shade where the sun is strong. " * 20
    others = {f"p{number}": f"# Garden {number}\n\n{filler}" for number in range(8)}
    scores: list[float] = []
    about = f"# Change the port\n\nThe port is changed in the file. {filler}"
    for text in (about, f"# Notes\n\nShips leave the port. {filler} A change of weather. {filler}"):
        index = PageIndex(tmp_path / f"{len(scores)}.db")
        await index.add(pages_of(others | {"asked": text}))
        scores += [
            hit.score for hit in await index.search(IndexQuery("change the port", ("",))) if hit.title == "asked"
        ]
        await index.close()
    assert scores[0] > scores[1] + 0.2


REFERENCE = (
    "# Settings\n\n"
    + "`max_workers` and `min_workers` together bound the pool, as max_workers does alone.\n\n" * 40
    + "## Pool\n\n`min_workers` (integer)\n\nHow many workers are kept. The default is 1.\n\n"
    "`max_workers` (integer)\n\nHow many workers there may be at most. The default is 8.\n"
)
NAMES = "# All names\n\n" + "\n".join(f"- [`{name}`](pool#{name})" for name in ("max_workers", "max_workers old") * 3)
GUIDE = "# Raising limits\n\nRaise max_workers first. With max_workers high, lower max_workers again."


async def test_a_name_finds_the_page_that_defines_it_and_the_passage_that_does(index: PageIndex) -> None:
    await index.add(pages_of({"reference": REFERENCE, "names": NAMES, "guide": GUIDE}))
    hit = (await index.search(IndexQuery("max_workers", ("",))))[0]
    assert hit.title == "reference"
    assert "at most. The default is 8." in hit.content[hit.passages[0].start : hit.passages[0].end]


SECTION = "Nothing of the query is said in this section, which is about something else altogether. " * 12


async def hits(
    index: PageIndex, query: str, pages: dict[str, list[str]], cosines: dict[str, list[float]], waiting: str = ""
) -> list[IndexHit]:
    """What is found when the passages of each page are as near to the query as said. `waiting`: the page whose passages
    have no vectors yet."""
    await index.add(pages_of({name: "\n\n".join(sections) for name, sections in pages.items()}))
    sql = "SELECT title, passages.id FROM passages JOIN pages ON pages.id = passages.page ORDER BY passages.id"
    rows = await index.read(lambda connection: connection.execute(sql).fetchall())
    made = [(row,) for title, row in rows if title != waiting]
    sql_made = "UPDATE passages SET is_embedded = 1 WHERE id = ?"
    await index.write(lambda connection: connection.executemany(sql_made, made))
    near: list[tuple[int, float]] = []
    for name, values in cosines.items():
        near += zip([row for title, row in rows if title == name], values, strict=False)
    near.sort(key=lambda pair: -pair[1])
    return await index.search(IndexQuery(query, ("",), near=tuple(near)))


async def test_pages_that_have_vectors_do_not_hide_the_one_asked_for_that_has_none(index: PageIndex) -> None:
    new = {f"new{at}": [f"What we make of it. {SECTION}"] for at in range(4)}
    old = {
        "clamp": [f"How the clamp of the toolkit is made. {SECTION}"],
        "older": [f"The toolkit has a clamp. {SECTION}"],
    }
    query = "how do I make a clamp with the new toolkit"
    found = await hits(index, query, old | new, {name: [0.4] for name in new}, "clamp")
    assert found[0].title == "clamp"


async def test_of_pages_without_a_word_of_the_query_the_one_near_in_several_places_is_first(index: PageIndex) -> None:
    near = {"once": [0.52, 0.1, 0.1], "often": [0.5, 0.5, 0.5]}
    found = await hits(index, "unknown paraphrase", {name: [SECTION] * 3 for name in near}, near)
    assert [hit.title for hit in found] == ["often", "once"]


async def test_a_lower_page_with_the_words_keeps_the_answer_from_being_called_unfit(index: PageIndex) -> None:
    near = {f"near{place}": [0.36 - place / 100] for place in range(1, 5)}
    pages = {name: [SECTION] for name in near} | {"words": ["The zebra crossing of Quagga street."]}
    found = await hits(index, "permit for a zebra crossing at Quagga street", pages, near)
    assert found[0].title == "near1" and found[0].score > FITTING_SCORE
