"""Shares a result budget among pages: short ones stay whole, long ones are cut where a paragraph ends.

Fairly, where the caller named the pages: each has the same share. Of a crawl as many pages as possible stay whole.

A cut never leaves a code fence open; a note says what was cut and how to get the rest.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.domain import Json
from gateway.engines.words.excerpt import is_slow_to_cut, shorten

MIN_SHARE_CHARS = 200
"""Least text of a page. A short paragraph."""
_NOUNS = {"raw_content": "pages", "content": "excerpts"}


@dataclass(frozen=True, slots=True)
class Cuts:
    """What must be cut: `results`, whose field is to have at most `share` characters, and the `note` for the caller."""

    results: list[Json]
    share: int
    note: str


def fit(results: list[Json], budget_chars: int, field: str = "raw_content", spent: int = 0) -> str | None:
    """Cuts `field` (`raw_content` or `content`) of the results in place so that together they fit `budget_chars`.

    Returns a note when anything was cut, else None. `spent` characters of the budget are spent already. When there are
    too many pages for MIN_SHARE_CHARS each, the last ones are left without text.
    """
    cuts = plan_cuts(results, budget_chars, field, spent)
    if cuts is None:
        return None
    for result in cuts.results:
        result[field] = shorten(result[field], cuts.share)
    return cuts.note


def plan_cuts(
    results: list[Json], budget_chars: int, field: str = "raw_content", spent: int = 0, *, whole_first: bool = False
) -> Cuts | None:
    """The first part of `fit`, which reads no text: takes away texts without room, tells what is left to cut.
    `whole_first`: as many texts stay whole as can, while the others keep MIN_SHARE_CHARS each."""
    room = max(0, budget_chars - spent)
    sizes = [len(result.get(field) or "") for result in results]
    if budget_chars <= 0 or sum(sizes) <= room:
        return None
    served = _count_served(sizes, room)
    whole = _whole_first(sizes[:served], room) if whole_first else frozenset[int]()
    left = room - sum(sizes[place] for place in whole)
    share = fair_share([size for place, size in enumerate(sizes[:served]) if place not in whole], left)
    emptied = 0
    for result, size in zip(results[served:], sizes[served:], strict=True):
        if size:
            result[field] = ""
            emptied += 1
    cut = [results[place] for place in range(served) if sizes[place] > share and place not in whole]
    clauses = [f"{len(cut)} of {len(results)} {_NOUNS[field]} were shortened (marked […])"] if cut else []
    if emptied:
        noun = _NOUNS[field] if emptied > 1 else _NOUNS[field].rstrip("s")
        clauses.append(
            f"{emptied} {'further ' if served else ''}{noun} {'are' if emptied > 1 else 'is'} listed without text"
        )
    note = f"{' and '.join(clauses)} to fit {budget_chars} characters; {_how_to_get_the_rest(results)}."
    return Cuts(cut, share, note)


def _how_to_get_the_rest(results: list[Json]) -> str:
    if any(result.get("sections") for result in results):
        return "call websearch-extract with the URLs in `sections`, or with a query, to get the rest"
    if len(results) == 1:
        return "call websearch-extract with its URL and a query to get what matters of the rest"
    return "call websearch-extract with the URLs of those that matter, fewer at once or with a query, to get the rest"


def _count_served(sizes: list[int], budget: int) -> int:
    """How many of the first pages can have their text: whole, or at least MIN_SHARE_CHARS of it each.

    Equals a linear search from the end, as fewer pages never get smaller shares.
    """
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if fair_share(sizes[:middle], budget) >= min(MIN_SHARE_CHARS, max(sizes[:middle])):
            low = middle
        else:
            high = middle - 1
    return low


def fair_share(sizes: list[int], budget: int) -> int:
    """The largest cap such that all sizes, each cut to it, add up to at most the budget. Naive form: try every cap."""
    left, waiting = budget, sorted(sizes)
    for at, size in enumerate(waiting):
        share = left // (len(waiting) - at)
        if size > share:
            return share
        left -= size
    return budget


def _whole_first(sizes: list[int], budget: int) -> frozenset[int]:
    """The places of the texts that stay whole, the shortest ones, so that MIN_SHARE_CHARS are left for each other."""
    order, left = sorted(range(len(sizes)), key=sizes.__getitem__), budget
    for number, place in enumerate(order):
        if sizes[place] + MIN_SHARE_CHARS * (len(order) - number - 1) > left:
            return frozenset(order[:number])
        left -= sizes[place]
    return frozenset(order)


Shorten = Callable[[list[str], int, str], Awaitable[list[str]]]
"""(texts, most characters of each, the key's id) -> the texts as `words.excerpt.shorten` cuts them."""
_CUT_HERE_CHARS = 4_096
"""Texts with code fences are cut on the server's loop up to so many characters of a result (3 ms at most, as measured
with fences alone), longer ones in a parse process."""


class ResultCutter:
    """For results that together may have `budget_chars` characters (0: any number)."""

    def __init__(self, budget_chars: int, shorten_elsewhere: Shorten) -> None:
        self._budget_chars = budget_chars
        self._shorten = shorten_elsewhere

    async def cut(
        self, results: list[Json], owner: str, field: str, spent: int, *, whole_first: bool = False
    ) -> str | None:
        """As `fit`, for the key `owner`; `whole_first` as in `plan_cuts`. Raises what the other process's pool does."""
        cuts = plan_cuts(results, self._budget_chars, field, spent, whole_first=whole_first)
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
