"""Results are cut as by `results.fit`, and what is slow to read is cut in a parse process."""

import pytest

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ParsePool, shorten_in
from gateway.services.websearch.results import ResultCutter, fit

pytestmark = pytest.mark.slow  # a parse process for each test

PROSE = "A line of ordinary words that says little. " * 2_000
PARAGRAPHS = "A paragraph of words.\n\n" * 4_000
FENCES = "```\ncode\n```\n" * 6_000
LINES = "\n" * 60_000
SHORT_CODE = "Words.\n\n```\ncode\n```\n" * 90


def results(*texts: str) -> list[Json]:
    return [{"url": f"https://a.test/{number}", "raw_content": text} for number, text in enumerate(texts)]


@pytest.fixture
async def pool() -> object:
    made = ParsePool(1)
    yield made
    await made.close()


CUT = [
    ((PROSE, PARAGRAPHS, "short"), 20_000, 0),
    ((PROSE, FENCES, LINES), 30_000, 2),
    ((FENCES,), 60_000, 1),
    ((SHORT_CODE, SHORT_CODE, PROSE), 3_000, 0),
    ((FENCES,) * 30, 4_000, 0),
    ((FENCES,) * 30, 8_000, 30),
    ((PROSE, FENCES), 0, 0),
]


@pytest.mark.parametrize(("texts", "budget", "elsewhere"), CUT)
async def test_texts_are_cut_as_in_one_go_and_slow_ones_elsewhere(
    pool: ParsePool, texts: tuple[str, ...], budget: int, elsewhere: int
) -> None:
    sent: list[str] = []

    async def shorten(slow: list[str], max_chars: int, owner: str) -> list[str]:
        sent.extend(slow)
        return await shorten_in(pool, slow, max_chars, owner)

    mine, naive = results(*texts), results(*texts)
    note = await ResultCutter(budget, shorten).cut(mine, "key1", "raw_content", 0)
    assert note == fit(naive, budget) and mine == naive
    assert len(sent) == elsewhere and sum(map(len, sent)) <= budget + len(sent)


async def test_half_a_surrogate_pair_stops_no_cut(pool: ParsePool) -> None:
    (shortened,) = await shorten_in(pool, ["\ud800" + FENCES], 10_000, "key1")
    assert shortened.startswith("?```") and shortened.endswith("[…]")
