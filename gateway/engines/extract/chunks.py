"""Cuts a page into pieces of at most 500 characters and finds those that answer a query best (BM25).

A piece never ends inside a code fence's line or a table row; fences that are cut are closed and opened again.
"""

import math
from collections import Counter
from dataclasses import dataclass

from gateway.engines.text.tokens import terms

MAX_CHARS = 500
_K1 = 1.2
_B = 0.75
_HEADING_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page and the headings it stands under."""

    text: str
    heading: str


def split(text: str, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """Pieces in document order: paragraphs put together up to `max_chars`, longer ones cut at sentences."""
    chunks: list[Chunk] = []
    trail: list[str] = []
    held: list[str] = []
    size = 0

    def flush() -> None:
        nonlocal size
        if held:
            chunks.append(Chunk("\n\n".join(held), " ".join(trail)))
        held.clear()
        size = 0

    for block in blocks(text):
        level = _level(block)
        if level:
            flush()
            del trail[level - 1 :]
            trail.append(block.lstrip("# "))
        for piece in _pieces(block, max_chars):
            if size + len(piece) + 2 > max_chars:
                flush()
            held.append(piece)
            size += len(piece) + 2
    flush()
    return chunks


def blocks(text: str) -> list[str]:
    """Blocks parted by blank lines; a fenced block stays whole, its blank lines too."""
    out: list[str] = []
    held: list[str] = []
    fence = ""
    for line in text.split("\n"):
        bare = line.lstrip()
        if fence:
            held.append(line)
            if bare.startswith(fence) and not bare.strip("`~ "):
                fence = ""
            continue
        if bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        if not bare:
            if held:
                out.append("\n".join(held))
                held = []
        else:
            held.append(line)
    if held:
        out.append("\n".join(held))
    return out


def _level(block: str) -> int:
    marks = len(block) - len(block.lstrip("#"))
    return marks if 0 < marks <= 6 and block[marks : marks + 1] == " " and "\n" not in block else 0


def _pieces(block: str, max_chars: int) -> list[str]:
    if len(block) <= max_chars:
        return [block]
    if block.lstrip().startswith(("```", "~~~")):
        return _cut_fence(block, max_chars)
    if "\n" in block:
        return _pack(block.split("\n"), "\n", max_chars)
    return _pack(_sentences(block), " ", max_chars)


def _cut_fence(block: str, max_chars: int) -> list[str]:
    opening, _, rest = block.partition("\n")
    body, _, closing = rest.rpartition("\n")
    room = max(max_chars - len(opening) - len(closing) - 2, 80)
    return [f"{opening}\n{piece}\n{closing}" for piece in _pack(body.split("\n"), "\n", room)]


def _sentences(block: str) -> list[str]:
    out: list[str] = []
    start = 0
    for at, char in enumerate(block):
        if char in "。！？" or (char in ".!?" and block[at + 1 : at + 2] == " "):
            out.append(block[start : at + 1].strip())
            start = at + 1
    out.append(block[start:].strip())
    return [sentence for sentence in out if sentence]


def _pack(parts: list[str], glue: str, max_chars: int) -> list[str]:
    out: list[str] = []
    held = ""
    for part in parts:
        for piece in _hard_cut(part, max_chars):
            if held and len(held) + len(glue) + len(piece) > max_chars:
                out.append(held)
                held = piece
            else:
                held = f"{held}{glue}{piece}" if held else piece
    return [*out, held] if held else out


def _hard_cut(part: str, max_chars: int) -> list[str]:
    """A table row stays whole up to four times the size; any other line is cut at blanks."""
    if len(part) <= max_chars or (part.startswith("|") and len(part) <= 4 * max_chars):
        return [part]
    out: list[str] = []
    while len(part) > max_chars:
        at = part.rfind(" ", max_chars // 2, max_chars)
        at = at if at > 0 else max_chars
        out.append(part[:at])
        part = part[at:].lstrip()
    return [*out, part]


def best(text: str, query: str, count: int) -> list[str]:
    """The `count` pieces that match `query` best, best first; the first pieces when none matches."""
    pieces = split(text)
    scores = bm25([piece.text for piece in pieces], query, [piece.heading for piece in pieces])
    order = sorted(range(len(pieces)), key=lambda at: (-scores[at], at))
    chosen = [pieces[at].text for at in order[:count] if scores[at] > 0]
    return chosen or [piece.text for piece in pieces[:count]]


def bm25(texts: list[str], query: str, headings: list[str] | None = None) -> list[float]:
    """A score for each text; a query word among its headings counts half as much again."""
    wanted = set(terms(query))
    bags = [Counter(terms(text)) for text in texts]
    sizes = [sum(bag.values()) for bag in bags]
    mean = max(sum(sizes) / len(sizes), 1.0) if sizes else 1.0
    weights = {}
    for term in wanted:
        seen = sum(1 for bag in bags if term in bag)
        weights[term] = math.log(1 + (len(bags) - seen + 0.5) / (seen + 0.5))
    scores = []
    for at, bag in enumerate(bags):
        score = 0.0
        for term, weight in weights.items():
            count = bag.get(term, 0)
            if count:
                score += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[at] / mean))
        if headings is not None and headings[at]:
            score += _HEADING_WEIGHT * sum(weights[term] for term in set(terms(headings[at])) & wanted)
        scores.append(score)
    return scores
