"""Ranking: large indexes, words, names and kinds of pages in a query."""

import itertools
from pathlib import Path

import pytest

from gateway.engines.index import ranking
from gateway.engines.index.candidates import ranked_passages
from gateway.engines.index.database import open_database
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery, QueryTerms, query_terms
from gateway.engines.index.signals import is_message, lasting_text, page_prior
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex
from tests.support.searched import found_names


async def test_the_scores_of_two_queries_add_up_to_those_of_one_for_all_words(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db")
    texts = ["apple pear", "apple apple fig", "fig plum", "plum pear pear nut", "nut"]
    await index.add([IndexedPage(f"https://a.test/{n}", f"Page {n}", text) for n, text in enumerate(texts)])
    await index.close()
    connection = open_database(tmp_path / "i.db")
    try:

        def scores(*words: str) -> dict[int, float]:
            ranked = ranked_passages(SqliteReader(connection, ("",)), IndexQuery("", ("",)), QueryTerms(words, ()))
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
        ("wie lange ist die Kündigungsfrist", ("lange", "kundigungsfrist")),
        ("l'espace disque, qu'elle écrase", ("espace", "disque", "elle", "ecrase")),
        ("don't panic", ("don't", "panic")),
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
        ("doc_backlink_crossref.html", "Backlink Crossreference", "install", True),
        ("_modules/pkg/core.html", "pkg.core", "install", True),
        ("_modules/pkg/core.html", "pkg.core", "source code of pkg.core", False),
        ("whatsnew/3.11.html", "What's New In 3.11", "install", True),
        ("whatsnew/3.11.html", "What's New In 3.11", "what's new in 3.11", False),
        ("releases/4.2.html", "4.2 release notes", "release notes 4.2", False),
        ("blog/index.html", "A blog", "install", False),
    ],
)
def test_listings_sources_and_release_notes_rank_behind_guides_unless_they_are_asked_for(
    path: str, title: str, query: str, lowered: bool
) -> None:
    assert (page_prior(query)(f"https://a.test/{path}", title) < 1) == lowered


@pytest.mark.parametrize(
    ("url", "query", "raised"),
    [
        ("https://www.postgresql.org/docs/16/sql-copy.html", "postgres load a csv file", True),
        ("https://docs.test/django/ref/csrf.html", "django forms", True),
        ("https://docs.test/django/ref/csrf.html", "csrf ref", False),
        ("https://docs.python.org/3/library/re.html", "python docs", True),
        ("https://docs.sqlite.org/lang.html", "python docs", False),
        ("https://tooling.test/a", "tool", True),
        ("https://internationalisation.test/a", "int", False),
        ("https://127.0.0.1:8080/page", "8080 127", False),
        ("https://a.test/python", "python", False),
    ],
)
def test_pages_of_the_site_that_a_query_names_are_raised(url: str, query: str, raised: bool) -> None:
    assert (page_prior(query)(url, "A page") > 1) is raised


_MESSAGE_PAGES = [
    ("rare", "quota " * 3 + "is counted for every account."),
    ("whole", "The message disk quota exceeded means that a user has written too much. " + "More text follows. " * 4),
    *[(f"disk{n}", "A disk of an account has exceeded nothing and is well.") for n in range(4)],
    *[(f"other{n}", "Engines turn and wheels follow them.") for n in range(12)],
]


async def test_a_page_with_the_whole_message_ranks_before_one_that_repeats_its_rarest_word(tmp_path: Path) -> None:
    assert (await found_names(tmp_path, _MESSAGE_PAGES, "disk quota exceeded"))[0] == "whole"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FATAL: no room for user app_rw", True),
        ("src/app.py:41: error: Skipping the module", True),
        ("[engine] DEBUG: Filtered a request", True),
        ("django.core.exceptions.AppRegistryNotReady", False),
        ("UnicodeDecodeError reading a file", True),
        ("how do I tell what time it is", False),
        ("std::vector push_back", False),
        ("localhost:8080 is busy", False),
        ("Error boundaries", False),
        ("==4021== Invalid free", True),
        ("worker[311] gave up", True),
        ("2025-02-11 09:12:44 gave up", True),
        ("list[2] of a string", False),
        ("how to bind 10.0.0.1", False),
    ],
)
def test_a_label_or_the_name_of_an_exception_makes_a_query_a_message(query: str, expected: bool) -> None:
    assert is_message(query) is expected


_MANUAL = "This section of the manual is about something else, which takes a few words to tell. " * 6
_PARTS = ("Sails", "Anchors", "Keels")


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("2025-02-11 09:12:44.103 UTC [8821] FATAL: no room", "FATAL: no room"),
        ("[Tue Mar 04 11:20:31 2025] [core:error] [pid 77] no room", "[ ] [core:error] [ ] no room"),
        ("connect to mx.test[203.0.113.9]:25: refused", "connect to mx.test[ ]: : refused"),
        ("==88== Invalid write of size 8 at 0x4848FD7: push", "Invalid write of size at : push"),
        ("** ann+x@old.test: no such user", "** : no such user"),
        ("OSError: [Errno 98] in use (10), line 7, 503 or 30.00", "OSError: [Errno 98] in use (10), line , 503 or"),
        ("error: 12 34", "error: 12 34"),
        ("how to bind 10.0.0.1 and 8 others", "how to bind 10.0.0.1 and 8 others"),
        ("python 3.11 or 7 zip", "python 3.11 or 7 zip"),
    ],
)
def test_of_a_message_what_differs_each_time_is_left_out(message: str, left: str) -> None:
    assert " ".join(lasting_text(message).split()) == left


