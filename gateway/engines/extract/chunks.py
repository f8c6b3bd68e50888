"""Cuts a page's Markdown into pieces of at most 500 characters and finds those that answer a query best (BM25).

A piece never ends inside a line of code or a table row, and code that is cut is fenced in every piece. It knows no
HTML and no index. Ranking: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gateway.engines.text.code_fences import FenceReader, may_hold_fence
from gateway.engines.text.tokens import terms

MAX_CHARS = 500
"""Characters of a piece. The tools promise it ("at most 500 characters each"); half cuts most paragraphs in two, double
dilutes the sentence that answers and doubles what a caller's model must read."""
_MIN_CODE_CHARS = 80
"""Room for code in a piece whose fence lines are absurdly long: one usual line of code."""
_LONGEST_ROW = 4
"""A table row stays whole up to this many pieces' length. Chosen: half would cut rows of a few long cells, which are
unreadable when cut; double would let one row be most of an answer."""
_K1 = 1.2
_B = 0.75
"""BM25's saturation and length normalisation: the usual defaults (Lucene, SQLite FTS5), not tuned here."""
_MAX_HEADING_CHARS = 300
"""Chosen: every piece below a heading is ranked with it, so a heading as long as its page would cost the square of it.
At half, the headings of some papers lose words; at double, a page of hostile headings costs twice as much."""
_HEADING_WEIGHT = 0.5
"""Share of a term's weight that a heading adds. Chosen: at 0 a piece below the heading that names the subject loses to
a passing mention; at 1 a heading alone counts as much as an answer."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page, and the headings above it joined with blanks."""

    text: str
    heading: str


