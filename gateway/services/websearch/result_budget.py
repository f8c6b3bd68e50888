"""Shares a result budget among pages: short ones stay whole, long ones are cut where a paragraph ends.

Pure. A cut never leaves a code fence open; a note says what was cut and how to get the rest. Knows no tool but
websearch-extract, which it recommends.
"""

from dataclasses import dataclass

from gateway.domain import Json
from gateway.engines.answer.excerpt import shorten

MIN_SHARE_CHARS = 200
"""Least text of a page. Chosen: a short paragraph; at half a page's text says nothing, at double fewer pages of a large
crawl have any."""
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


def plan_cuts(results: list[Json], budget_chars: int, field: str = "raw_content", spent: int = 0) -> Cuts | None:
    """The first part of `fit`, which reads no text: takes away texts without room, tells what is left to cut."""
    room = max(0, budget_chars - spent)
    sizes = [len(result.get(field) or "") for result in results]
    if budget_chars <= 0 or sum(sizes) <= room:
        return None
    served = _count_served(sizes, room)
    share = fair_share(sizes[:served], room)
    emptied = 0
    for result, size in zip(results[served:], sizes[served:], strict=True):
        if size:
            result[field] = ""
            emptied += 1
    cut = [result for result, size in zip(results[:served], sizes, strict=False) if size > share]
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