async def test_a_message_is_found_by_what_it_always_says(tmp_path: Path) -> None:
    pages = [
        ("numbers", "Release 31 of 2024-05-06 fixed 17 defects, 42 of them old, 17 new and 31 reported by 99 users."),
        ("answer", "When the queue is stalled, nothing is delivered. " + _MANUAL),
        *[(f"other{n}", f"The queue of wheels turns, {n} at a time.") for n in range(12)],
    ]
    message = "2024-05-06 17:31:42 [99] error: 31 17 42 99: queue stalled"
    assert (await found_names(tmp_path, pages, message))[0] == "answer"


@pytest.mark.parametrize(
    ("query", "first"),
    [("what are the sails and the anchors and the keels for", "boats"), ("sails anchors keels", "rope")],
)
async def test_for_a_sentence_the_whole_page_counts_beside_its_best_passage(
    tmp_path: Path, query: str, first: str
) -> None:
    sections = [f"## {part}\n\n" + f"{part} are kept, as {part} of every size are. " * 25 for part in _PARTS]
    pages = [
        ("boats", "\n\n".join(sections)),
        ("rope", "Sails are tied to anchors and keels by ropes. " + "Ropes are long. " * 50),
        *[(f"other{n}", f"Wheels turn and engines follow, {n} at a time. " * 10) for n in range(12)],
    ]
    assert (await found_names(tmp_path, pages, query))[0] == first


@pytest.mark.parametrize(
    ("query", "page"),
    [("삭제한 파일 복원", "korean"), ("ﾒﾓﾘﾘｰｸ", "japanese"), ("ブランチ", "japanese2"), ("端口被占用", "chinese")],
)
async def test_pages_without_latin_words_are_found_in_each_way_of_writing(
    tmp_path: Path, query: str, page: str
) -> None:
    pages = [
        ("korean", "삭제한 파일을 복원하려면 백업 목록에서 날짜를 선택하십시오."),
        ("japanese", "使用量が増え続ける場合はメモリリークの可能性があります。"),
        ("japanese2", "変更を別のブランチに取り込むにはマージを使います。"),
        ("chinese", "如果端口已被占用,启动容器时会报错。"),
    ]
    assert (await found_names(tmp_path, pages, query))[0] == page


async def test_a_page_of_one_passage_is_not_behind_for_the_passages_that_it_has_not(tmp_path: Path) -> None:
    sections = [f"## Part {n}\n\n{'Ebb and flow are told here. ' * 40}The tide turns amber." for n in range(3)]
    pages = [
        ("short", f"{'Ebb and flow are told here. ' * 22}The tide turns amber."),
        ("manual", "\n\n".join(sections)),
        *[(f"other{n}", f"Wheels turn and engines follow, {n} at a time.") for n in range(12)],
    ]
    assert (await found_names(tmp_path, pages, "amber tide"))[0] == "short"


_COMMON_PAGES = [
    ("both", "A tide that carries amber to the shore."),
    *[(f"tide{n}", "The tide, the tide of every day.") for n in range(30)],
    *[(f"amber{n}", "Amber, amber of every colour.") for n in range(30)],
]


@pytest.mark.parametrize("query", ["amber tide", "a tide of amber shipped 教程"])
async def test_a_large_index_ranks_old_pages_that_hold_two_common_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(SqliteReader, "large", 10)
    monkeypatch.setattr(SqliteReader, "row_budget", 10)
    assert (await found_names(tmp_path, _COMMON_PAGES, query))[0] == "both"


async def test_a_large_index_finds_pages_by_chinese_pairs_beside_common_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteReader, "large", 10)
    monkeypatch.setattr(SqliteReader, "row_budget", 10)
    pages = [("chinese", "教程 for everybody"), *_COMMON_PAGES]
    assert "chinese" in await found_names(tmp_path, pages, "amber tide 教程")


async def test_a_score_does_not_depend_on_the_number_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lower page that fits better lifts the score of the first, also where it is not shown."""
    fits = itertools.cycle((0.1, 0.3, 0.5, 0.5, 0.5))
    monkeypatch.setattr(ranking, "_fit", lambda hit, page, asked: next(fits))
    index = PageIndex(tmp_path / "i.db")
    texts = [f"{'The harbour and its tide. ' * (6 - at)} {'Ships come and go. ' * 20}" for at in range(5)]
    await index.add([IndexedPage(f"https://a.test/{at}", f"Page {at}", text) for at, text in enumerate(texts)])
    scores = [
        [hit.score for hit in await index.search(IndexQuery("harbour tide", ("",), count=count))]
        for count in (1, 2, 10)
    ]
    assert list(map(len, scores)) == [1, 2, 5] and scores[-1][0] == 0.5
    assert all(fewer == scores[-1][: len(fewer)] for fewer in scores)
    await index.close()
