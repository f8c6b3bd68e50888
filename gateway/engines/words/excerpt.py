"""Cuts a page down to what answers a query: its best passages, whole, those that answer best first.

Before the passages of a section stands the way to it (`Heading > Section > term`), so that each can be understood
alone. Passages are small, since a page has few places that answer one question.
"""

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from gateway.engines.words.sections import (
    FenceReader,
    Passage,
    closing,
    lines_of,
    may_hold_fence,
    passage_steps,
    plain_text,
    shown_text,
)
from gateway.engines.words.text import rarity, scores, terms
from gateway.resilience.slices import Steps, all_steps

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
    for end in _ends(text, room) if room > 0 else ():
        if head := _close_fence(text, end, room):
            return head + _CUT_MARK
    return _CUT_MARK.strip()[:max_chars]


def _close_fence(text: str, end: int, room: int) -> str:
    """The text up to `end` with its open fence closed, shorter if the closing line needs room; empty if nothing
    fits."""
    head = text[:end].rstrip()
    missing = closing(head)
    if missing and len(head) + len(missing) > room:
        head = text[: max(0, room - len(missing))].rstrip()
        missing = closing(head)
    return head + missing if len(head) + len(missing) <= room else ""


def _ends(text: str, room: int) -> list[int]:
    """Indexes at or before `room` where the text may end, best first."""
    head = text[: room + 1]
    if not may_hold_fence(head):
        return _ends_in_prose(text, *_last_breaks(head), room)
    block = line = fence = 0
    reader = FenceReader()
    before = ""
    for each in lines_of(head):
        if not reader.opening:
            line = each.start
            if before or not (each.last or each.text.strip()):
                block = line
        if each.last:  # usually a part of a line only
            break
        before = reader.opening
        reader.read(each.text)
        if reader.opening and not before:
            fence = each.start
    if reader.opening:
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
    thirds, else a word's end."""
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


GAP = "\n\n[...]\n\n"
"""Marks the place of passages that were left out; Tavily's mark, on a line of its own so that it breaks no Markdown."""
_SHARE = 0.25
_LEAST_CHARS, _LEAST_SHARE, _LEAST_OF_LONG = 1_000, 0.4, 3_500
"""How much of a page an answer is: this share, but at least _LEAST_CHARS and the share _LEAST_SHARE, of a long page
_LEAST_OF_LONG. Double returns most of usual pages."""
_PASSAGE_CHARS = 500
"""Size of a passage here. Measured as above: .93 at 400, .94 at 500, .93 at 600, .89 at 900, where a passage that
answers brings too much beside it."""
_HEADING, _LAST_HEADING = 0.5, 1.0
"""What a query's term adds when a heading above a passage has it, and when the nearest one has it, as shares of its
weight. Measured as above: at half of both .04 fewer answers are kept; at double, headings count more than what they
head."""
_CODE_SHARE = 0.5
"""Code up to this share of what may be returned stays whole."""
_JOINED_CHARS = 4 * _PASSAGE_CHARS
"""Length up to which a piece that ends in a term is joined to the next."""
_LINES_A_STEP = 128
"""Lines read for fences in one step: a quarter of a millisecond. Chosen as that of `passages`."""
_SINGLE_CUTS = 40
"""Pieces that are taken away one by one because the ways to their sections need room; then half of what is left each
time. Measured: no page of bench.search_quality needs more than a few. Without such an end a page of very many small
sections under long headings costs the square of its length (80,000 characters: 5.4 s, measured 2026-11-22)."""
_MARK = r"(?:\*\*[^*\n]{1,300}\*\*|`[^`\n]{1,300}`|(?:\*[a-z ]{1,20}\* )?@?[\w.\\]{2,200}\([^\n]{0,300}\))"
_TERM = re.compile(rf"(?:(?<=\n\n)|\A){_MARK}(?: {{0,2}}\n{_MARK}){{0,8}}(?=\n\n|\Z)")
"""A definition's term as the Markdown writer has it, alone in its paragraph: bold, code, or a function's signature."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """`content[start:end]`, the headings above it, and the term whose description it continues. `before` and `after`
    reopen and close a code fence that is cut. `worth`: how well it answers the query, 0 or more."""

    start: int
    end: int
    headings: tuple[str, ...]
    term: str = ""
    before: str = ""
    after: str = ""
    worth: float = 0.0

    @property
    def path(self) -> tuple[str, ...]:
        return (*self.headings, self.term) if self.term else self.headings


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fenced block: its place, its first line, and what closes it (a newline and the line)."""

    start: int
    end: int
    opening: str
    closing: str


