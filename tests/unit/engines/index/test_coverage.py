"""What a page gains by the words of a query that it holds, and by those that stand together as they were asked."""

from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex


async def test_the_page_that_quotes_a_message_comes_before_one_that_repeats_its_words(tmp_path: Path) -> None:
    filler = [IndexedPage(f"https://a.test/{n}", f"Page {n}", f"Nothing about that, number {n}.") for n in range(20)]
    quoting = "The compiler says that it cannot call non-const function `make` in constants, as a rule."
    repeating = "Constants that the function f is in cannot be non zero; a const rule may call the compiler."
    index = PageIndex(tmp_path / "i.db")
    await index.add(
        [
            IndexedPage("https://a.test/repeating", "Programs", repeating),
            IndexedPage("https://a.test/quoting", "Messages", quoting),
            *filler,
        ]
    )
    hits = await index.search(IndexQuery("cannot call non-const function `f` in constants", ("",)))
    await index.close()
    assert [hit.url for hit in hits[:2]] == ["https://a.test/quoting", "https://a.test/repeating"]
