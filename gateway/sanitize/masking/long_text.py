"""What masking a long text may take: how it is put together, which documents are not decoded. Knows no finding."""

from collections.abc import Iterator
from typing import TypeAlias

from gateway.texts import TextSlot

IN_THREAD_CHARS = 16_384
"""Longer texts are scanned in a thread. Chosen: a scan of this length holds the event loop for at most 5 ms (8 ms where
the request's allowance pays for it). Half would send more texts through a thread, which costs each a switch; double
would double the longest block."""
_CHARS_A_LEAF = 64
"""What one string of a JSON document counts as, beside its characters: scanning a short one takes about 15 µs."""
_MAX_VALUES = 50_000
"""Chosen: documents of more commas and brackets are scanned as plain text: decoding holds Python's lock (5 ms for so
many), and each value costs a scan of 15 µs. At half large tables lose the meaning of their keys; at double one string
takes twice as long."""


Kept: TypeAlias = tuple[int, int, str]
"""(start, end, mask): the characters [start, end) of a text stay, and the mask stands behind them."""


def masked(text: str, kept: Iterator[Kept]) -> str:
    """What stays of a text, with its masks."""
    return "".join([text[start:end] + mask for start, end, mask in kept])


def has_many_values(text: str) -> bool:
    """Whether a JSON document is scanned as plain text."""
    return sum(map(text.count, ",[{")) > _MAX_VALUES


def weight_of(slot: TextSlot) -> int:
    """What scanning a slot costs at once, in characters of prose; a group is scanned in steps."""
    if slot.form == "group":
        return 0
    text = slot.text
    return len(text) + (_CHARS_A_LEAF // 2 * text.count('"') if slot.form == "json" else 0)
