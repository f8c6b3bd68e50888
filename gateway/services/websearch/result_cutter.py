"""Cuts results to the result budget: cheap texts on the server's loop, those that are slow to read in another process.

Naive form: `result_budget.fit`, which cuts to the same texts. Knows no process: `shorten` is handed in.
"""

from collections.abc import Awaitable, Callable

from gateway.domain import Json
from gateway.engines.answer.excerpt import is_slow_to_cut, shorten
from gateway.services.websearch.result_budget import plan_cuts

Shorten = Callable[[list[str], int, str], Awaitable[list[str]]]
"""(texts, most characters of each, the key's id) -> the texts as `answer.shorten.shorten` cuts them."""
_CUT_HERE_CHARS = 4_096
"""Texts with code fences are cut on the server's loop up to so many characters of a result (3 ms at most, as measured
with fences alone), longer ones in a parse process. Chosen: at half, ordinary search results go there; at double, others
wait for 6 ms."""


class ResultCutter:
    """For results that together may have `budget_chars` characters (0: any number)."""

    def __init__(self, budget_chars: int, shorten_elsewhere: Shorten) -> None:
        self._budget_chars = budget_chars
        self._shorten = shorten_elsewhere

    async def cut(self, results: list[Json], owner: str, field: str, spent: int) -> str | None:
        """As `result_budget.fit`, for the key `owner`. Raises what the other process's pool does."""
        cuts = plan_cuts(results, self._budget_chars, field, spent)
        if cuts is None:
            return None
        texts = [result[field][: cuts.share + 1] for result in cuts.results]  # a cut reads no more of any
        slow = [at for at, text in enumerate(texts) if is_slow_to_cut(text)]
        if sum(len(texts[at]) for at in slow) > _CUT_HERE_CHARS:
            done = await self._shorten([texts[at] for at in slow], cuts.share, owner)
            for at, text in zip(slow, done, strict=True):
                texts[at] = text
        for result, text in zip(cuts.results, texts, strict=True):
            result[field] = shorten(text, cuts.share)  # leaves alone what is short by now
        return cuts.note
