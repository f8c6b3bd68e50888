"""Ranking: what the feedback pass adds up is what one query would give; words, names and kinds of pages in a query."""

from pathlib import Path

import pytest

from gateway.engines.index.candidates import ranked_passages
from gateway.engines.index.page_priors import page_prior
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery, QueryTerms, query_terms
from gateway.engines.index.schema import open_database
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex


async def test_the_scores_of_two_queries_add_up_to_those_of_one_for_all_words(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db")
    texts = ["apple pear", "apple apple fig", "fig plum", "plum pear pear nut", "nut"]
    await index.add([IndexedPage(f"https://a.test/{n}", f"Page {n}", text) for n, text in enumerate(texts)])
    await index.close()
    connection = open_database(tmp_path / "i.db")
    try:

        def scores(*words: str) -> dict[int, float]:
            ranked = ranked_passages(SqliteReader(connection), IndexQuery("", ("",)), QueryTerms(words, ()))
            return {each.row: each.score for each in ranked}

        first, more, whole = scores("apple", "pear"), scores("fig", "nut"), scores("apple", "pear", "fig", "nut")
    finally:
        connection.close()
    assert {row: first.get(row, 0) + more.get(row, 0) for row in first | more} == pytest.approx(whole)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("how do I use lru_cache", ("use", "lru_cache")),
        ("getElementById returns null", ("getelementbyid", "get", "element", "id", "returns", "null")),
        ("what is it", ("what", "is", "it")),
        ("RFC9110 Retry-After", ("rfc9110", "retry")),
        ("__init__", ("init",)),
    ],
)
def test_names_are_looked_up_whole_and_in_parts_and_stop_words_only_when_alone(
    text: str, words: tuple[str, ...]
) -> None:
    assert query_terms(text).words == words


@pytest.mark.parametrize(
    ("path", "title", "query", "lowered"),
    [
        ("guide/install.html", "Installing", "install", False),
        ("genindex.html", "Index", "install", True),
        ("_modules/pkg/core.html", "pkg.core", "install", True),
        ("_modules/pkg/core.html", "pkg.core", "source code of pkg.core", False),
        ("whatsnew/3.11.html", "What's New In 3.11", "install", True),
        ("releases/4.2.html", "4.2 release notes", "release notes 4.2", False),
        ("blog/index.html", "A blog", "install", False),
    ],
)
def test_listings_sources_and_release_notes_rank_behind_guides_unless_they_are_asked_for(
    path: str, title: str, query: str, lowered: bool
) -> None:
    assert (page_prior(f"https://a.test/{path}", title, query) < 1) == lowered
