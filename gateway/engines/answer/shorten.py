"""Cuts a text to a length where a paragraph, line or word ends; a cut never leaves a code fence open."""

from bisect import bisect_right

from gateway.engines.answer.code_fences import Fence, FenceReader, lines_of, may_hold_fence

_STATE_LINES = 64
"""Lines between two remembered states of the fence reader."""
_MANY_LINES = 4_000
"""Lines of a text without fences that take 0.4 ms to cut."""
_CUT_MARK = "\n\n[…]"


def is_slow_to_cut(text: str) -> bool:
    """Whether the text must be read line by line: 0.7 µs a character, while any other text costs a hundredth of it."""
    return may_hold_fence(text) or text.count("\n") > _MANY_LINES


def shorten(text: str, max_chars: int) -> str:
    """The text cut to at most `max_chars` with a mark at its end: after the last paragraph, line or word that fits.

    A code fence that fills most of the room is cut after one of its lines and closed; the text ends before any other
    fence that does not fit.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_CUT_MARK)
    states = _FenceStates(text)
    for end in _ends(text, room, states) if room > 0 else ():
        head = _close_fence(text, end, room, states)
        if head:
            return head + _CUT_MARK
    return _CUT_MARK.strip()[:max_chars]


class _FenceStates:
    """What a FenceReader knows at every _STATE_LINES-th line of a text, so that the fence open at a place near its end
    is found without reading the text again. Naive form of `closing(end)`: `code_fences.closing(text[:end])`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        self._readers = [FenceReader()]

    def note(self, number: int, start: int, reader: FenceReader) -> None:
        """The line with this number begins at `start`; the reader has read those before it."""
        if number % _STATE_LINES == 0 and start:
            self._starts.append(start)
            self._readers.append(reader.copy())

    def closing(self, end: int) -> str:
        """What to append to the text up to `end` so that no fence stays open."""
        at = bisect_right(self._starts, end) - 1
        reader = self._readers[at].copy()
        for line in lines_of(self._text[self._starts[at] : end]):
            reader.read(line.text)
        return reader.closing


def _close_fence(text: str, end: int, room: int, states: _FenceStates) -> str:
    """The text up to `end` with its open fence closed, shorter if the closing line needs room; empty if nothing
    fits."""
    head = text[:end].rstrip()
    missing = states.closing(len(head)) if may_hold_fence(head) else ""
    if missing and len(head) + len(missing) > room:
        head = text[: max(0, room - len(missing))].rstrip()
        missing = states.closing(len(head))
    return head + missing if len(head) + len(missing) <= room else ""


def _ends(text: str, room: int, states: _FenceStates) -> list[int]:
    """Indexes at or before `room` where the text may end, best first."""
    head = text[: room + 1]
    if not may_hold_fence(head):
        return _ends_in_prose(text, *_last_breaks(head), room)
    block = line = fence = 0
    reader = FenceReader()
    before: Fence | None = None
    for number, each in enumerate(lines_of(head)):
        states.note(number, each.start, reader)
        if reader.fence is None:
            line = each.start
            if before is not None or not (each.last or each.text.strip()):
                block = line
        if each.last:  # usually a part of a line only
            break
        before = reader.fence
        reader.read(each.text)
        if reader.fence is not before:
            fence = each.start
    if reader.fence is not None:
        return _ends_in_fence(text, fence, max(0, room - len(reader.closing)), room)
    return _ends_in_prose(text, block, line, room)


def _last_breaks(head: str) -> tuple[int, int]:
    """(start of the last empty line, start of the last line) of a text without fences."""
    block = line = 0
    for each in head.split("\n")[:-1]:
        if not each.strip():
            block = line
        line += len(each) + 1
    return block, line


def _ends_in_prose(text: str, block: int, line: int, room: int) -> list[int]:
    """The same outside a fence: a paragraph's end in the second half of `room`, else a line's end in the last two
    thirds, else a word's end. Chosen: earlier ends would give up more text than a clean end is worth."""
    blank = text.rfind(" ", 0, room)
    word = blank if blank > room // 2 else room
    by_worth = [block] * (block >= room // 2) + [line] * (line >= room // 3)
    return [*by_worth, word, line, block]


def _ends_in_fence(text: str, fence: int, limit: int, room: int) -> list[int]:
    """The same for a fence that begins at `fence`, goes on past `room`, and must end by `limit` to be closed."""
    if len(text[:fence].rstrip()) >= room // 2:
        return [fence]
    line = max(text.rfind("\n", fence, limit + 1), text.rfind("\r", fence, limit + 1))
    # A line of code that fills most of the room is cut: leaving it out would leave the fence nearly empty.
    return [line, limit, fence] if line - fence > (limit - fence) // 2 else [limit, line, fence]