def split(text: str, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """Pieces in document order: short paragraphs are put together up to `max_chars`, longer ones are cut."""
    chunks: list[Chunk] = []
    trail: list[str] = []
    pending: list[str] = []
    size = 0

    def flush() -> None:
        nonlocal size
        if pending:
            chunks.append(Chunk("\n\n".join(pending), " ".join(trail)))
        pending.clear()
        size = 0

    for block in blocks(text):
        level = _heading_level(block)
        if level:
            flush()
            del trail[level - 1 :]
            trail.append(block.lstrip("# ")[:_MAX_HEADING_CHARS])
        for piece in _pieces(block, max_chars):
            if size + len(piece) + 2 > max_chars:
                flush()
            pending.append(piece)
            size += len(piece) + 2
    flush()
    return chunks


def blocks(text: str) -> list[str]:
    """The text cut at blank lines that are not inside a code fence."""
    reader = FenceReader() if may_hold_fence(text) else None
    complete: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if reader is not None:
            reader.read(line.rstrip("\r"))
        if line.strip() or (reader is not None and reader.fence is not None):
            lines.append(line)
        elif lines:
            complete.append("\n".join(lines))
            lines = []
    if lines:
        complete.append("\n".join(lines))
    return complete


def _heading_level(block: str) -> int:
    """1 to 6 for a Markdown heading, else 0."""
    level = len(block) - len(block.lstrip("#"))
    return level if 0 < level <= 6 and block[level : level + 1] == " " and "\n" not in block else 0


def _pieces(block: str, max_chars: int) -> list[str]:
    if len(block) <= max_chars:
        return [block]
    return _cut_around_code(block, max_chars) if may_hold_fence(block) else _cut_prose(block, max_chars)


def _cut_prose(block: str, max_chars: int) -> list[str]:
    if "\n" in block:
        return _pack(block.split("\n"), "\n", max_chars)
    return _pack(_sentences(block), " ", max_chars)


def _cut_around_code(block: str, max_chars: int) -> list[str]:
    """Pieces of the block's prose and, with the fence around each, of its code."""
    pieces: list[str] = []
    reader = FenceReader()
    lines: list[str] = []

    def cut_prose() -> list[str]:
        return _cut_prose("\n".join(lines), max_chars) if lines else []

    cut: Callable[[], list[str]] = cut_prose
    for line in block.split("\n"):
        fence = reader.fence
        reader.read(line.rstrip("\r"))
        if reader.fence is fence:
            lines.append(line)
            continue
        pieces += cut()
        lines.clear()
        if reader.fence is not None:
            cut = _code_cutter(lines, line, reader.closing, max_chars)
            continue
        cut = cut_prose
        if fence is not None and not line.lstrip(" >").startswith(fence.run):
            lines.append(line)  # the end of a quote or list item ended the fence, not a closing line
    return [*pieces, *cut()]


def _code_cutter(lines: list[str], opening: str, closing: str, max_chars: int) -> Callable[[], list[str]]:
    """A function that cuts `lines`, the code between the two fence lines; `closing` begins with its newline."""
    room = max(max_chars - len(opening) - len(closing) - 1, _MIN_CODE_CHARS)
    return lambda: [f"{opening}\n{piece}{closing}" for piece in _pack(lines, "\n", room)]


def _sentences(block: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for at, char in enumerate(block):
        if char in "。！？" or (char in ".!?" and block[at + 1 : at + 2] == " "):
            sentences.append(block[start : at + 1].strip())
            start = at + 1
    sentences.append(block[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _pack(parts: list[str], glue: str, max_chars: int) -> list[str]:
    """The parts joined with `glue` into as few pieces as hold them in order; a longer part is cut by itself."""
    packed: list[str] = []
    current = ""
    for part in parts:
        for piece in _hard_cut(part, max_chars):
            if current and len(current) + len(glue) + len(piece) > max_chars:
                packed.append(current)
                current = piece
            else:
                current = f"{current}{glue}{piece}" if current else piece
    return [*packed, current] if current else packed


def _hard_cut(part: str, max_chars: int) -> list[str]:
    """The part cut at blanks in the second half of `max_chars`, else at `max_chars`; a table row is left whole."""
    if len(part) <= max_chars or (part.startswith("|") and len(part) <= _LONGEST_ROW * max_chars):
        return [part]
    pieces: list[str] = []
    start, size = 0, len(part)
    while size - start > max_chars:
        at = part.rfind(" ", start + max_chars // 2, start + max_chars)
        at = at if at > 0 else start + max_chars
        pieces.append(part[start:at])
        start = at
        while start < size and part[start].isspace():
            start += 1
    return [*pieces, part[start:]]


def best(text: str, query: str, count: int) -> list[str]:
    """The `count` pieces that match `query` best, best first; the first pieces when none matches."""
    pieces = split(text)
    scores = bm25([piece.text for piece in pieces], query, [piece.heading for piece in pieces])
    order = sorted(range(len(pieces)), key=lambda at: (-scores[at], at))
    chosen = [pieces[at].text for at in order[:count] if scores[at] > 0]
    return chosen or [piece.text for piece in pieces[:count]]


def bm25(texts: list[str], query: str, headings: list[str] | None = None) -> list[float]:
    """One BM25 score per text. A query term in the text's heading adds `_HEADING_WEIGHT` of the term's weight."""
    query_terms = set(terms(query))
    bags = [Counter(terms(text)) for text in texts]
    sizes = [sum(bag.values()) for bag in bags]
    mean = max(sum(sizes) / len(sizes), 1.0) if sizes else 1.0
    weights = {}
    for term in query_terms:
        matches = sum(1 for bag in bags if term in bag)
        weights[term] = math.log(1 + (len(bags) - matches + 0.5) / (matches + 0.5))
    scores = []
    for at, bag in enumerate(bags):
        score = 0.0
        for term, weight in weights.items():
            count = bag.get(term, 0)
            if count:
                score += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[at] / mean))
        if headings is not None and headings[at]:
            score += _HEADING_WEIGHT * sum(weights[term] for term in set(terms(headings[at])) & query_terms)
        scores.append(score)
    return scores
