"""What a page says or shows several times: fields of the records of a list, and second renderings of a text.

Runs in the parsing processes. Blocks are alike when they stand at the same place of boxes of the same shape: the name
or price of each article of a list, the rows of each plan. Knows neither the models nor the types of pages.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import TextBlock

_LEVELS = 3
"""Elements whose tag and class tell a block's place: its own and two around it. Measured on the development part of
bench.extract: with two, paragraphs of articles are judged with those beside them (.969 against .972); six find less."""
_ALIKE_BLOCKS = 3  # blocks at one place from which they are fields of records
_SHARED_PART = 0.5  # how much of a block's evidence is that of all at its place
_RECORD_SHARE = 0.3  # share of a record's words that must be kept for the rest
_NO_RECORDS = frozenset({"p", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "span", "a", "body", "html"})
_LEAST_PROBABILITY = 1e-4  # bound of the probabilities whose odds are averaged
_COPY_WORDS = 3
_MAX_COPIES = 4
"""A text of fewer words, or with more copies, is data that items share ("free shipping"), no second rendering of the
page."""
_WHOLE_COPY = 0.9
"""Share of the words of a box at the same place as the first one from which it is a copy. Two plans of a price list, or
the requirements of two systems, share half of their rows; 1 is its bound."""


_NO_COPIES = frozenset({"td", "th", "pre", "dt"})
"""Fields of tables, code, and terms, without which their definitions say nothing."""
_NUMBERED = re.compile(r"\d+|\b(?:first|last|odd|even)\b")
"""Parts of a class that differ between the records of one list: a number (`post-61`) or a place (`last`)."""
_SAID_WORDS = 16  # a field of at most so many words is kept once in a record
_PRICES = re.compile(r"[$€£¥]\s?\d[\d.,]{0,20}|\d[\d.,]{0,20}\s?(?:€|usd|eur|gbp)")
_PRICE_AND_LABELS = re.compile(
    rf"{_PRICES.pattern}|\W|regular|sale|unit|original|current|old|new|now|was|from|price|usd|eur|gbp"
)


def judged_alike(blocks: Sequence[TextBlock], probabilities: Sequence[float]) -> list[float]:
    """The probabilities, each moved towards the mean (of the odds) of the blocks at its place: the first texts of boxes
    of one shape, the second ones, and so on."""
    places: dict[str, list[int]] = {}
    around: dict[Any, str] = {}
    texts: Counter[Any] = Counter()  # of each box, up to this block
    for at, block in enumerate(blocks):
        texts[block.element] += 1
        box = block.element.getparent()
        above = around.get(box)
        if above is None:
            above = around[box] = _place(box, _LEVELS - 1)
        places.setdefault(f"{texts[block.element]} {_shape(block.element)}>{above}", []).append(at)
    out = list(probabilities)
    for members in places.values():
        if len(members) < _ALIKE_BLOCKS:
            continue
        odds = [log_odds(probabilities[at]) for at in members]
        shared = _SHARED_PART * sum(odds) / len(odds)
        for at, own in zip(members, odds, strict=True):
            out[at] = 1 / (1 + math.exp(-(shared + (1 - _SHARED_PART) * own)))
    return out


def log_odds(probability: float) -> float:
    """The logarithm of the odds, bounded for 0 and 1."""
    bounded = min(max(probability, _LEAST_PROBABILITY), 1 - _LEAST_PROBABILITY)
    return math.log(bounded / (1 - bounded))


def _place(element: Any, levels: int) -> str:
    """Tag and class of the element and those around it, so many in all."""
    names: list[str] = []
    while element is not None and len(names) < levels:
        names.append(_shape(element))
        element = element.getparent()
    return ">".join(names)


def complete_records(
    blocks: Sequence[TextBlock], keep: list[bool], candidates: Sequence[bool], records: Sequence[Sequence[int]]
) -> None:
    """Keeps the candidates in a record (one of several boxes of the same shape side by side) of which a part is kept: a
    list tells name, price and date of each article, or none. `records`: see records_of."""
    for members in records:
        total = sum(len(blocks[at].words) for at in members)
        kept = sum(len(blocks[at].words) for at in members if keep[at])
        if kept and kept >= _RECORD_SHARE * total:
            for at in members:
                keep[at] = keep[at] or candidates[at]


def records_of(blocks: Sequence[TextBlock]) -> list[list[int]]:
    """For each record the numbers of its blocks, in document order."""
    records: dict[Any, list[int]] = {}
    for at, record in enumerate(_records(blocks)):
        if record is not None:
            records.setdefault(record, []).append(at)
    return list(records.values())


def drop_said_twice(blocks: Sequence[TextBlock], keep: list[bool], records: Sequence[Sequence[int]]) -> None:
    """Keeps each name and price of a record once: cards render them for several layouts. A bare number may be another
    fact each time (two beds, two baths), and a long text is no field. `records`: see records_of."""
    for members in records:
        said: set[str] = set()
        for at in members:
            block = blocks[at]
            if keep[at] and len(block.words) <= _SAID_WORDS and not block.text.isdecimal():
                facts = _facts(block.text)
                keep[at] = not facts <= said
                said |= facts


def _facts(text: str) -> set[str]:
    """The prices of a text that is nothing else but their labels, which may differ; else the text."""
    lower = text.lower()
    is_price = not _PRICE_AND_LABELS.sub("", lower)
    return set(_PRICES.findall(lower) if is_price else ()) or {text}


def _records(blocks: Sequence[TextBlock]) -> list[Any]:
    """For each block the innermost box around it that has others of its shape beside it; None for a block without."""
    shapes: dict[Any, Counter[str]] = {}
    known: dict[Any, Any] = {}
    found: list[Any] = []
    for block in blocks:
        box: Any = block.element
        path: list[Any] = []
        while box is not None and box.tag != "body" and box not in known:
            path.append(box)
            if _is_repeated(box, shapes):
                known[box] = box
                break
            box = box.getparent()
        record = None if box is None else known.get(box)
        known.update(dict.fromkeys(path, record))
        found.append(record)
    return found


def _is_repeated(element: Any, shapes: dict[Any, Counter[str]]) -> bool:
    parent = element.getparent()
    if parent is None or element.tag in _NO_RECORDS:
        return False
    if parent not in shapes:
        shapes[parent] = Counter(map(_kind, parent)) if len(parent) >= _ALIKE_BLOCKS else Counter()
    return shapes[parent][_kind(element)] >= _ALIKE_BLOCKS


def _shape(element: Any) -> str:
    return f"{element.tag}.{element.get('class') or ''}"


def _kind(element: Any) -> str:
    """The shape without what tells one record of a list from the others: `li.post-61 last` is `li.post- `."""
    return f"{element.tag}.{_NUMBERED.sub('', element.get('class') or '')}"


def drop_copies(blocks: Sequence[TextBlock], keep: list[bool]) -> None:
    """Keeps only the first of equal texts in different boxes: pages repeat a text for wide and for narrow screens. In a
    box of the same shape as the first it stays, unless the whole box is a copy: it is a field of another record."""
    counts = Counter(block.text for block, is_kept in zip(blocks, keep, strict=True) if is_kept)
    first: dict[str, Any] = {}
    copied: list[int] = []
    for at, block in enumerate(blocks):
        is_wordy = len(block.words) >= _COPY_WORDS and block.element.tag not in _NO_COPIES
        if keep[at] and is_wordy and counts[block.text] <= _MAX_COPIES:
            box = block.element.getparent()
            if first.setdefault(block.text, box) is not box:
                copied.append(at)
    shares = _copied_shares(blocks, keep, copied)
    for at in copied:
        box = blocks[at].element.getparent()
        keep[at] = shares[box] < _WHOLE_COPY and _place(box, _LEVELS) == _place(first[blocks[at].text], _LEVELS)


def _copied_shares(blocks: Sequence[TextBlock], keep: Sequence[bool], copied: Sequence[int]) -> dict[Any, float]:
    """For each box with copies, the share of its kept words that they are."""
    words: dict[Any, int] = dict.fromkeys((blocks[at].element.getparent() for at in copied), 0)
    for block, is_kept in zip(blocks, keep, strict=True):
        box = block.element.getparent()
        if is_kept and box in words:
            words[box] += len(block.words)
    shares = dict.fromkeys(words, 0.0)
    for at in copied:
        box = blocks[at].element.getparent()
        shares[box] += len(blocks[at].words) / words[box]
    return shares


def groups_of(blocks: Sequence[TextBlock], tables: Sequence[Any]) -> dict[Any, list[int]]:
    """Numbers of the first texts of cells and items, by their table or by their outermost list. `tables`: the table of
    data around each block, of which all texts are one group."""
    groups: dict[Any, list[int]] = {}
    outermost: dict[Any, Any] = {}
    seen: set[Any] = set()
    for at, block in enumerate(blocks):
        if block.element in seen:
            continue
        seen.add(block.element)
        if tables[at] is not None:
            box = tables[at]
        elif block.element.tag in ("td", "th"):
            box = next(block.element.iterancestors("table"), None)
        elif block.element.tag == "li":
            box = _outermost_list(block.element.getparent(), outermost)
        elif block.element.tag in ("dt", "dd"):
            box = block.element.getparent()
        else:
            continue
        if box is not None:
            groups.setdefault(box, []).append(at)
    return groups


def _outermost_list(inner: Any, known: dict[Any, Any]) -> Any:
    """The outermost list that contains this list in its items; the list itself where none does. Definition lists are
    no such containers: one inside another describes other things, such as the methods of a class. `known` maps each
    list to its outermost list; the function adds to it, so that it visits each list once."""
    path: list[Any] = []
    box = inner
    while box is not None and box not in known:
        path.append(box)
        item = box.getparent()
        if item is None or item.tag != "li" or item.getparent() is None:
            known[box] = box
            break
        box = item.getparent()
    found = known.get(box)
    known.update(dict.fromkeys(path, found))
    return found
