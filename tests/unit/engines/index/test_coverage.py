"""What a page gains by the words of a query that it holds, and by those that stand together as they were asked."""

from pathlib import Path

import pytest

from gateway.engines.index.query import IndexQuery
from gateway.engines.index.rows import IndexedPage
from gateway.engines.index.signals import heaviest_run
from gateway.engines.index.store import PageIndex

WORDS = ("cannot", "call", "non", "const", "function", "f", "in", "constants")
WEIGHTS = (0.1, 0.1, 0.1, 0.2, 0.1, 0.2, 0.0, 0.2)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("error cannot call non const function create some in constants", 0.6),
        ("a const function f in constants or call non const functions", 0.7),
        ("call non const function", 0.5),
        ("recall non const function f", 0.6),
        ("call non const", 0.0),
        ("call const non function", 0.0),
        ("in constants", 0.0),
        ("", 0.0),
    ],
)
def test_the_heaviest_words_that_stand_together_count_from_four_words_on(text: str, share: float) -> None:
    assert heaviest_run(WORDS, WEIGHTS, text) == pytest.approx(share)


@pytest.mark.parametrize("length", range(4, 9))
def test_the_heaviest_run_is_that_of_all_runs_looked_for_one_by_one(length: int) -> None:
    words = tuple("a b a c a b c a b"[: 2 * length].split())
    weights = tuple(((at * 7) % 5 + 1) / 50 for at in range(len(words)))
    for text in ("b a c a b", "a b a c a a b c a b", "c a b c a b", "a b c", "a b a b a b"):
        runs = [
            sum(weights[low:high])
            for low in range(len(words))
            for high in range(low + 4, len(words) + 1)
            if f" {' '.join(words[low:high])} " in f" {text} "
        ]
        assert heaviest_run(words, weights, text) == pytest.approx(max(runs, default=0.0))


def test_repeated_words_count_for_no_more_than_the_whole_query() -> None:
    assert heaviest_run(("a",) * 9, (0.5,) * 9, "a " * 20) == 1.0


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