def excerpt(content: str, query: str, most_chars: int = 0) -> str:
    """What of a page's Markdown answers `query`: the page itself when it is short, else about a quarter of it.

    `most_chars`, if not 0, is what could be returned of the page without a query: the quarter is one of that at most.
    """
    return all_steps(excerpt_steps(content, query, most_chars))


def excerpt_steps(content: str, query: str, most_chars: int = 0) -> Steps[str]:
    """As `excerpt`, in steps as those of `best_within`."""
    most_chars = most_chars or len(content)
    length = min(len(content), most_chars)
    least = min(_LEAST_CHARS + length * _LEAST_SHARE, _LEAST_OF_LONG)
    room = min(int(max(least, length * _SHARE)), most_chars)
    # The beginning says what the page is, so it comes with the answer, unless it alone would fill the room.
    return _within(content, query, room, opens=True)


def best_within(content: str, query: str, room: int) -> Steps[str]:
    """What of a text answers `query`, in at most `room` characters, of whatever place: the best passages of a page, of
    which the first is as good as any other. In steps of a tenth of a millisecond for ordinary text, 2 ms for the worst
    known."""
    return _within(content, query, room, opens=False)


def _within(content: str, query: str, room: int, *, opens: bool) -> Steps[str]:
    if len(content) <= room:
        return content
    pieces = yield from _pieces(content, int(room * _CODE_SHARE))
    if not pieces:
        return _beginning(content, room)
    pieces = yield from _rated(content, pieces, query)
    ranked = sorted(pieces, key=lambda piece: (opens and piece.start > 0, -piece.worth, piece.start))
    return (yield from _fitting(content, ranked, room))


def _pieces(content: str, most_code_chars: int) -> Steps[list[_Piece]]:
    """The page's passages; one that is cut inside code that may stay whole, or behind a term, is joined to the next."""
    fences = yield from _fences(content)
    starts = [fence.start for fence in fences]

    def fence_at(place: int) -> _Fence | None:
        at = bisect_right(starts, place - 1) - 1
        return fences[at] if at >= 0 and fences[at].start < place < fences[at].end else None

    found: list[_Piece] = []
    joins = False
    cuts: list[Passage] = []
    for passage in passage_steps(content, _PASSAGE_CHARS):
        yield
        cuts += () if passage is None else (passage,)
    for each, following in pairwise([*cuts, Passage(len(content), len(content), ())]):
        yield
        piece = _Piece(each.start, each.end, each.headings)
        if joins:
            piece = replace(found.pop(), end=each.end)
        fence = fence_at(following.start) if following.start < len(content) else None
        joins = following.headings == each.headings and (
            (fence is not None and fence.end - fence.start <= most_code_chars)
            or (piece.end - piece.start < _JOINED_CHARS and _ends_in_term(content, piece))
        )
        if not joins:
            piece = _with_fences(piece, fence_at(piece.start), fence)
        found.append(piece)
    return (yield from _with_terms(content, found))


def _ends_in_term(content: str, piece: _Piece) -> bool:
    last = content.rfind("\n\n", piece.start, piece.end)
    start = piece.start if last < 0 else last + 2
    return _TERM.fullmatch(content[start : piece.end]) is not None


def _with_fences(piece: _Piece, first: _Fence | None, last: _Fence | None) -> _Piece:
    before = f"{first.opening}\n" if first is not None else ""
    return replace(piece, before=before, after=last.closing if last is not None else "")


def _with_terms(content: str, pieces: list[_Piece]) -> Steps[list[_Piece]]:
    """The pieces with the term that they continue at the end of their path."""
    found: list[_Piece] = []
    headings: tuple[str, ...] = ()
    term = ""
    for piece in pieces:
        yield
        if piece.headings != headings:
            headings, term = piece.headings, ""
        matches = list(_TERM.finditer(content[piece.start : piece.end]))
        continues = term and not (matches and matches[0].start() == 0)
        found.append(replace(piece, term=term) if continues else piece)
        if matches:
            term = ", ".join(shown_text(line) for line in matches[-1][0].split("\n"))
    return found


