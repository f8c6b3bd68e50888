"""Shares a result budget fairly among pages: short ones stay whole, long ones are cut where a paragraph ends.

Pure. A code fence is never left open; what was cut is told, and how to get the rest.
"""

from gateway.domain import Json
from gateway.engines.text.code_fences import Fence, FenceReader, closing, lines_of, may_hold_fence

MIN_SHARE_CHARS = 200
_CUT_MARK = "\n\n[…]"
_NOUNS = {"raw_content": "pages", "content": "excerpts"}


def fit(results: list[Json], budget_chars: int, field: str = "raw_content", taken: int = 0) -> str | None:
    """Cuts `field` of the results in place until all of them together fit; a note when anything was cut.

    `taken` of the budget is spent already. Pages too many to get MIN_SHARE_CHARS each are left without text.
    """
    room = max(0, budget_chars - taken)
    sizes = [len(result.get(field) or "") for result in results]
    if budget_chars <= 0 or sum(sizes) <= room:
        return None
    served = _served(sizes, room)
    share = fair_share(sizes[:served], room)
    cut = emptied = 0
    for number, (result, size) in enumerate(zip(results, sizes, strict=True)):
        if number >= served and size:
            result[field] = ""
            emptied += 1
        elif size > share:
            result[field] = shorten(result[field], share)
            cut += 1
    parts = [f"{cut} of {len(results)} {_NOUNS[field]} were shortened (marked […])"] if cut else []
    if emptied:
        noun = _NOUNS[field] if emptied > 1 else _NOUNS[field].rstrip("s")
        parts.append(
            f"{emptied} {'further ' if served else ''}{noun} {'are' if emptied > 1 else 'is'} listed without text"
        )
    return (
        f"{' and '.join(parts)} to fit {budget_chars} characters; call websearch-extract with the URLs of those that "
        "matter, fewer at once or with a query, to get the rest."
    )


def _served(sizes: list[int], budget: int) -> int:
    """How many of the first pages can have their text: whole, or at least MIN_SHARE_CHARS of it each."""
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if fair_share(sizes[:middle], budget) >= min(MIN_SHARE_CHARS, max(sizes[:middle])):
            low = middle
        else:
            high = middle - 1
    return low


def fair_share(sizes: list[int], budget: int) -> int:
    """The largest cap under which all sizes, each cut to it, add up to no more than the budget."""
    left, waiting = budget, sorted(sizes)
    for at, size in enumerate(waiting):
        share = left // (len(waiting) - at)
        if size > share:
            return share
        left -= size
    return budget


def shorten(text: str, max_chars: int) -> str:
    """At most `max_chars`, ended at the last paragraph, else line, else word that fits.

    A code fence that takes up most of the room is cut after one of its lines and closed; before any other one the
    text ends.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_CUT_MARK)
    for end in _ends(text, room) if room > 0 else ():
        head = _closed(text, end, room)
        if head:
            return head + _CUT_MARK
    return _CUT_MARK.strip()[:max_chars]


def _closed(text: str, end: int, room: int) -> str:
    """The text up to `end` with any fence closed, or up to where this fits; empty when it cannot."""
    head = text[:end].rstrip()
    lacking = closing(head) if may_hold_fence(head) else ""
    if lacking and len(head) + len(lacking) > room:
        head = text[: max(0, room - len(lacking))].rstrip()
        lacking = closing(head)
    return head + lacking if len(head) + len(lacking) <= room else ""


def _ends(text: str, room: int) -> list[int]:
    """Places at or before `room` to stop, the best first."""
    head = text[: room + 1]
    if not may_hold_fence(head):
        return _ends_in_prose(text, *_last_breaks(head), room)
    block = line = fence = 0
    reader = FenceReader()
    before: Fence | None = None
    for each in lines_of(head):
        if reader.fence is None:
            line = each.start
            if before is not None or not (each.last or each.text.strip()):
                block = line
        if each.last:  # as a rule only a part of a line
            break
        before = reader.fence
        reader.read(each.text)
        if reader.fence is not before:
            fence = each.start
    if reader.fence is not None:
        return _ends_in_fence(text, fence, max(0, room - len(reader.closing)), room)
    return _ends_in_prose(text, block, line, room)


def _last_breaks(head: str) -> tuple[int, int]:
    """Where the last empty line and the last line of a text without fences begin."""
    block = line = 0
    for each in head.split("\n")[:-1]:
        if not each.strip():
            block = line
        line += len(each) + 1
    return block, line


def _ends_in_prose(text: str, block: int, line: int, room: int) -> list[int]:
    blank = text.rfind(" ", 0, room)
    word = blank if blank > room // 2 else room
    by_worth = [block] * (block >= room // 2) + [line] * (line >= room // 3)
    return [*by_worth, word, line, block]


def _ends_in_fence(text: str, fence: int, limit: int, room: int) -> list[int]:
    """The same when the fence that begins at `fence` goes on past `room` and needs to be closed by `limit`."""
    if len(text[:fence].rstrip()) >= room // 2:
        return [fence]
    line = max(text.rfind("\n", fence, limit + 1), text.rfind("\r", fence, limit + 1))
    # A line of code that fills most of the room is cut itself rather than left out.
    return [line, limit, fence] if line - fence > (limit - fence) // 2 else [limit, line, fence]
