"""Misspelt words of a query: what is looked up instead, for whom, and that the answer says so."""

from collections.abc import Sequence

import pytest

from gateway.domain import SearchRequest, WebCall
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.spelling import slips
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex
from tests.support.searched import pages_of

TEXTS = {
    "cache": "Caching of answers: how long a cached answer is kept, and how to empty the cache.",
    "limits": "Caching apart, limits of requests for each key, and how to raise the limits.",
    "passwords": "A forgotten password is set anew; passwords are hashed. La base de données est vide.",
    "more": "Passwords and requests, and their limits.",
}


async def search(index: PageIndex, query: str, owner: str = "key1") -> tuple[list[str], str]:
    """The names of the pages found, and the note."""
    answer = await LocalSearch(index).search(SearchRequest(query), WebCall(owner, "r"))
    return [each["url"].rpartition("/")[2] for each in answer["results"]], answer.get("note", "")


@pytest.mark.parametrize(
    ("query", "first", "instead"),
    [
        ("empty the cachign", "cache", '"caching" instead of "cachign"'),
        ("forgotten Pasword", "passwords", '"password" instead of "Pasword"'),
        ("reqeusts of a key limts", "limits", '"requests" instead of "reqeusts" and "limits" instead of "limts"'),
    ],
)
async def test_a_word_that_no_page_has_is_replaced_by_one_a_slip_away_and_this_is_said(
    index: PageIndex, query: str, first: str, instead: str
) -> None:
    await index.add(pages_of(TEXTS, "key1"))
    found, note = await search(index, query)
    assert found[0] == first
    assert f"Searched for {instead}, which no page has." in note


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "empty the cache", "--reqeusts of a key", "reqeusts_of a key", "cacheing.py limits", "caching forgoten",
        "reqeusts pasword cachign", "la base de données pasword est vide dans le cache",
    ],
    ids=["right", "an option", "a name", "a file", "a single page", "three words", "French"],
)  # fmt: skip
async def test_names_other_languages_and_many_unknown_words_are_left_alone(index: PageIndex, query: str) -> None:
    await index.add(pages_of(TEXTS, "key1"))
    assert "Searched for" not in (await search(index, query))[1]


async def test_a_word_in_use_that_no_page_has_is_meant_as_it_stands(index: PageIndex) -> None:
    assert "caving" in slips("carving")
    texts = {"a": "Caving for beginners.", "b": "Caving equipment, and where to buy it.", "c": "Hotel rooms."}
    await index.add(pages_of(texts, "key1"))
    notes = [(await search(index, query))[1] for query in ("carving equipment", "cavng equipment")]
    assert ["Searched for" in note for note in notes] == [False, True]


async def test_of_words_as_frequent_the_one_that_is_in_use_and_of_the_likelier_slip_is_meant(index: PageIndex) -> None:
    texts = {name: f"About this and threads and threes, {name}." for name in ("first", "second", "third")}
    await index.add(pages_of(texts, "key1"))
    assert '"threads" instead of "threds"' in (await search(index, "threds"))[1]


async def test_words_of_pages_that_the_caller_may_not_see_are_never_proposed(index: PageIndex) -> None:
    await index.add(pages_of(TEXTS, "key1") + pages_of({"own": "apples and pears"}, "key2"))
    found, note = await search(index, "apples cachign", "key2")
    assert found == ["own"] and "Searched for" not in note


async def test_no_more_words_are_judged_than_are_looked_up(index: PageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def counts(self: SqliteReader, words: Sequence[str], limit: int) -> dict[str, int]:
        counted.append(len(words))
        return dict.fromkeys(words, 1)

    monkeypatch.setattr(SqliteReader, "counts", counts)
    letters = "abcdefghij"
    await index.search(IndexQuery(" ".join(f"word{a}{b}{c}" for a in letters for b in letters for c in letters), ("",)))
    assert 0 < max(counted) <= 32