def _fences(content: str) -> Steps[list[_Fence]]:
    if not may_hold_fence(content):
        return []
    found: list[_Fence] = []
    reader = FenceReader()
    start, opening, ending = 0, "", ""
    for number, line in enumerate(lines_of(content), 1):
        if number % _LINES_A_STEP == 0:
            yield
        was_open = reader.opening
        is_inside = reader.read(line.text)
        if was_open and not reader.opening:
            found.append(_Fence(start, line.stop if is_inside else line.start, opening, ending))
        elif reader.opening and not was_open:
            start, opening, ending = line.start, line.text, reader.closing
    if reader.opening:
        found.append(_Fence(start, len(content) + 1, opening, ending))
    return found


def _fitting(content: str, ranked: list[_Piece], room: int) -> Steps[str]:
    """The first of the pieces that fit into `room`, as `_write` gives them."""
    chosen: list[_Piece] = []
    left = room
    for piece in ranked:
        size = piece.end - piece.start + len(piece.before) + len(piece.after) + len(GAP)
        if size <= left:
            left -= size
            chosen.append(piece)
    text = yield from _write(content, chosen)
    cuts = 0
    while len(text) > room and len(chosen) > 1:  # the ways to the sections take room as well
        cuts += 1
        del chosen[-1 if cuts < _SINGLE_CUTS else len(chosen) // 2 :]
        text = yield from _write(content, chosen)
    return text if 0 < len(text) <= room else _beginning(content, room)


def _rated(content: str, pieces: list[_Piece], query: str) -> Steps[list[_Piece]]:
    """The pieces with their worth."""
    bags = []
    for piece in pieces:
        bags.append(Counter(terms(plain_text(content[piece.start : piece.end]))))
        yield
    titles: dict[str, frozenset[str]] = {}
    for title in {title for piece in pieces for title in piece.path}:
        titles[title] = frozenset(terms(title))
        yield
    weights = rarity(bags, set(terms(query)))
    own = scores(bags, weights)
    yield
    rated = []
    for piece, score in zip(pieces, own, strict=True):
        yield
        headings = [titles[title] for title in piece.path]
        above = sum(weight for term, weight in weights.items() if any(term in heading for heading in headings))
        nearest = sum(weight for term, weight in weights.items() if headings and term in headings[-1])
        rated.append(replace(piece, worth=score + _HEADING * above + _LAST_HEADING * nearest))
    return rated


def _write(content: str, chosen: list[_Piece]) -> Steps[str]:
    """The pieces, those that answer best first, each below the way to its section. Neighbours on the page stay
    together, in their order."""
    runs: list[list[_Piece]] = []
    for piece in sorted(chosen, key=lambda piece: piece.start):
        yield
        if runs and not _holds_text(content[runs[-1][-1].end : piece.start]):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    runs.sort(key=lambda run: -max(piece.worth for piece in run))
    return GAP.join(map(partial(_joined, content), runs))


def _joined(content: str, run: list[_Piece]) -> str:
    """Pieces between which no text stands."""
    parts: list[str] = []
    for number, piece in enumerate(run):
        path = piece.headings if number else piece.path
        if number:
            last = run[number - 1]
            parts.append(_seam(last, content[last.end : piece.start], piece))
            path = () if last.headings == piece.headings else path
        if path:
            parts.append(" > ".join(path) + "\n\n")
        parts.append(f"{piece.before}{content[piece.start : piece.end]}{piece.after}")
    return "".join(parts)


def _seam(last: _Piece, between: str, piece: _Piece) -> str:
    """The separator of two consecutive pieces. It is the page's own white space where a paragraph or quotation
    continues. It is a blank line where a heading stood between them, which the second piece's path repeats, or where a
    code block was cut."""
    is_cut = last.after or piece.before
    return "\n\n" if is_cut or not between or "#" in between else between


def _beginning(content: str, room: int) -> str:
    return content[:room] + closing(content[:room])


def _holds_text(between: str) -> bool:
    """Whether there is anything but headings between two pieces."""
    return any(line.strip(" >\t") and not line.startswith("#") for line in between.split("\n"))
