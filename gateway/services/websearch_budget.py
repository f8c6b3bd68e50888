"""Shares a result budget fairly among pages: short ones stay whole, long ones are cut where a paragraph ends.

Pure. A code fence is never left open; what was cut is told, and how to get the rest.
"""

from gateway.model import Json

_MIN_SHARE_CHARS = 500
_CUT_MARK = "\n\n[…]"


def fit(results: list[Json], budget_chars: int, field: str = "raw_content") -> str | None:
    """Cuts `field` of the results in place until all of them together fit; a note when anything was cut."""
    sizes = [len(result.get(field) or "") for result in results]
    if budget_chars <= 0 or sum(sizes) <= budget_chars:
        return None
    share = fair_share(sizes, budget_chars)
    cut = 0
    for result, size in zip(results, sizes, strict=True):
        if size > share:
            result[field] = shorten(result[field], share)
            cut += 1
    return (
        f"{cut} of {len(results)} pages were shortened (marked […]) to fit {budget_chars} characters; call "
        "websearch-extract with the URLs of those that matter, fewer at once or with a query, to get the rest."
    )


def fair_share(sizes: list[int], budget: int) -> int:
    """The largest cap under which all sizes, each cut to it, add up to no more than the budget."""
    left, waiting = budget, sorted(sizes)
    for at, size in enumerate(waiting):
        share = left // (len(waiting) - at)
        if size > share:
            return max(share, _MIN_SHARE_CHARS)
        left -= size
    return budget


def shorten(text: str, max_chars: int) -> str:
    """At most `max_chars`, ended at the last paragraph, else line, else word that fits, outside any code fence."""
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_CUT_MARK)
    if room <= 0:
        return text[:max_chars]
    end = _end_of_paragraph(text, room)
    return text[:end].rstrip() + _CUT_MARK


def _end_of_paragraph(text: str, room: int) -> int:
    """The best place at or before `room` to stop."""
    best_block = best_line = 0
    fence = ""
    at = 0
    for line in text[: room + 1].split("\n"):
        bare = line.lstrip()
        if fence:
            if bare.startswith(fence) and not bare.strip("`~ "):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            best_line = at
        elif not bare:
            best_block = best_line = at
        else:
            best_line = at
        at += len(line) + 1
    if best_block >= room // 2:
        return best_block
    if best_line >= room // 3:
        return best_line
    if fence:
        return best_line or best_block or room
    blank = text.rfind(" ", 0, room)
    return blank if blank > room // 2 else room
