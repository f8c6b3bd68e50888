"""Queries in other languages than English: their words are found in other forms, and no vectors are asked for."""

from pathlib import Path

import pytest

from gateway.engines.index import candidates
from gateway.engines.index import query as query_module
from gateway.engines.index.database import open_database
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery, is_english, query_terms
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.store import PageIndex
from gateway.engines.words.text import MARK
from tests.support.searched import found_names

_FOREIGN_PAGES = [
    ("удаление", "Удалить старые пакеты можно командой, которая читает список установленных программ."),
    ("печать", "Принтер печатает документы, если драйвер установлен в системе."),
    ("partition", "Wie man eine Festplatte in Bereiche teilt, und was mit den Daten auf der alten Platte geschieht."),
    ("zeit", "Die Zeitzone wird mit diesem Befehl eingestellt, und die Uhr der anderen Systeme bleibt stehen."),
    (
        "fuseau",
        "Pour changer de fuseau horaire, il faut lancer la commande qui configure les paquets dans une console.",
    ),
    ("αρχεία", "Τα αρχεία του συστήματος διαγράφονται με μία εντολή."),
    *[(f"english{n}", f"The printer and the disk, the system and its packages, {n} at a time.") for n in range(12)],
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("удаления старого пакета", "удаление"),
        ("установка драйверов принтера", "печать"),
        ("Festplatten teilen", "partition"),
        ("Befehle für Zeitzonen einstellen", "zeit"),
        ("commandes de la configuration des paquets", "fuseau"),
        ("διαγραφή αρχείου", "αρχεία"),
    ],
)
async def test_other_forms_of_words_are_found_in_other_languages(tmp_path: Path, query: str, first: str) -> None:
    assert (await found_names(tmp_path, _FOREIGN_PAGES, query))[0] == first


@pytest.mark.parametrize("query", ["how do I set printers up", "kubectl printr", "packages of the system"])
def test_an_english_query_is_looked_up_by_its_words_alone(query: str) -> None:
    assert all(not pair.endswith(MARK) or pair[:-1] in ("kubectl", "printr") for pair in query_terms(query).pairs)


@pytest.mark.parametrize(
    ("query", "is_so"),
    [
        ("how do I set printers up", True),
        ("lru_cache maxsize", True),
        ("git rebase --autosquash", True),
        ("KeepAliveTimeout", True),
        ("x86 sse2 intrinsics", True),
        ("Archive", True),
        ("Zeitzone einstellen", False),
        ("wie entferne ich ein Paket", False),
        ("произношение слова debian", False),
        ("パッケージ apt", False),
        ("Verschlüsselung", False),
    ],
)
def test_a_query_is_english_unless_its_words_tell_otherwise(query: str, is_so: bool) -> None:
    assert is_english(query) is is_so


async def test_stems_that_no_page_has_change_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = PageIndex(tmp_path / "i.db")
    await index.add([IndexedPage(f"https://a.test/{n}", f"Page {n}", f"kubectl printr {n}") for n in range(5)])
    scores = [hit.score for hit in await index.search(IndexQuery("kubectl printr", ("",)))]
    monkeypatch.setattr(query_module, "query_stems", lambda words, latin: ())
    assert scores == [hit.score for hit in await index.search(IndexQuery("kubectl printr", ("",)))]
    await index.close()


async def test_in_a_large_index_stems_that_most_passages_have_are_not_looked_up(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db")
    await index.add([IndexedPage(f"https://a.test/{n}", f"{n}", "Система печатает документы.") for n in range(9)])
    await index.add([IndexedPage("https://a.test/drv", "d", "Система ищет драйверы.")])
    await index.close()
    connection = open_database(tmp_path / "i.db")
    try:
        reader = SqliteReader(connection, ("",))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteReader, "row_budget", 8)
            counter = candidates.PassageCounts(reader)
            asked = candidates.present_stems(counter, query_terms("драйверов системы"))
            used, _ = candidates.affordable_terms(reader, IndexQuery("", ("",)), asked, counter)
    finally:
        connection.close()
    assert [pair[:-1] for pair in asked.pairs] == ["драивер", "сист"]
    assert [pair[:-1] for pair in used.pairs] == ["драивер"]
