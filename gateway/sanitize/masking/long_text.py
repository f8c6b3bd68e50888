"""What masking a long text may take: how its pieces are joined, which documents are not decoded. Knows no finding."""

import sys
from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from gateway.long_texts import LONG_CHARS, MeasuredBytes, Utf8Text
from gateway.resilience.freed_memory import give_back
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


_NO_FOURTH = bytes(range(0xF0))
"""Bytes of UTF-8 of no character beyond U+FFFF."""
Kept: TypeAlias = tuple[int, int, str]
"""(start, end, mask): the characters [start, end) of a text stay, and the mask stands behind them."""


def masked_utf8(text: str | Utf8Text, kept: Iterator[Kept]) -> bytearray | None:
    """What stays of a text, with its masks, in UTF-8; None where all of it does.

    Naive form: `"".join(text[start:end] + mask …)`. Where the only value to be masked is the last word, the part before
    it would be a second copy of the text; and of many masks there are so many pieces that they take more than it.
    """
    first = next(kept)
    if first[1] - first[0] == len(text):
        return None
    joined = MeasuredBytes(len(text.utf8) if isinstance(text, Utf8Text) else len(text))
    for start, end, mask in chain((first,), kept):
        for at in range(start, end, LONG_CHARS):
            joined.add(text[at : min(end, at + LONG_CHARS)].encode("utf-8", "surrogatepass"))
        joined.add(mask.encode())
    return joined.take()


def replace_text(slot: TextSlot, utf8: bytes | bytearray) -> None:
    """Give a slot a long text in place of its own, which is let go before. glibc keeps the room of a text of megabytes
    for smaller ones: without giving it back the new text would stand beside it. `utf8` belongs to the slot then."""
    if slot.in_utf8 is not None:
        slot.keep(Utf8Text(utf8))
        return
    slot.text = ""
    give_back()
    slot.text = utf8.decode("utf-8", "surrogatepass")


def has_many_values(text: str | Utf8Text) -> bool:
    """Whether a JSON document is scanned as plain text."""
    if isinstance(text, Utf8Text):
        return sum(map(text.utf8.count, b",[{")) > _MAX_VALUES
    return sum(map(text.count, ",[{")) > _MAX_VALUES


def is_wide(text: str | Utf8Text) -> bool:
    """Whether a long text takes four bytes a character, so that its decoded values would take four times its JSON."""
    if isinstance(text, Utf8Text):
        return len(text.utf8.translate(None, _NO_FOURTH)) > 0
    return sys.getsizeof(text) > 3 * len(text)


def weight_of(slot: TextSlot) -> int:
    """What scanning a slot costs at once, in characters of prose; a group is scanned in steps."""
    if slot.form == "group":
        return 0
    packed = slot.in_utf8
    if packed is not None:
        return len(packed.utf8) + (_CHARS_A_LEAF // 2 * packed.utf8.count(b'"') if slot.form == "json" else 0)
    text = slot.text
    return len(text) + (_CHARS_A_LEAF // 2 * text.count('"') if slot.form == "json" else 0)
