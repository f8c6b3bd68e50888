"""Ranking: what the feedback pass adds up is what one query would give."""

from pathlib import Path

import pytest

from gateway.engines.index.query import IndexQuery, _ranked
from gateway.engines.index.schema import open_database
from gateway.engines.index.store import IndexedPage, PageIndex


async def test_the_scores_of_two_queries_add_up_to_those_of_one_for_all_words(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db")
    texts = ["apple pear", "apple apple fig", "fig plum", "plum pear pear nut", "nut"]
    await index.add([IndexedPage(f"https://a.test/{n}", f"Page {n}", text) for n, text in enumerate(texts)])
    await index.close()
    connection = open_database(tmp_path / "i.db")
    try:
        query = IndexQuery("", ("",))
        first, more = (
            dict(_ranked(connection, query, (words, []), 0)) for words in (["apple", "pear"], ["fig", "nut"])
        )
        whole = dict(_ranked(connection, query, (["apple", "pear", "fig", "nut"], []), 0))
    finally:
        connection.close()
    assert {row: first.get(row, 0) + more.get(row, 0) for row in first | more} == pytest.approx(whole)
